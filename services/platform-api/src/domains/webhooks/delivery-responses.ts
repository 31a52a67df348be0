import type { AttemptRecord, DeliveryRecord, DeliverySummary, LastAttempt } from '@fleet/storage';
import type { WebhookStats } from './deliveries.ts';
import type { AttemptResponse, DeliveryDetails, DeliveryResponse, StatsResponse } from './delivery-schema.ts';

const moment = (ms: number): string => new Date(ms).toISOString();
const momentOrNull = (ms: number | null): string | null => (ms === null ? null : moment(ms));

const toLastAttemptResponse = (attempt: LastAttempt | undefined): DeliveryResponse['last_attempt'] =>
  attempt === undefined
    ? null
    : {
        started_at: moment(attempt.startedAtMs),
        duration_ms: attempt.durationMs,
        status_code: attempt.statusCode,
        error_code: attempt.errorCode,
      };

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
  last_attempt: toLastAttemptResponse(delivery.lastAttempt),
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

export const toStatsResponse = ({
  stats: { successRate, p50Ms, p95Ms, ...counts },
  series,
}: WebhookStats): StatsResponse => ({
  ...counts,
  success_rate: successRate,
  p50_ms: p50Ms,
  p95_ms: p95Ms,
  ...(series === null ? {} : { series: series.map(({ fromMs, ...ended }) => ({ from: moment(fromMs), ...ended })) }),
});
