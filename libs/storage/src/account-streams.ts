import type { Redis } from './redis.ts';
import { streamMember } from './stream-keys.ts';
import type { StreamId } from './stream-state.ts';

/**
 * Sorted set of the streams and requests of an account by their expiry on the clock of Redis. The owner of a stream
 * renews its member with it, so a crash between the two is repaired by the next renewal, or by the expiry.
 */
const accountKey = (accountId: number): string => `account-streams:${accountId}`;

/** Outlives every member. */
const keyTtlMs = 120_000;

const nowFunction = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function keep()
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ${keyTtlMs})
end`;

// KEYS 1 streams of the account. ARGV 1 member, 2 ttl, 3 limit. Returns 0 at the limit.
const addScript = `${nowFunction}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
keep()
return 1`;

const renewScript = `${nowFunction}
keep()`;

/** Adds a stream to an account; returns false if the account has `maxStreams` other streams already. */
export async function addAccountStream(
  redis: Redis,
  accountId: number,
  id: StreamId,
  { maxStreams, ttlMs }: { readonly maxStreams: number; readonly ttlMs: number },
): Promise<boolean> {
  const values = [streamMember(id), String(ttlMs), String(maxStreams)];
  return (await redis.eval(addScript, { keys: [accountKey(accountId)], arguments: values })) === 1;
}

/** Counts a stream for `ttlMs` more. Does nothing for a stream without an account. */
export async function renewAccountStream(
  redis: Redis,
  accountId: number | undefined,
  id: StreamId,
  ttlMs: number,
): Promise<void> {
  if (accountId === undefined) return;
  await redis.eval(renewScript, { keys: [accountKey(accountId)], arguments: [streamMember(id), String(ttlMs)] });
}

/** Stops counting a stream. Does nothing for a stream without an account. */
export async function removeAccountStream(redis: Redis, accountId: number | undefined, id: StreamId): Promise<void> {
  if (accountId !== undefined) await redis.zRem(accountKey(accountId), streamMember(id));
}
