import { type Bus, deliveryDueSubject, encodeJson, type NotificationRaised, publishToStream } from '@fleet/bus';
import type { WebhookRepository } from '@fleet/storage';
import { createBody } from '../domain/message.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import { isEnabled, type Subscriber, type Subscribers } from '../store/subscribers.ts';
import { toStoredTrace } from './trace-attempt.ts';

/** Dependencies of the fan-out. */
export interface FanOutDeps {
  readonly bus: Bus;
  readonly records: WebhookRepository;
  readonly subscribers: Subscribers;
  readonly metrics: DispatcherMetrics;
}

const publishTimeoutMs = 5_000;

/**
 * Creates a delivery for each webhook of the owning user that selects the notification. A repetition creates the same
 * ones.
 */
export async function fanOut(deps: FanOutDeps, event: NotificationRaised): Promise<void> {
  if (!event.wantedByOwner) return;
  const subscribers = await deps.subscribers.findByUser(event.ownerUserId);
  const matching = subscribers.filter(({ webhook }) => matchesFilter(webhook, event.notification));
  const body = createBody(event);
  await Promise.all(matching.map((subscriber) => deliver(deps, event, subscriber, body)));
}

const matchesFilter = (
  { notificationTypes, vehicleIds }: Subscriber['webhook'],
  { notification_type, vehicle_id }: NotificationRaised['notification'],
): boolean =>
  (notificationTypes.length === 0 || notificationTypes.includes(notification_type)) &&
  (vehicleIds.length === 0 || vehicleIds.includes(vehicle_id));

async function deliver(
  { bus, records, metrics }: FanOutDeps,
  { accountId, ownerUserId, notification }: NotificationRaised,
  subscriber: Subscriber,
  body: string,
): Promise<void> {
  const webhookId = subscriber.webhook._id;
  const status = isEnabled(subscriber) ? 'pending' : 'skipped';
  const deliveryId = await records.deliveries.add({
    webhookId,
    accountId,
    userId: ownerUserId,
    notificationId: notification.id,
    notificationType: notification.notification_type,
    imei: notification.imei,
    imeiKey: notification.imei.replace(/^0+(?=.)/, ''),
    vehicleId: notification.vehicle_id,
    body,
    status,
    ...toStoredTrace(),
  });
  if (status === 'skipped') {
    metrics.deliveries.inc({ status });
    return;
  }
  const payload = encodeJson({ deliveryId, webhookId });
  await publishToStream(bus, deliveryDueSubject(webhookId), payload, { msgID: deliveryId, timeout: publishTimeoutMs });
}
