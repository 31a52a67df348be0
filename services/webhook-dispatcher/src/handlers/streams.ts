import { DurableConsumer, decodeJson, deliveryDue, notificationRaised } from '@fleet/bus';
import type { Static } from 'typebox';
import type { Attempts } from '../use-cases/attempts.ts';
import { type FanOutDeps, fanOut } from '../use-cases/fan-out.ts';

/** Dependencies of the stream consumers. */
interface StreamDeps extends FanOutDeps {
  readonly attempts: Attempts;
  readonly maxInFlight: number;
  readonly ackWaitMs: number;
  readonly onError: (error: unknown) => void;
}

const notificationsInFlight = 256;

/** Consumes notifications: each is acknowledged once its deliveries are stored and their first attempts are queued. */
export const consumeNotifications = (deps: StreamDeps): DurableConsumer =>
  new DurableConsumer(deps.bus, {
    stream: 'NOTIFICATIONS',
    durable: 'webhook-dispatcher',
    subject: notificationRaised.subject,
    maxInFlight: notificationsInFlight,
    ackWaitMs: deps.ackWaitMs,
    onError: deps.onError,
    handler: async ({ data, subject }) => {
      const event = decode(notificationRaised, data);
      deps.metrics.notifications.inc({ outcome: event === null ? 'unreadable' : 'taken' });
      // It would never become valid.
      if (event === null) deps.onError(new Error(`invalid notification on ${subject}`));
      else await fanOut(deps, event);
    },
  });

/** Consumes first attempts: each is acknowledged once it was made, or is scheduled in the database. */
export const consumeDue = (deps: StreamDeps): DurableConsumer =>
  new DurableConsumer(deps.bus, {
    stream: 'WEBHOOKS',
    durable: 'webhook-dispatcher-due',
    subject: deliveryDue.subject,
    maxInFlight: deps.maxInFlight,
    ackWaitMs: deps.ackWaitMs,
    onError: deps.onError,
    handler: async ({ data, subject }) => {
      const due = decode(deliveryDue, data);
      if (due === null) deps.onError(new Error(`invalid due delivery on ${subject}`));
      else await deps.attempts.runFirst(due.deliveryId, due.webhookId);
    },
  });

function decode<T extends typeof notificationRaised | typeof deliveryDue>(
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
