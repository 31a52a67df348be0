import type { Outcome } from '@fleet/bus';
import type { Redis } from '@fleet/storage';

/** Long enough for every request that waits for the same camera. */
const ttlMs = 15_000;

const redisKey = (requestId: string): string => `stream-outcome:${requestId}`;

/** Saves the outcome of a stream request for the requests that wait for it on any replica. */
export async function saveStreamOutcome(redis: Redis, requestId: string, outcome: Outcome): Promise<void> {
  await redis.set(redisKey(requestId), JSON.stringify(outcome), { expiration: { type: 'PX', value: ttlMs } });
}

/** Returns the outcome of a stream request, or null. */
export async function readStreamOutcome(redis: Redis, requestId: string): Promise<Outcome | null> {
  const text = await redis.get(redisKey(requestId));
  return text === null ? null : (JSON.parse(text) as Outcome);
}
