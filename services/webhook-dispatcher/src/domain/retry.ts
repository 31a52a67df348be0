import type { AttemptError } from '@fleet/storage';

/** What the waits between attempts are. */
export interface RetryPlan {
  readonly waitsMs: readonly number[];
  /** Least wait where the receiver has too much to do. */
  readonly overloadWaitMs: number;
}

/** How an attempt ended that was no success. */
export interface Failure {
  readonly statusCode: number | null;
  readonly errorCode: AttemptError | null;
  /** What the receiver asked for. */
  readonly retryAfterMs: number | null;
}

const jitter = 0.2;
/** The longest wait that a receiver can ask for. */
const maxRetryAfterMs = 3_600_000;
const overloadSignals: readonly unknown[] = [429, 503, 'timeout', 'connect_timeout'];

/**
 * How long to wait after the failure that is the given one of its round, from 1; null when that was the last attempt (platform-contract.md, section 15.3). `random` is from
 * 0 to 1: attempts that fail together do not come back together.
 */
export function nextWaitMs(failures: number, failure: Failure, plan: RetryPlan, random = Math.random()): number | null {
  const waitMs = plan.waitsMs[failures - 1];
  if (waitMs === undefined) return null;
  const jitteredMs = Math.round(waitMs * (1 - jitter + 2 * jitter * random));
  const { statusCode, errorCode, retryAfterMs } = failure;
  const isOverloaded = overloadSignals.includes(statusCode) || overloadSignals.includes(errorCode);
  if (!isOverloaded && retryAfterMs === null) return jitteredMs;
  const minWaitMs = Math.max(isOverloaded ? plan.overloadWaitMs : 0, Math.min(retryAfterMs ?? 0, maxRetryAfterMs));
  return Math.max(jitteredMs, Math.round(minWaitMs * (1 + (jitter / 2) * random)));
}

/** Reads `Retry-After`: seconds, or a date; null for anything else. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
