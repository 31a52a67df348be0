import { setTimeout as delay } from 'node:timers/promises';
import { minuteMs } from '../runtime/durations.ts';
import type { Logger } from '../runtime/log.ts';
import { setTracer, tracer } from './active-tracer.ts';
import { getTracingProtocol, isTracingEnabled } from './tracing-settings.ts';

/** Longest wait for a collector at shutdown. */
const flushTimeoutMs = 3_000;
const faultLogIntervalMs = minuteMs;

/**
 * Starts tracing if the environment names a collector. A fault is logged, and the service then runs without traces.
 * Otherwise nothing is loaded.
 */
export async function startTracing(
  service: string,
  log: Logger,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (!isTracingEnabled(env)) return;
  const protocol = getTracingProtocol(env);
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    log.warn({ protocol }, 'tracing is off: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json');
    return;
  }
  try {
    const { createTracer } = await import('./create-tracer.ts');
    const isJson = protocol === 'http/json';
    setTracer(createTracer({ service, instanceId: env['POD_ID'], isJson, onFault: createFaultLog(log) }));
    log.info({ protocol }, 'tracing is on');
  } catch (error) {
    log.warn({ err: error }, 'tracing is off: it could not be started');
  }
}

/** Exports the remaining spans, for at most three seconds, and switches tracing off. */
export async function stopTracing(log: Logger): Promise<void> {
  const stopped = tracer;
  if (stopped === undefined) return;
  setTracer(undefined);
  const flushed = stopped
    .shutdown()
    .catch((error: unknown) => log.warn({ err: error }, 'some spans were not exported'));
  await Promise.race([flushed, delay(flushTimeoutMs)]);
}

/** Logs one fault a minute: each export fails while a collector is unreachable. */
function createFaultLog(log: Logger): (fault: string) => void {
  let nextAtMs = 0;
  return (fault) => {
    if (performance.now() < nextAtMs) return;
    nextAtMs = performance.now() + faultLogIntervalMs;
    log.warn({ fault }, 'tracing failed, spans are lost');
  };
}
