import { type Bus, liveEvents, liveSubject, publish } from '@fleet/bus';
import { type AttemptRecord, type DeliveryRecord, toLastAttempt } from '@fleet/storage';

/** State of a delivery after an attempt. */
export interface DeliveryChange {
  readonly status: DeliveryRecord['status'];
  readonly attempt: AttemptRecord;
  readonly nextAttemptAtMs: number | null;
}

const formatTime = (ms: number): string => new Date(ms).toISOString();

/** Publishes the result of an attempt for the websockets of the webhook's user. */
export function publishDelivery(bus: Bus, delivery: DeliveryRecord, change: DeliveryChange): void {
  const { accountId, userId, vehicleId } = delivery;
  const { startedAtMs, durationMs, statusCode, errorCode } = toLastAttempt(change.attempt);
  const data = {
    id: delivery.number,
    delivery_id: delivery._id,
    webhook_id: delivery.webhookId,
    notification_id: delivery.notificationId,
    notification_type: delivery.notificationType,
    imei: delivery.imei,
    status: change.status,
    attempt_count: change.attempt.number,
    next_attempt_at: change.nextAttemptAtMs === null ? null : formatTime(change.nextAttemptAtMs),
    last_attempt: {
      started_at: formatTime(startedAtMs),
      duration_ms: durationMs,
      status_code: statusCode,
      error_code: errorCode,
    },
  };
  const event = { type: 'delivery' as const, vehicleId, userId, atMs: Date.now(), data };
  publish(bus, liveEvents, { accountId, events: [event] }, liveSubject(accountId));
}
