import type { Redis } from '@fleet/storage';

/** A talker who has the turn. */
export interface TalkHolder {
  readonly talkId: string;
  readonly channel: number;
}

const redisKey = (imei: string): string => `talk-turn:${imei}`;
const toText = ({ talkId, channel }: TalkHolder): string => JSON.stringify({ talkId, channel });

// KEYS 1 turn. ARGV 1 holder, 2 ttl, 3 '1' to take it by force. Returns the previous holder, or ''.
const takeScript = `
local current = redis.call('GET', KEYS[1])
if current and ARGV[3] ~= '1' then return current end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return current or ''`;

// KEYS 1 turn. ARGV 1 holder, 2 ttl. A turn that Redis has lost is taken again.
const renewScript = `
local current = redis.call('GET', KEYS[1])
if current and current ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** Takes the turn of a device. Returns the holder so far, who keeps it unless it is taken by force. */
export async function takeTurn(
  redis: Redis,
  imei: string,
  holder: TalkHolder,
  { ttlMs, isForced }: { readonly ttlMs: number; readonly isForced: boolean },
): Promise<TalkHolder | null> {
  const text = (await redis.eval(takeScript, {
    keys: [redisKey(imei)],
    arguments: [toText(holder), String(ttlMs), isForced ? '1' : '0'],
  })) as string;
  return text === '' ? null : (JSON.parse(text) as TalkHolder);
}

/** Returns whether somebody has the turn of a device. */
export const isTurnTaken = async (redis: Redis, imei: string): Promise<boolean> =>
  (await redis.exists(redisKey(imei))) === 1;

/** Renews a turn; repeat it well within its time to live. Returns false if somebody else has it. */
export async function renewTurn(redis: Redis, imei: string, holder: TalkHolder, ttlMs: number): Promise<boolean> {
  return (await redis.eval(renewScript, { keys: [redisKey(imei)], arguments: [toText(holder), String(ttlMs)] })) === 1;
}

/** Releases a turn, unless somebody else has it. */
export async function releaseTurn(redis: Redis, imei: string, holder: TalkHolder): Promise<void> {
  await redis.eval(releaseScript, { keys: [redisKey(imei)], arguments: [toText(holder)] });
}
