/** Settings of tracing, with the names and values of the OpenTelemetry specification. The SDK reads further ones. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    type: 'string',
    optional: true,
    description: 'base URL of an OTLP collector over HTTP, such as http://collector:4318; tracing is off without it',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    type: 'string',
    default: 'http/protobuf',
    description: 'encoding for the collector: http/protobuf or http/json; tracing is off with another one',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    type: 'string',
    optional: true,
    secret: true,
    description: 'headers for the collector, as name=value separated by commas',
  },
  OTEL_SDK_DISABLED: { type: 'string', default: 'false', description: 'true switches tracing off' },
  OTEL_SERVICE_NAME: { type: 'string', optional: true, description: 'service.name in traces; the service if absent' },
  OTEL_RESOURCE_ATTRIBUTES: {
    type: 'string',
    optional: true,
    description: 'further resource attributes in traces, as name=value separated by commas',
  },
  OTEL_TRACES_SAMPLER: {
    type: 'string',
    default: 'parentbased_always_on',
    description: 'sampler of traces, such as parentbased_traceidratio',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    type: 'string',
    optional: true,
    description: 'argument of the sampler: the share of traces, such as 0.01',
  },
} as const;

type Env = Readonly<Record<string, string | undefined>>;

const isSet = (value: string | undefined): boolean => value !== undefined && value.trim() !== '';

/** Returns true if the environment names a collector and does not switch tracing off. */
export const isTracingEnabled = (env: Env): boolean =>
  env['OTEL_SDK_DISABLED']?.trim().toLowerCase() !== 'true' &&
  env['OTEL_TRACES_EXPORTER']?.trim().toLowerCase() !== 'none' &&
  (isSet(env['OTEL_EXPORTER_OTLP_ENDPOINT']) || isSet(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']));

/** Returns the encoding for the collector. */
export function getTracingProtocol(env: Env): string {
  const name = [env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'], env['OTEL_EXPORTER_OTLP_PROTOCOL']].find(isSet);
  return name?.trim() ?? tracingSettings.OTEL_EXPORTER_OTLP_PROTOCOL.default;
}
