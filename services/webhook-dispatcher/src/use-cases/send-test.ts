import { randomBytes } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import type { AttemptRecord } from '@fleet/storage';
import { createTestBody } from '../domain/message.ts';
import { Connections } from '../net/connections.ts';
import type { Subscribers } from '../store/subscribers.ts';
import { type SendDeps, sendAttempt } from './send-attempt.ts';

/** Dependencies of tests. */
interface TestDeps {
  readonly subscribers: Subscribers;
  readonly send: SendDeps;
  readonly trust: SecureContext | undefined;
}

/**
 * Sends a test to a webhook in any state and returns the result; null without a webhook. It is neither stored nor
 * counted.
 */
export async function sendTest(
  { subscribers, send, trust }: TestDeps,
  { webhookId, notificationType }: { webhookId: number; notificationType: string },
): Promise<AttemptRecord | null> {
  const subscriber = await subscribers.readCurrent(webhookId);
  if (subscriber === null) return null;
  const { webhook } = subscriber;
  const connections = new Connections(trust);
  try {
    const outcome = await sendAttempt(send, webhook, {
      messageId: `msg_${randomBytes(12).toString('hex')}`,
      number: 1,
      trigger: 'test',
      body: createTestBody(notificationType, webhook.userId, Date.now()),
      connections,
    });
    return outcome.attempt;
  } finally {
    connections.close();
  }
}
