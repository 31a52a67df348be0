import { context, type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Tracer } from './tracer.ts';

interface TracerSettings {
  readonly service: string;
  /** POD_ID, if set. */
  readonly instanceId: string | undefined;
  readonly isJson: boolean;
  /** Called with the faults of the SDK, such as an unreachable collector. */
  readonly onFault: (fault: string) => void;
}

/** Creates the tracer of the SDK. Only this module loads the SDK: it costs memory and time at the start. */
export function createTracer({ service, instanceId, isJson, onFault }: TracerSettings): Tracer {
  diag.setLogger(createDiagLogger(onFault), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const own = resourceFromAttributes({
    'service.name': service,
    ...(instanceId === undefined ? {} : { 'service.instance.id': instanceId }),
  });
  // The environment has precedence: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES.
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  // The processor drops spans beyond its queue: a collector that is slow or absent delays nothing.
  const provider = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(isJson ? new JsonExporter() : new ProtobufExporter())],
  });
  return new Tracer({
    tracer: provider.getTracer('fleet'),
    propagator: new W3CTraceContextPropagator(),
    shutdown: () => provider.shutdown(),
  });
}

function createDiagLogger(onFault: (fault: string) => void): DiagLogger {
  const ignore = (): void => undefined;
  return { error: onFault, warn: onFault, info: ignore, debug: ignore, verbose: ignore };
}
