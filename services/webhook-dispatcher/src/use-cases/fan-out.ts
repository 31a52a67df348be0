import { type Bus, deliveryDueSubject, encodeJson, type NotificationRaised } from '@fleet/bus';
import type { WebhookRecords } from '@fleet/storage';
import { bodyOf } from '../domain/message.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import { isOn, type Subscriber, type Subscribers } from '../store/subscribers.ts';

/** What notifications become deliveries with. */
export interface FanOutParts {
  readonly bus: Bus;
  readonly records: WebhookRecords;
  readonly subscribers: Subscribers;
  readonly metrics: DispatcherMetrics;
}

const publishLimitMs = 5_000;

/** Makes a delivery for each webhook of the owning user that wants the notification. Repeated, it makes the same ones. */
export async function fanOut(parts: FanOutParts, raised: NotificationRaised): Promise<void> {
  if (!raised.wantedByOwner) return;
  const subscribers = await parts.subscribers.ofUser(raised.ownerUserId);
  const wanting = subscribers.filter(({ webhook }) => wants(webhook, raised.notification));
  const body = bodyOf(raised);
  await Promise.all(wanting.map((subscriber) => deliver(parts, raised, subscriber, body)));
}

const wants = (
  { notificationTypes, vehicleIds }: Subscriber['webhook'],
  { notification_type, vehicle_id }: NotificationRaised['notification'],
): boolean =>
  (notificationTypes.length === 0 || notificationTypes.includes(notification_type)) &&
  (vehicleIds.length === 0 || vehicleIds.includes(vehicle_id));

async function deliver(
  { bus, records, metrics }: FanOutParts,
  { accountId, ownerUserId, notification }: NotificationRaised,
  subscriber: Subscriber,
  body: string,
): Promise<void> {
  const webhookId = subscriber.webhook._id;
  const status = isOn(subscriber) ? 'pending' : 'skipped';
  const deliveryId = await records.add({
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
  });
  if (status === 'skipped') {
    metrics.deliveries.inc({ status });
    return;
  }
  const payload = encodeJson({ deliveryId, webhookId });
  await bus.js.publish(deliveryDueSubject(webhookId), payload, { msgID: deliveryId, timeout: publishLimitMs });
}
