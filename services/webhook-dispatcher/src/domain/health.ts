import type { WebhookHealth, WebhookNotice } from '@fleet/storage';

/** Results of a webhook's attempts since its health was saved last. */
export interface HealthDelta {
  readonly lastSuccessAtMs: number | null;
  readonly lastFailureAtMs: number | null;
  /** Since the last success, or all. */
  readonly failures: number;
  /** Time of the first of those failures. */
  readonly failingSinceMs: number | null;
  /** The receiver responded with 410. */
  readonly isGone: boolean;
  /** Vehicle of the last failed delivery. */
  readonly vehicleId: number | null;
}

export const emptyDelta: HealthDelta = {
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
  failures: 0,
  failingSinceMs: null,
  isGone: false,
  vehicleId: null,
};

export const successDelta = (atMs: number): HealthDelta => ({ ...emptyDelta, lastSuccessAtMs: atMs });

export const failureDelta = (atMs: number, isGone: boolean, vehicleId: number): HealthDelta => ({
  lastSuccessAtMs: null,
  lastFailureAtMs: atMs,
  failures: 1,
  failingSinceMs: atMs,
  isGone,
  vehicleId,
});

/** Merges earlier and later results. */
export function mergeDeltas(earlier: HealthDelta, later: HealthDelta): HealthDelta {
  const lastFailureAtMs = later.lastFailureAtMs ?? earlier.lastFailureAtMs;
  if (later.lastSuccessAtMs !== null) return { ...later, lastFailureAtMs };
  return {
    lastSuccessAtMs: earlier.lastSuccessAtMs,
    lastFailureAtMs,
    failures: earlier.failures + later.failures,
    failingSinceMs: earlier.failingSinceMs ?? later.failingSinceMs,
    isGone: earlier.isGone || later.isGone,
    vehicleId: later.vehicleId ?? earlier.vehicleId,
  };
}

const noticeSteps = [50, 90, 100] as const;
const toDate = (ms: number | null, previous: Date | null): Date | null => (ms === null ? previous : new Date(ms));
const laterDate = (ms: number | null, previous: Date | null): Date | null =>
  ms === null || (previous !== null && previous.getTime() > ms) ? previous : new Date(ms);
/** Returns the failures after the last success that another dispatcher recorded. */
const isOutdated = ({ lastSuccessAtMs, lastFailureAtMs }: HealthDelta, { lastSuccessAt }: WebhookHealth): boolean =>
  lastSuccessAtMs === null &&
  lastFailureAtMs !== null &&
  lastSuccessAt !== null &&
  lastFailureAtMs < lastSuccessAt.getTime();

/**
 * Returns a webhook's health after new results. Notices are sent one at a time, each after a separate failure: no
 * webhook is disabled before its owner was notified.
 */
export function applyDelta(before: WebhookHealth, delta: HealthDelta, disableAfterMs: number): WebhookHealth {
  if (!delta.isGone && isOutdated(delta, before))
    return { ...before, lastFailureAt: laterDate(delta.lastFailureAtMs, before.lastFailureAt) };
  const hasRecovered = delta.lastSuccessAtMs !== null;
  const failureReset = hasRecovered
    ? { failingSince: null, consecutiveFailures: 0, noticedPercent: 0, dueNotice: null }
    : {};
  const base = { ...before, ...failureReset };
  const health: WebhookHealth = {
    ...base,
    failingSince: base.failingSince ?? toDate(delta.failingSinceMs, null),
    consecutiveFailures: base.consecutiveFailures + delta.failures,
    lastSuccessAt: laterDate(delta.lastSuccessAtMs, before.lastSuccessAt),
    lastFailureAt: laterDate(delta.lastFailureAtMs, before.lastFailureAt),
  };
  const { failingSince, disabledReason } = health;
  if (delta.failures === 0 || failingSince === null || disabledReason !== null) return health;
  const atMs = delta.lastFailureAtMs ?? 0;
  const noticeFields = { failingSinceMs: failingSince.getTime(), atMs, vehicleId: delta.vehicleId ?? 0 };
  if (delta.isGone) return disable(health, { percent: 100, reason: 'gone', ...noticeFields });
  const step = noticeSteps.find((percent) => percent > health.noticedPercent);
  const failingMs = atMs - noticeFields.failingSinceMs;
  if (step === undefined || failingMs < (disableAfterMs * step) / 100) return health;
  const notice = { percent: step, reason: 'failing', ...noticeFields } as const;
  return step === 100 ? disable(health, notice) : { ...health, noticedPercent: step, dueNotice: notice };
}

const disable = (health: WebhookHealth, notice: WebhookNotice): WebhookHealth => ({
  ...health,
  disabledReason: notice.reason,
  noticedPercent: 100,
  dueNotice: notice,
});
