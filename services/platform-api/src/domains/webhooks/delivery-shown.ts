import type { AttemptRecord, DeliveryRecord, DeliveryStats, DeliverySummary } from '@fleet/storage';
import type { AttemptShown, DeliveryDetails, DeliveryShown, StatsShown } from './delivery-schema.ts';

const moment = (ms: number): string => new Date(ms).toISOString();
const momentOrNull = (ms: number | null): string | null => (ms === null ? null : moment(ms));

export const shownDelivery = (delivery: DeliverySummary): DeliveryShown => ({
  id: delivery.number,
  created_at: moment(delivery.createdAtMs),
  updated_at: moment(delivery.updatedAtMs),
  version: delivery.version,
  delivery_id: delivery._id,
  webhook_id: delivery.webhookId,
  notification_id: delivery.notificationId,
  notification_type: delivery.notificationType,
  imei: delivery.imei,
  status: delivery.status,
  attempt_count: delivery.attemptCount,
  next_attempt_at: momentOrNull(delivery.nextAttemptAtMs),
  completed_at: momentOrNull(delivery.completedAtMs),
});

/** An attempt as answers show it. */
export const shownAttempt = (attempt: AttemptRecord): AttemptShown => ({
  number: attempt.number,
  trigger: attempt.trigger,
  started_at: moment(attempt.startedAtMs),
  duration_ms: attempt.durationMs,
  status_code: attempt.statusCode,
  error_code: attempt.errorCode,
  response_body: attempt.responseBody,
});

export const shownDetails = (delivery: DeliveryRecord): DeliveryDetails => ({
  ...shownDelivery(delivery),
  request:
    delivery.request === null
      ? null
      : {
          headers: Object.fromEntries(delivery.request.headers.map(({ name, value }) => [name, value])),
          body: delivery.request.body,
        },
  attempts: delivery.attempts.map(shownAttempt),
});

export const shownStats = ({ successRate, p50Ms, p95Ms, ...counts }: DeliveryStats): StatsShown => ({
  ...counts,
  success_rate: successRate,
  p50_ms: p50Ms,
  p95_ms: p95Ms,
});
