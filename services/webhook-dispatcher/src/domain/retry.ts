import { hourMs } from '@fleet/service-kit';
import type { AttemptError } from '@fleet/storage';

/** Back-off settings. */
export interface RetryPlan {
  readonly waitsMs: readonly number[];
  /** Shortest back-off for an overloaded receiver. */
  readonly overloadWaitMs: number;
}

/** Result of a failed attempt. */
export interface Failure {
  readonly statusCode: number | null;
  readonly errorCode: AttemptError | null;
  /** Wait that the receiver requested. */
  readonly retryAfterMs: number | null;
}

const jitter = 0.2;
/** Longest wait that a receiver can request. */
const maxRetryAfterMs = hourMs;
const overloadSignals: readonly unknown[] = [429, 503, 'timeout', 'connect_timeout'];

/**
 * Returns the back-off after the given failure of a round, from 1; null after the last attempt. `random` is from 0 to
 * 1, so that attempts that fail together are not retried together.
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

/** Parses `Retry-After`: seconds, or a date; null for anything else. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
