import type { Outcome } from '@fleet/bus';
import { type TraceContext, type TraceSpan, tracer } from '@fleet/service-kit';

const formatMessageId = (messageId: number): string => `0x${messageId.toString(16).padStart(4, '0')}`;

/**
 * Starts the span of a command between its frame and the response of the terminal. Returns undefined while tracing is
 * off, and without the trace of a caller.
 */
export function startTerminalSpan(messageId: number, parent: TraceContext | undefined): TraceSpan | undefined {
  if (tracer === undefined || parent === undefined) return undefined;
  const name = formatMessageId(messageId);
  return tracer.startSpan({
    kind: 'client',
    name: `JT/T 808 ${name}`,
    attributes: { 'network.transport': 'tcp', 'network.protocol.name': 'jt808', 'jt808.message.id': name },
    parent,
  });
}

/** Ends the span with the outcome: a command without a response has failed. */
export function endTerminalSpan(span: TraceSpan | undefined, outcome: Outcome): void {
  if (span === undefined) return;
  if (outcome.kind === 'answered') span.setAttributes(toAttributes(outcome.answer));
  else span.fail(outcome.kind);
  span.end();
}

const toAttributes = ({ result, message }: Extract<Outcome, { kind: 'answered' }>['answer']) => ({
  ...(result === null ? {} : { 'jt808.response.result': result }),
  ...(message === null ? {} : { 'jt808.response.message.id': formatMessageId(message.id) }),
});
