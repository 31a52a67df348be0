import { type TraceSpan, tracer } from '@fleet/service-kit';
import type { MsgHdrs } from 'nats';

/**
 * Returns `event.*.*` for the subject `event.139….0801`: spans have few names, and no terminal number appears in a
 * trace.
 */
export const toDestination = (subject: string): string => {
  const [first = '', ...others] = subject.split('.');
  return [first, ...others.map((token) => (/\d/.test(token) ? '*' : token))].join('.');
};

const createAttributes = (operation: 'publish' | 'request' | 'process', destination: string) => ({
  'messaging.system': 'nats',
  'messaging.operation.name': operation,
  'messaging.operation.type': operation === 'process' ? 'process' : 'send',
  'messaging.destination.name': destination,
});

/**
 * Starts the span of a sent message, as a child of the active span. Returns undefined without one, unless the message
 * begins a trace, and while tracing is off.
 */
export function startSendSpan(
  operation: 'publish' | 'request',
  subject: string,
  { beginsTrace = false } = {},
): TraceSpan | undefined {
  if (tracer === undefined) return undefined;
  if (!beginsTrace && tracer.activeContext() === undefined) return undefined;
  const destination = toDestination(subject);
  const attributes = createAttributes(operation, destination);
  return tracer.startSpan({ kind: 'producer', name: `${operation} ${destination}`, attributes });
}

/** Sets `traceparent` and `tracestate` in the headers of a message. */
export function injectTrace({ context }: TraceSpan, head: MsgHdrs): void {
  tracer?.inject(context, (name, value) => head.set(name, value));
}

/** Starts the span of a received message; returns undefined while tracing is off, and for a message without a trace. */
export function startProcessSpan(subject: string, head: MsgHdrs | undefined): TraceSpan | undefined {
  if (tracer === undefined || head === undefined) return undefined;
  const parent = tracer.extract((name) => head.get(name));
  if (parent === undefined) return undefined;
  const destination = toDestination(subject);
  const attributes = createAttributes('process', destination);
  return tracer.startSpan({ kind: 'consumer', name: `process ${destination}`, attributes, parent });
}

/** Runs the handler of a message in its span. `isFault` decides which errors fail the span. */
export function traceProcessing<T>(
  subject: string,
  head: MsgHdrs | undefined,
  work: () => T,
  isFault?: (error: unknown) => boolean,
): T {
  const span = startProcessSpan(subject, head);
  return span === undefined || tracer === undefined ? work() : tracer.runInSpan(span, work, isFault);
}
