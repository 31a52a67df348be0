import { type DeviceAccessEvent, deviceAccessed } from '@fleet/bus';
import type { Redis } from '@fleet/storage';

/** A talk that is not in the audit log completely, renewed by its process. */
export interface OpenTalk {
  /** Event of its start. */
  readonly start: DeviceAccessEvent;
  /** Id of the event of its end. */
  readonly endId: string;
  /** Duration until the last renewal. */
  readonly seconds: number;
}

const talksKey = '{open-talks}:records';
/** Sorted set of the talks by their last renewal, on the clock of Redis. */
const renewedKey = '{open-talks}:renewed';
/** Without any process for this long, the ends of the talks are lost. */
const ttlMs = 7 * 24 * 3_600_000;
const maxOrphans = 100;

// KEYS 1 talks, 2 renewals. ARGV 1 id, 2 talk, 3 ttl.
const saveScript = `
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], time[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1`;

// KEYS 1 talks, 2 renewals. ARGV 1 longest silence in seconds, 2 limit.
const findOrphansScript = `
local latest = tonumber(redis.call('TIME')[1]) - tonumber(ARGV[1])
local ids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', latest, 'LIMIT', 0, ARGV[2])
local talks = {}
for _, id in ipairs(ids) do
  local talk = redis.call('HGET', KEYS[1], id)
  if talk then table.insert(talks, talk) else redis.call('ZREM', KEYS[2], id) end
end
return talks`;

const keys = [talksKey, renewedKey];

/** Saves or renews an open talk; repeat it every few seconds. */
export async function saveOpenTalk(redis: Redis, talk: OpenTalk): Promise<void> {
  await redis.eval(saveScript, { keys, arguments: [talk.start.id, JSON.stringify(talk), String(ttlMs)] });
}

/** Removes a talk whose events are stored. */
export async function removeOpenTalk(redis: Redis, { start }: Pick<OpenTalk, 'start'>): Promise<void> {
  await redis.multi().hDel(talksKey, start.id).zRem(renewedKey, start.id).exec();
}

/** Returns talks without a renewal for `silentSeconds`: their processes have died. */
export async function findOrphanedTalks(redis: Redis, silentSeconds: number): Promise<OpenTalk[]> {
  const found = (await redis.eval(findOrphansScript, {
    keys,
    arguments: [String(silentSeconds), String(maxOrphans)],
  })) as string[];
  return found.flatMap((text) => {
    const talk = JSON.parse(text) as OpenTalk;
    return deviceAccessed.check(talk.start) ? [talk] : [];
  });
}
