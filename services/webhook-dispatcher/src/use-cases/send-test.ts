import { randomBytes } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import type { AttemptRecord } from '@fleet/storage';
import { testBodyOf } from '../domain/message.ts';
import { Connections } from '../net/connections.ts';
import type { Subscribers } from '../store/subscribers.ts';
import { type SendParts, sendAttempt } from './send-attempt.ts';

/** What a test is sent with. */
export interface TestParts {
  readonly subscribers: Subscribers;
  readonly send: SendParts;
  readonly trust: SecureContext | undefined;
}

/** Sends a test to a webhook, whatever its state, and answers how that went; null where there is none. Nothing is kept of it, and nothing counts. */
export async function sendTest(
  { subscribers, send, trust }: TestParts,
  { webhookId, notificationType }: { webhookId: number; notificationType: string },
): Promise<AttemptRecord | null> {
  const subscriber = await subscribers.read(webhookId);
  if (subscriber === null) return null;
  const { webhook } = subscriber;
  const connections = new Connections(trust);
  try {
    const sent = await sendAttempt(send, webhook, {
      messageId: `msg_${randomBytes(12).toString('hex')}`,
      number: 1,
      trigger: 'test',
      body: testBodyOf(notificationType, webhook.userId, Date.now()),
      connections,
    });
    return sent.attempt;
  } finally {
    connections.close();
  }
}
