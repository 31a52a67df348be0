import type { Redis } from './redis.ts';
import {
  accountKey,
  dueKey,
  endedKey,
  expiringKey,
  parseJson,
  parseSuffix,
  requestKey,
  streamKey,
  streamSuffix,
} from './stream-keys.ts';
import type { StreamClaim, StreamId } from './stream-state.ts';

/** A claim expires without renewal for this long. */
export const streamTtlMs = 10_000;
/** Players can read the end of a stream for this long. */
export const endedStreamTtlMs = 30_000;

// KEYS 1 stream, 2 request, 3 due, 4 expiring. ARGV 1 claim without generation and request, 2 ttl, 3 member, 4 '1' to
// accept unrequested streams.
const claimScript = `
local request = redis.call('GET', KEYS[2])
local current = redis.call('GET', KEYS[1])
if not request and not current and ARGV[4] ~= '1' then return {'', ''} end
local time = redis.call('TIME')
local claim = cjson.decode(ARGV[1])
claim.generation = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local known = current and cjson.decode(current)
if known and known.generation >= claim.generation then claim.generation = known.generation + 1 end
claim.request = cjson.null
if request then claim.request = cjson.decode(request) elseif known then claim.request = known.request end
redis.call('SET', KEYS[1], cjson.encode(claim), 'PX', ARGV[2])
redis.call('ZADD', KEYS[4], string.format('%.0f', tonumber(time[1]) * 1000 + tonumber(ARGV[2])), ARGV[3])
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[3])
return {cjson.encode(claim), current or ''}`;

/**
 * Claims a stream for the pod on which its camera connected, if it was requested or is running (a reconnecting camera).
 * Returns null without a request: close the connection. `previous` is the replaced claim.
 */
export async function claimStream(
  redis: Redis,
  id: StreamId,
  owner: { podId: string; url: string },
  options: { acceptUnsolicited?: boolean } = {},
): Promise<{ claim: StreamClaim; previous: StreamClaim | null } | null> {
  const [claim, previous] = (await redis.eval(claimScript, {
    keys: [streamKey(id), requestKey(id), dueKey, expiringKey],
    arguments: [
      JSON.stringify({ ...owner, startedAtMs: Date.now() }),
      String(streamTtlMs),
      streamSuffix(id),
      options.acceptUnsolicited === true ? '1' : '0',
    ],
  })) as [string, string];
  if (claim === '') return null;
  return { claim: JSON.parse(claim) as StreamClaim, previous: parseJson(previous) as StreamClaim | null };
}

// KEYS 1 stream, 2 expiring. ARGV 1 claim, 2 ttl, 3 member.
const renewClaimScript = `
local current = redis.call('GET', KEYS[1])
if current and cjson.decode(current).generation > cjson.decode(ARGV[1]).generation then return 'lost' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], string.format('%.0f', tonumber(redis.call('TIME')[1]) * 1000 + tonumber(ARGV[2])), ARGV[3])
if current then return 'kept' end
return 'restored'`;

/**
 * Renews a claim; repeat it well within `streamTtlMs`. `restored`: it had expired, or Redis was emptied, and is valid
 * again; an end of the stream may have been published. `lost`: another pod has taken over the stream.
 */
export async function renewStreamClaim(
  redis: Redis,
  id: StreamId,
  claim: StreamClaim,
): Promise<'kept' | 'restored' | 'lost'> {
  const state = (await redis.eval(renewClaimScript, {
    keys: [streamKey(id), expiringKey],
    arguments: [JSON.stringify(claim), String(streamTtlMs), streamSuffix(id)],
  })) as 'kept' | 'restored' | 'lost';
  const accountId = claim.request?.accountId;
  // Redis may have lost the account's set, too.
  if (state === 'restored' && accountId !== undefined) await redis.sAdd(accountKey(accountId), streamSuffix(id));
  return state;
}

// KEYS 1 stream, 2 expiring, 3 ended stream. ARGV 1 generation, 2 member, 3 ttl of the ended stream.
const releaseScript = `
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).generation ~= tonumber(ARGV[1]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('SET', KEYS[3], current, 'PX', ARGV[3])
return redis.call('DEL', KEYS[1])`;

/** Releases a stream; returns false if another pod owns it. */
export async function releaseStream(redis: Redis, id: StreamId, generation: number): Promise<boolean> {
  const released = await redis.eval(releaseScript, {
    keys: [streamKey(id), expiringKey, endedKey(id)],
    arguments: [String(generation), streamSuffix(id), String(endedStreamTtlMs)],
  });
  return released === 1;
}

/** Returns the last claim of a stream that ended within `endedStreamTtlMs`; null for any other. */
export const readEndedStream = async (redis: Redis, id: StreamId): Promise<StreamClaim | null> =>
  parseJson(await redis.get(endedKey(id))) as StreamClaim | null;

// KEYS 1 stream, 2 expiring. ARGV 1 member. 1: the claim has expired and is not listed any more.
const popOrphanedScript = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])`;

/** Removes and returns the streams whose claim expired because their pod died, each to one caller only. */
export async function popOrphanedStreams(redis: Redis, nowMs = Date.now()): Promise<StreamId[]> {
  const members = await redis.zRangeByScore(expiringKey, 0, nowMs, { LIMIT: { offset: 0, count: 100 } });
  const popped: StreamId[] = [];
  for (const member of members) {
    const id = parseSuffix(member);
    const removed = await redis.eval(popOrphanedScript, { keys: [streamKey(id), expiringKey], arguments: [member] });
    if (removed === 1) popped.push(id);
  }
  return popped;
}
