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

const spread = 0.2;
/** The longest wait that a receiver can ask for. */
const maxRetryAfterMs = 3_600_000;
const overloaded: readonly unknown[] = [429, 503, 'timeout', 'connect_timeout'];

/**
 * How long to wait after the failure that is the given one of its round, from 1; null when that was the last attempt (platform-contract.md, section 15.3). `random` is from
 * 0 to 1: attempts that fail together do not come back together.
 */
export function nextWaitMs(failures: number, failure: Failure, plan: RetryPlan, random = Math.random()): number | null {
  const waitMs = plan.waitsMs[failures - 1];
  if (waitMs === undefined) return null;
  const spreadMs = Math.round(waitMs * (1 - spread + 2 * spread * random));
  const { statusCode, errorCode, retryAfterMs } = failure;
  const isOverloaded = overloaded.includes(statusCode) || overloaded.includes(errorCode);
  if (!isOverloaded && retryAfterMs === null) return spreadMs;
  const leastMs = Math.max(isOverloaded ? plan.overloadWaitMs : 0, Math.min(retryAfterMs ?? 0, maxRetryAfterMs));
  return Math.max(spreadMs, Math.round(leastMs * (1 + (spread / 2) * random)));
}

/** Reads `Retry-After`: seconds, or a date; null for anything else. */
export function readRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
