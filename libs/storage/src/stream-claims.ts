import { removeAccountStream, renewAccountStream } from './account-streams.ts';
import { removeDueMember, takeDueMembers } from './due-members.ts';
import type { Redis } from './redis.ts';
import { endedKey, expiringKey, parseJson, requestKey, streamKey, streamMember } from './stream-keys.ts';
import type { StreamClaim, StreamId } from './stream-state.ts';

/** A claim expires without renewal for this long. */
export const streamTtlMs = 10_000;
/** Players can read the end of a stream for this long. */
export const endedStreamTtlMs = 30_000;

// KEYS 1 stream, 2 request. ARGV 1 claim without generation and request, 2 ttl, 3 '1' to accept unrequested streams.
const claimScript = `
local request = redis.call('GET', KEYS[2])
local current = redis.call('GET', KEYS[1])
if not request and not current and ARGV[3] ~= '1' then return {'', ''} end
local time = redis.call('TIME')
local claim = cjson.decode(ARGV[1])
claim.generation = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local known = current and cjson.decode(current)
if known and known.generation >= claim.generation then claim.generation = known.generation + 1 end
claim.request = cjson.null
if request then claim.request = cjson.decode(request) elseif known then claim.request = known.request end
redis.call('SET', KEYS[1], cjson.encode(claim), 'PX', ARGV[2])
redis.call('DEL', KEYS[2])
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
  await expectRenewal(redis, id);
  const [text, previous] = (await redis.eval(claimScript, {
    keys: [streamKey(id), requestKey(id)],
    arguments: [
      JSON.stringify({ ...owner, startedAtMs: Date.now() }),
      String(streamTtlMs),
      options.acceptUnsolicited === true ? '1' : '0',
    ],
  })) as [string, string];
  if (text === '') {
    await redis.zRem(expiringKey, streamMember(id));
    return null;
  }
  return { claim: JSON.parse(text) as StreamClaim, previous: parseJson(previous) as StreamClaim | null };
}

/** Lets the job for dead pods look at the claim unless it is renewed until then. */
async function expectRenewal(redis: Redis, id: StreamId): Promise<void> {
  await redis.zAdd(expiringKey, { score: Date.now() + streamTtlMs, value: streamMember(id) });
}

// KEYS 1 stream. ARGV 1 claim, 2 ttl.
const renewClaimScript = `
local current = redis.call('GET', KEYS[1])
if current and cjson.decode(current).generation > cjson.decode(ARGV[1]).generation then return 'lost' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
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
    keys: [streamKey(id)],
    arguments: [JSON.stringify(claim), String(streamTtlMs)],
  })) as 'kept' | 'restored' | 'lost';
  if (state === 'lost') return state;
  await Promise.all([expectRenewal(redis, id), renewAccountStream(redis, claim.request?.accountId, id, streamTtlMs)]);
  return state;
}

// KEYS 1 stream, 2 ended stream. ARGV 1 generation, 2 ttl of the ended stream. Returns the claim, or ''.
const releaseScript = `
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).generation ~= tonumber(ARGV[1]) then return '' end
redis.call('SET', KEYS[2], current, 'PX', ARGV[2])
redis.call('DEL', KEYS[1])
return current`;

/** Releases a stream; returns false if another pod owns it. */
export async function releaseStream(redis: Redis, id: StreamId, generation: number): Promise<boolean> {
  const text = (await redis.eval(releaseScript, {
    keys: [streamKey(id), endedKey(id)],
    arguments: [String(generation), String(endedStreamTtlMs)],
  })) as string;
  const claim = parseJson(text) as StreamClaim | null;
  if (claim === null) return false;
  // After a crash the job for dead pods removes the first member, and the second one expires.
  await Promise.all([
    redis.zRem(expiringKey, streamMember(id)),
    removeAccountStream(redis, claim.request?.accountId, id),
  ]);
  return true;
}

/** Returns the last claim of a stream that ended within `endedStreamTtlMs`; null for any other. */
export const readEndedStream = async (redis: Redis, id: StreamId): Promise<StreamClaim | null> =>
  parseJson(await redis.get(endedKey(id))) as StreamClaim | null;

/** Removes and returns the streams whose claim expired because their pod died, each to one caller only. */
export const popOrphanedStreams = (redis: Redis, nowMs = Date.now()): Promise<StreamId[]> =>
  takeDueMembers(redis, expiringKey, nowMs, async (id, member) => {
    // A valid claim is renewed soon. One that is made after this check has made the member due later.
    if ((await redis.exists(streamKey(id))) === 1) return undefined;
    return (await removeDueMember(redis, expiringKey, member, nowMs)) ? id : undefined;
  });
