import type { WebhookHealth, WebhookNotice } from '@fleet/storage';

/** What attempts have shown of a webhook since its health was written last. */
export interface Findings {
  readonly lastSuccessAtMs: number | null;
  readonly lastFailureAtMs: number | null;
  /** Since the last success, or all. */
  readonly failures: number;
  /** The first of those failures. */
  readonly failingSinceMs: number | null;
  /** The receiver has said 410. */
  readonly isGone: boolean;
  /** Of the last delivery that failed. */
  readonly vehicleId: number | null;
}

export const noFindings: Findings = {
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
  failures: 0,
  failingSinceMs: null,
  isGone: false,
  vehicleId: null,
};

export const foundSuccess = (atMs: number): Findings => ({ ...noFindings, lastSuccessAtMs: atMs });

export const foundFailure = (atMs: number, isGone: boolean, vehicleId: number): Findings => ({
  lastSuccessAtMs: null,
  lastFailureAtMs: atMs,
  failures: 1,
  failingSinceMs: atMs,
  isGone,
  vehicleId,
});

/** What was found first, and what was found then, as one. */
export function merged(first: Findings, then: Findings): Findings {
  const lastFailureAtMs = then.lastFailureAtMs ?? first.lastFailureAtMs;
  if (then.lastSuccessAtMs !== null) return { ...then, lastFailureAtMs };
  return {
    lastSuccessAtMs: first.lastSuccessAtMs,
    lastFailureAtMs,
    failures: first.failures + then.failures,
    failingSinceMs: first.failingSinceMs ?? then.failingSinceMs,
    isGone: first.isGone || then.isGone,
    vehicleId: then.vehicleId ?? first.vehicleId,
  };
}

const steps = [50, 90, 100] as const;
const date = (ms: number | null, before: Date | null): Date | null => (ms === null ? before : new Date(ms));
const latest = (ms: number | null, before: Date | null): Date | null =>
  ms === null || (before !== null && before.getTime() > ms) ? before : new Date(ms);
/** Failures of which another dispatcher has noted a later success already. */
const areOver = ({ lastSuccessAtMs, lastFailureAtMs }: Findings, { lastSuccessAt }: WebhookHealth): boolean =>
  lastSuccessAtMs === null &&
  lastFailureAtMs !== null &&
  lastSuccessAt !== null &&
  lastFailureAtMs < lastSuccessAt.getTime();

/**
 * A webhook's health after what was found (platform-contract.md, section 15.3, "Disabling"). Notices come one at a time, each with a failure of its own: nobody is disabled
 * who was not told before.
 */
export function healthAfter(before: WebhookHealth, findings: Findings, disableAfterMs: number): WebhookHealth {
  if (!findings.isGone && areOver(findings, before))
    return { ...before, lastFailureAt: latest(findings.lastFailureAtMs, before.lastFailureAt) };
  const hasRecovered = findings.lastSuccessAtMs !== null;
  const failing = hasRecovered
    ? { failingSince: null, consecutiveFailures: 0, noticedPercent: 0, dueNotice: null }
    : {};
  const seen = { ...before, ...failing };
  const health: WebhookHealth = {
    ...seen,
    failingSince: seen.failingSince ?? date(findings.failingSinceMs, null),
    consecutiveFailures: seen.consecutiveFailures + findings.failures,
    lastSuccessAt: latest(findings.lastSuccessAtMs, before.lastSuccessAt),
    lastFailureAt: latest(findings.lastFailureAtMs, before.lastFailureAt),
  };
  const { failingSince, disabledReason } = health;
  if (findings.failures === 0 || failingSince === null || disabledReason !== null) return health;
  const atMs = findings.lastFailureAtMs ?? 0;
  const about = { failingSinceMs: failingSince.getTime(), atMs, vehicleId: findings.vehicleId ?? 0 };
  if (findings.isGone) return disabled(health, { percent: 100, reason: 'gone', ...about });
  const step = steps.find((percent) => percent > health.noticedPercent);
  const failingMs = atMs - about.failingSinceMs;
  if (step === undefined || failingMs < (disableAfterMs * step) / 100) return health;
  const notice = { percent: step, reason: 'failing', ...about } as const;
  return step === 100 ? disabled(health, notice) : { ...health, noticedPercent: step, dueNotice: notice };
}

const disabled = (health: WebhookHealth, notice: WebhookNotice): WebhookHealth => ({
  ...health,
  disabledReason: notice.reason,
  noticedPercent: 100,
  dueNotice: notice,
});
