import { headers, type JetStreamPublishOptions } from 'nats';
import type { Bus } from './connection.ts';
import { injectTrace, startSendSpan } from './trace-messages.ts';

/**
 * Publishes one message to JetStream. Resolves when it is stored; rejects without a confirmation. The stream stores
 * messages with the same `msgID` once.
 */
export async function publishToStream(
  bus: Bus,
  subject: string,
  payload: Uint8Array,
  options: Required<Pick<JetStreamPublishOptions, 'msgID' | 'timeout'>>,
): Promise<void> {
  const span = startSendSpan('publish', subject);
  const head = span === undefined ? undefined : headers();
  if (span !== undefined && head !== undefined) injectTrace(span, head);
  try {
    await bus.js.publish(subject, payload, head === undefined ? options : { ...options, headers: head });
  } catch (error) {
    span?.fail(error);
    throw error;
  } finally {
    span?.end();
  }
}
