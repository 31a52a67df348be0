import type { Redis } from './redis.ts';
import { parseMember } from './stream-keys.ts';
import type { StreamId } from './stream-state.ts';

// KEYS 1 sorted set. ARGV 1 member, 2 now. A member that was scheduled again in the meantime remains.
const removeDueScript = `
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due or tonumber(due) > tonumber(ARGV[2]) then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])`;

/** Removes a member that is due; returns true to one caller only. */
export const removeDueMember = async (redis: Redis, key: string, member: string, nowMs: number): Promise<boolean> =>
  (await redis.eval(removeDueScript, { keys: [key], arguments: [member, String(nowMs)] })) === 1;

/**
 * Calls `take` with the due members of a sorted set, and returns its results without `undefined`. In a cluster a part of
 * the streams may be unavailable: they remain due, and do not prevent the others. Throws if nothing is available.
 */
export async function takeDueMembers<Taken>(
  redis: Redis,
  key: string,
  nowMs: number,
  take: (id: StreamId, member: string) => Promise<Taken | undefined>,
): Promise<Taken[]> {
  const members = await redis.zRangeByScore(key, 0, nowMs, { LIMIT: { offset: 0, count: 100 } });
  const results = await Promise.allSettled(members.map((member) => take(parseMember(member), member)));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined && results.every(({ status }) => status === 'rejected')) throw failed.reason;
  return results.flatMap((result) =>
    result.status === 'fulfilled' && result.value !== undefined ? [result.value] : [],
  );
}
