import type { AttemptRecord, DeliveryRecord, DeliveryStats, DeliverySummary } from '@fleet/storage';
import type { AttemptResponse, DeliveryDetails, DeliveryResponse, StatsResponse } from './delivery-schema.ts';

const moment = (ms: number): string => new Date(ms).toISOString();
const momentOrNull = (ms: number | null): string | null => (ms === null ? null : moment(ms));

export const toDeliveryResponse = (delivery: DeliverySummary): DeliveryResponse => ({
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

/** Converts an attempt to its form in responses. */
export const toAttemptResponse = (attempt: AttemptRecord): AttemptResponse => ({
  number: attempt.number,
  trigger: attempt.trigger,
  started_at: moment(attempt.startedAtMs),
  duration_ms: attempt.durationMs,
  status_code: attempt.statusCode,
  error_code: attempt.errorCode,
  response_body: attempt.responseBody,
});

export const toDetailsResponse = (delivery: DeliveryRecord): DeliveryDetails => ({
  ...toDeliveryResponse(delivery),
  request:
    delivery.request === null
      ? null
      : {
          headers: Object.fromEntries(delivery.request.headers.map(({ name, value }) => [name, value])),
          body: delivery.request.body,
        },
  attempts: delivery.attempts.map(toAttemptResponse),
});

export const toStatsResponse = ({ successRate, p50Ms, p95Ms, ...counts }: DeliveryStats): StatsResponse => ({
  ...counts,
  success_rate: successRate,
  p50_ms: p50Ms,
  p95_ms: p95Ms,
});
