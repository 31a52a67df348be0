/** A header that is sent beside the platform's own. */
export interface CustomHeader {
  readonly name: string;
  readonly value: string;
}

/** What the owner of a webhook is to be told and has not been told yet. */
export interface WebhookNotice {
  /** How much of the time after which a failing webhook is disabled is over; 100: it is disabled. */
  readonly percent: 50 | 90 | 100;
  readonly reason: 'failing' | 'gone';
  readonly failingSinceMs: number;
  /** When it was found. */
  readonly atMs: number;
  /** The vehicle of a delivery that failed. */
  readonly vehicleId: number;
}

/** Where a user wants to be told of notifications: a document of the collection `webhooks`. */
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
  /** In the order in which they were given; databases do not take every name as that of a field, nor lists in lists. */
  readonly headers: readonly CustomHeader[];
  /** Sealed for `webhookSecretPurpose`. */
  readonly sealedSecret: string;
  readonly secretHint: string;
  /** The secret before a rotation, which `X-Webhook-Secret` carries until the grace ends. */
  readonly sealedOldSecret: string | null;
  readonly graceUntil: Date | null;
  /** Counts how often it was started anew: what `webhook_health` says of an earlier time no longer holds. */
  readonly healthEpoch: number;
}

/** How deliveries to a webhook go: a document of the collection `webhook_health`, which webhook-dispatcher alone writes. `_id` is that of the webhook. */
export interface WebhookHealth {
  readonly _id: number;
  readonly epoch: number;
  readonly disabledReason: 'failing' | 'gone' | null;
  readonly failingSince: Date | null;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** The last notice that was made since `failingSince`; 0 for none. */
  readonly noticedPercent: number;
  readonly dueNotice: WebhookNotice | null;
  /** Counts the times that it was written; absent where it never was, or by an older release. */
  readonly revision?: number;
}

/** What is sealed is bound to whose it is. */
export const webhookSecretPurpose = (userId: number): string => `webhook secret of user ${userId}`;

/** What holds of a webhook's health: nothing counts against one that was started anew since. */
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

/** Where a delivery stands (platform-contract.md, section 27). */
export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'skipped', 'canceled'] as const;

/** One of `deliveryStatuses`. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Why an attempt failed that got no usable answer (platform-contract.md, sections 27 and 28). */
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

/** What makes an attempt. */
export type AttemptTrigger = 'schedule' | 'retry' | 'replay' | 'test';

/** One attempt of a delivery. */
export interface AttemptRecord {
  readonly number: number;
  readonly trigger: AttemptTrigger;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly errorCode: AttemptError | null;
  /** The beginning of the answer. */
  readonly responseBody: string | null;
}

/** A notification on its way to a webhook: a document of the collection `webhook_deliveries`. */
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
  /** What the next attempt comes from. */
  readonly trigger: Exclude<AttemptTrigger, 'test'>;
  readonly attemptCount: number;
  /** Attempts since the delivery was made, or tried again by hand: the waits count from there. */
  readonly roundAttempts: number;
  /** The notification as it is sent, byte by byte the same at every attempt. */
  readonly body: string;
  /** The newest ones. */
  readonly attempts: readonly AttemptRecord[];
  /** What the newest attempt has sent, secrets masked; null before the first. */
  readonly request: { readonly headers: readonly CustomHeader[]; readonly body: string } | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly version: number;
  readonly nextAttemptAtMs: number | null;
  readonly completedAtMs: number | null;
}

/** A delivery without what is large. */
export type DeliverySummary = Omit<DeliveryRecord, 'body' | 'attempts' | 'request'>;

/** A later attempt that stands in the collection `webhook_due`: small, as it is looked through every second. `_id` is that of the delivery. */
export interface DueDelivery {
  readonly _id: string;
  readonly webhookId: number;
  readonly dueAtMs: number;
}

/** An attempt that is under way, `_id` is that of the delivery, or the telling of a notice: a document of `webhook_claims`. A dispatcher that died leaves it to run out. */
export interface DeliveryClaim {
  readonly _id: string;
  readonly untilMs: number;
}

/** Deliveries that wait for their turn in a replay, a document of `webhook_replays`. */
export interface ReplayBatch {
  readonly _id: string;
  readonly webhookId: number;
  readonly deliveryIds: readonly string[];
  readonly dueAtMs: number;
}

/** Which deliveries are listed. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly type?: string | undefined;
  /** Canonical terminal number. */
  readonly imeiKey?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

/** How deliveries of a time have gone. */
export interface DeliveryStats {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  readonly pending: number;
  /** Succeeded of those that have succeeded or failed; null when there are none. */
  readonly successRate: number | null;
  /** Of the attempts' durations; null without any. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}
