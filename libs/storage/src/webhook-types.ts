import type { TraceHeaders } from '@fleet/service-kit';

/** A header that is sent in addition to the platform's own. */
export interface CustomHeader {
  readonly name: string;
  readonly value: string;
}

/** An unsent notice for the owner of a webhook. */
export interface WebhookNotice {
  /** Elapsed percentage of the time after which a failing webhook is disabled; 100: it is disabled. */
  readonly percent: 50 | 90 | 100;
  readonly reason: 'failing' | 'gone';
  readonly failingSinceMs: number;
  /** Time of the finding. */
  readonly atMs: number;
  /** Vehicle of a failed delivery. */
  readonly vehicleId: number;
}

/** Destination of a user's notifications: a document of the collection `webhooks`. */
export interface WebhookRecord {
  readonly _id: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly version: number;
  readonly accountId: number;
  readonly userId: number;
  readonly url: string;
  readonly name: string | null;
  readonly enabled: boolean;
  /** Empty: all. */
  readonly notificationTypes: readonly string[];
  /** Empty: all. */
  readonly vehicleIds: readonly number[];
  /** In the given order; databases do not accept every name as a field, nor nested lists. */
  readonly headers: readonly CustomHeader[];
  /** Encrypted for `webhookSecretPurpose`. */
  readonly sealedSecret: string;
  readonly secretHint: string;
  /** The secret before a rotation, sent as `X-Webhook-Secret` until the grace period ends. */
  readonly sealedOldSecret: string | null;
  readonly graceUntil: Date | null;
  /** Counts restarts: `webhook_health` of an earlier count is outdated. */
  readonly healthEpoch: number;
}

/**
 * Health of a webhook: a document of the collection `webhook_health`, written by webhook-dispatcher only. `_id` is that
 * of the webhook.
 */
export interface WebhookHealth {
  readonly _id: number;
  readonly epoch: number;
  readonly disabledReason: 'failing' | 'gone' | null;
  readonly failingSince: Date | null;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** Last notice since `failingSince`; 0 for none. */
  readonly noticedPercent: number;
  readonly dueNotice: WebhookNotice | null;
  /** Counts the writes; absent before the first one and from older releases. */
  readonly revision?: number;
}

// Encrypted secrets are bound to their user.
export const webhookSecretPurpose = (userId: number): string => `webhook secret of user ${userId}`;

/** Returns the valid health of a webhook: failures before a restart do not count. */
export function currentHealth(
  { _id, healthEpoch }: Pick<WebhookRecord, '_id' | 'healthEpoch'>,
  stored: WebhookHealth | null | undefined,
): WebhookHealth {
  if (stored?.epoch === healthEpoch) return stored;
  return {
    _id,
    epoch: healthEpoch,
    disabledReason: null,
    failingSince: null,
    consecutiveFailures: 0,
    lastSuccessAt: stored?.lastSuccessAt ?? null,
    lastFailureAt: stored?.lastFailureAt ?? null,
    noticedPercent: 0,
    dueNotice: null,
    ...(stored?.revision === undefined ? {} : { revision: stored.revision }),
  };
}

/** Status of a delivery (services/platform-api/openapi.json). */
export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'skipped', 'canceled'] as const;

/** One of `deliveryStatuses`. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Reason of a failed attempt without a usable response. */
export const attemptErrors = [
  'dns_error',
  'blocked_address',
  'connect_timeout',
  'connection_refused',
  'connection_reset',
  'tls_error',
  'timeout',
  'response_too_large',
] as const;

/** One of `attemptErrors`. */
export type AttemptError = (typeof attemptErrors)[number];

/** Cause of an attempt. */
export type AttemptTrigger = 'schedule' | 'retry' | 'replay' | 'test';

/** One attempt of a delivery. */
export interface AttemptRecord {
  readonly number: number;
  readonly trigger: AttemptTrigger;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly errorCode: AttemptError | null;
  /** First part of the response. */
  readonly responseBody: string | null;
}

/** The newest attempt of a delivery, without the response. */
export type LastAttempt = Pick<AttemptRecord, 'startedAtMs' | 'durationMs' | 'statusCode' | 'errorCode'>;

/** A notification for a webhook: a document of the collection `webhook_deliveries`. */
export interface DeliveryRecord {
  /** 24 hex digits, the same for the same webhook and notification. */
  readonly _id: string;
  /** The record's `id`, from a counter. */
  readonly number: number;
  readonly webhookId: number;
  readonly accountId: number;
  readonly userId: number;
  readonly notificationId: number;
  readonly notificationType: string;
  /** The number as the terminal sends it. */
  readonly imei: string;
  /** Canonical terminal number. */
  readonly imeiKey: string;
  readonly vehicleId: number;
  readonly status: DeliveryStatus;
  /** Cause of the next attempt. */
  readonly trigger: Exclude<AttemptTrigger, 'test'>;
  readonly attemptCount: number;
  /** Attempts since the delivery was created or retried manually; the back-off counts from there. */
  readonly roundAttempts: number;
  /** The notification body, identical at every attempt. */
  readonly body: string;
  /** Trace of the notification, which later attempts continue; only while tracing is on. */
  readonly trace?: TraceHeaders;
  /** Newest attempts. */
  readonly attempts: readonly AttemptRecord[];
  /** For lists, which do not read the attempts. Absent before the first attempt. */
  readonly lastAttempt?: LastAttempt;
  /** Headers of the newest attempt, with masked secrets; null before the first. */
  readonly request: { readonly headers: readonly CustomHeader[]; readonly body: string } | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly version: number;
  readonly nextAttemptAtMs: number | null;
  readonly completedAtMs: number | null;
}

/** A delivery without its large fields. */
export type DeliverySummary = Omit<DeliveryRecord, 'body' | 'attempts' | 'request'>;

/**
 * A scheduled attempt in the collection `webhook_due`: small, because it is polled every second. `_id` is that of the
 * delivery.
 */
export interface DueDelivery {
  readonly _id: string;
  readonly webhookId: number;
  readonly dueAtMs: number;
}

/**
 * An attempt in progress (`_id` is that of the delivery), or a notice in progress: a document of `webhook_claims`. That
 * of a dead dispatcher expires.
 */
export interface DeliveryClaim {
  readonly _id: string;
  readonly untilMs: number;
}

/** Deliveries that wait in a replay, a document of `webhook_replays`. */
export interface ReplayBatch {
  readonly _id: string;
  readonly webhookId: number;
  readonly deliveryIds: readonly string[];
  readonly dueAtMs: number;
}

/** Filter of a list of deliveries. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly type?: string | undefined;
  /** Canonical terminal number. */
  readonly imeiKey?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

/** Statistics of the deliveries of a time span. */
export interface DeliveryStats {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  readonly pending: number;
  /** Succeeded of all succeeded and failed ones; null without any. */
  readonly successRate: number | null;
  /** Durations of the attempts; null without any. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** Ended deliveries that were created in one part of a time span. */
export interface DeliveryBucket {
  readonly fromMs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
}
