import { activeTrace, type TraceContext, tracer } from '@fleet/service-kit';
import type { DeliveryRecord } from '@fleet/storage';
import type { AttemptOutcome } from './send-attempt.ts';

/** Returns the active trace as the field of a delivery; nothing without one. */
export function toStoredTrace(): Pick<DeliveryRecord, 'trace'> {
  const active = activeTrace();
  return tracer === undefined || active === undefined ? {} : { trace: tracer.toHeaders(active) };
}

/**
 * Runs an attempt in its span: a child of the active span, or of the trace that the delivery stores. Without a trace it
 * runs without a span.
 */
export function traceAttempt(
  delivery: DeliveryRecord,
  attempt: () => Promise<AttemptOutcome | null>,
): Promise<AttemptOutcome | null> {
  const parent = activeTrace() ?? readStoredTrace(delivery);
  if (tracer === undefined || parent === undefined) return attempt();
  const { webhookId, attemptCount, trigger, notificationType } = delivery;
  const attributes = {
    'fleet.webhook.id': webhookId,
    'fleet.webhook.attempt': attemptCount + 1,
    'fleet.webhook.trigger': trigger,
    'fleet.notification.type': notificationType,
  };
  const span = tracer.startSpan({ kind: 'internal', name: 'webhook attempt', attributes, parent });
  return tracer.runInSpan(span, async () => {
    const outcome = await attempt();
    if (outcome === null) span.fail('circuit_open');
    else if (!outcome.isSuccess) span.fail(outcome.attempt.errorCode ?? String(outcome.attempt.statusCode));
    return outcome;
  });
}

function readStoredTrace({ trace }: DeliveryRecord): TraceContext | undefined {
  if (tracer === undefined || trace === undefined) return undefined;
  return tracer.extract((name) => (name === 'traceparent' || name === 'tracestate' ? trace[name] : undefined));
}
