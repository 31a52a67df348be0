import { decodeJson, deliveryDue, notificationRaised, StoredConsumer } from '@fleet/bus';
import type { Static } from 'typebox';
import type { Attempts } from '../use-cases/attempts.ts';
import { type FanOutParts, fanOut } from '../use-cases/fan-out.ts';

/** What the streams are read with. */
export interface StreamParts extends FanOutParts {
  readonly attempts: Attempts;
  readonly maxInFlight: number;
  readonly ackWaitMs: number;
  readonly onError: (error: unknown) => void;
}

const notificationsInFlight = 256;

/** Notifications become deliveries: acknowledged once each delivery is stored and its first attempt is in the work queue. */
export const consumeNotifications = (parts: StreamParts): StoredConsumer =>
  new StoredConsumer(parts.bus, {
    stream: 'NOTIFICATIONS',
    durable: 'webhook-dispatcher',
    subject: notificationRaised.subject,
    maxInFlight: notificationsInFlight,
    ackWaitMs: parts.ackWaitMs,
    onError: parts.onError,
    handler: async ({ data, subject }) => {
      const raised = read(notificationRaised, data);
      parts.metrics.notifications.inc({ outcome: raised === null ? 'unreadable' : 'taken' });
      // It would never become readable.
      if (raised === null) parts.onError(new Error(`a notification on ${subject} can not be read`));
      else await fanOut(parts, raised);
    },
  });

/** First attempts: acknowledged once they were made, or stand in the database with their time. */
export const consumeDue = (parts: StreamParts): StoredConsumer =>
  new StoredConsumer(parts.bus, {
    stream: 'WEBHOOKS',
    durable: 'webhook-dispatcher-due',
    subject: deliveryDue.subject,
    maxInFlight: parts.maxInFlight,
    ackWaitMs: parts.ackWaitMs,
    onError: parts.onError,
    handler: async ({ data, subject }) => {
      const due = read(deliveryDue, data);
      if (due === null) parts.onError(new Error(`what is due on ${subject} can not be read`));
      else await parts.attempts.first(due.deliveryId, due.webhookId);
    },
  });

function read<T extends typeof notificationRaised | typeof deliveryDue>(
  { check }: T,
  data: Uint8Array,
): Static<T['schema']> | null {
  try {
    const body = decodeJson(data);
    return check(body) ? (body as Static<T['schema']>) : null;
  } catch {
    return null;
  }
}
