import { dayMs } from '@fleet/service-kit';
import type { Redis } from './redis.ts';

/** Live video, recorded video and talk of one channel are three streams: their cameras connect to different ports. */
export const streamKinds = ['live', 'history', 'talk'] as const;

/** One of `streamKinds`. */
export type StreamKind = (typeof streamKinds)[number];

/** Identifies one stream. `imei` is the canonical number. */
export interface StreamId {
  readonly kind: StreamKind;
  readonly imei: string;
  readonly channel: number;
}

/**
 * Request to a camera. Key `stream-request:<kind>:<imei>:<channel>`; it exists until the camera connects, refuses or
 * times out.
 */
export interface StreamRequest {
  /** Unique for each request, so that only its creator cancels it. */
  readonly requestId: string;
  /** asking: the command is pending. acknowledged: the camera accepted, and the channel counts as streaming. */
  readonly status: 'asking' | 'acknowledged';
  readonly dataType: number;
  readonly streamType: number;
  /**
   * Recordings: `arrival` if playback starts at a speed other than 1, backwards or in leaps; otherwise the device's
   * clock.
   */
  readonly pace?: 'device' | 'arrival';
  /**
   * True if a viewer chose the main stream: the channel returns to the sub stream when no viewer wants it any more.
   * False, and absent, if it stays.
   */
  readonly returnsToSub?: boolean;
  /** True if the camera streams to an external media server: no packet arrives here. */
  readonly isForeign: boolean;
  readonly requestedAtMs: number;
  readonly correlationId: string;
  /** Account whose streams are counted; absent without a vehicle. */
  readonly accountId?: number;
}

/** The media pod that owns a stream. Key `stream:<kind>:<imei>:<channel>`, renewed by its owner. */
export interface StreamClaim {
  readonly podId: string;
  /** Base URL of the owner's FLV server for other services. */
  readonly url: string;
  /**
   * Rises with every claim (milliseconds of the Redis clock; cjson keeps 14 digits). A later claim wins, so that a
   * dying pod cannot hide a live one.
   */
  readonly generation: number;
  readonly startedAtMs: number;
  readonly request: StreamRequest | null;
}

/** A claim expires without renewal for this long. */
export const streamTtlMs = 10_000;
/** An acknowledged stream without a packet for this long is stopped. */
export const firstPacketTimeoutMs = 30_000;
/** A request expires without renewal for this long: a killed process must not block a channel for the whole wait. */
const requestTtlMs = 10_000;
/** Acknowledged requests outlive their due time a little, for the job that stops them. */
const acknowledgedRequestTtlMs = firstPacketTimeoutMs + 15_000;

const streamSuffix = (id: StreamId): string => `${id.kind}:${id.imei}:${id.channel}`;
const streamKey = (id: StreamId): string => `stream:${streamSuffix(id)}`;
const requestKey = (id: StreamId): string => `stream-request:${streamSuffix(id)}`;
/** Sorted set of the streams that wait for their first packet, by the end of that wait. */
const dueKey = 'stream-requests:due';
/** Sorted set of the claimed streams by the expiry of their claims: a killed pod releases nothing. */
const expiringKey = 'streams:expiring';

/** Set of the streams of an account; those that have ended since are removed when the set is counted. */
const accountKey = (accountId: number): string => `streams:account:${accountId}`;
const accountTtlMs = 30 * dayMs;

/** Returns the stream of a key suffix. */
function parseSuffix(member: string): StreamId {
  const [kind, imei = '', channel] = member.split(':');
  return { kind: streamKinds.find((each) => each === kind) ?? 'live', imei, channel: Number(channel) };
}

const parseJson = (text: string | null | undefined): unknown =>
  text === null || text === undefined || text === '' ? null : JSON.parse(text);

/** Returns the claim of a stream (packets arrive), else its request. Throws if Redis cannot be read. */
export async function readStream(
  redis: Redis,
  id: StreamId,
): Promise<{ claim: StreamClaim | null; request: StreamRequest | null }> {
  const [claim, request] = await redis.mGet([streamKey(id), requestKey(id)]);
  return { claim: parseJson(claim) as StreamClaim | null, request: parseJson(request) as StreamRequest | null };
}

// KEYS 1 stream, 2 request, 3 streams of the account. ARGV 1 request, 2 ttl, 3 limit of the account or '', 4 member,
// 5 ttl of the set. Returns what prevented the reservation, or ''. Redis Cluster is not supported: the keys of the
// account's other streams are not declared.
const reserveScript = `
local claim = redis.call('GET', KEYS[1])
if claim then return {'streaming', claim} end
local request = redis.call('GET', KEYS[2])
if request then return {'requested', request} end
if ARGV[3] ~= '' then
  local count = 0
  for _, member in ipairs(redis.call('SMEMBERS', KEYS[3])) do
    if redis.call('EXISTS', 'stream:' .. member, 'stream-request:' .. member) > 0 then
      count = count + 1
    else
      redis.call('SREM', KEYS[3], member)
    end
  end
  if count >= tonumber(ARGV[3]) then return {'full', ''} end
  redis.call('SADD', KEYS[3], ARGV[4])
  redis.call('PEXPIRE', KEYS[3], ARGV[5])
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {'reserved', ''}`;

/**
 * Reserves a stream before its camera is requested: one request at a time for a channel. `full`: the account of the
 * request has `maxStreams` other streams already, counted over all replicas.
 */
export async function reserveStream(
  redis: Redis,
  id: StreamId,
  request: StreamRequest,
  maxStreams?: number,
): Promise<
  | { state: 'reserved' }
  | { state: 'full' }
  | { state: 'streaming'; claim: StreamClaim }
  | { state: 'requested'; request: StreamRequest }
> {
  const { accountId } = request;
  const limit = accountId === undefined || maxStreams === undefined ? '' : String(maxStreams);
  const [state, text] = (await redis.eval(reserveScript, {
    keys: [streamKey(id), requestKey(id), accountKey(accountId ?? 0)],
    arguments: [JSON.stringify(request), String(requestTtlMs), limit, streamSuffix(id), String(accountTtlMs)],
  })) as ['reserved' | 'full' | 'streaming' | 'requested', string];
  if (state === 'streaming') return { state, claim: JSON.parse(text) as StreamClaim };
  if (state === 'requested') return { state, request: JSON.parse(text) as StreamRequest };
  return { state };
}

// KEYS 1 request. ARGV 1 request id, 2 ttl.
const renewRequestScript = `
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local request = cjson.decode(text)
if request.requestId ~= ARGV[1] or request.status ~= 'asking' then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/**
 * Renews a request while its camera has not responded; repeat it every few seconds. Returns false if the request is not
 * pending any more.
 */
export async function renewStreamRequest(redis: Redis, id: StreamId, requestId: string): Promise<boolean> {
  const renewed = await redis.eval(renewRequestScript, {
    keys: [requestKey(id)],
    arguments: [requestId, String(requestTtlMs)],
  });
  return renewed === 1;
}

/**
 * Returns the number of a device's channels with live or recorded video or a request for it, from one round trip for
 * all 256.
 */
export async function countStreamingChannels(redis: Redis, imei: string): Promise<number> {
  const channelKeys = (channel: number): string[] =>
    (['live', 'history'] as const).flatMap((kind) => [
      streamKey({ kind, imei, channel }),
      requestKey({ kind, imei, channel }),
    ]);
  const values = await redis.mGet(Array.from({ length: 256 }, (_unused, channel) => channelKeys(channel)).flat());
  const channels = new Set<number>();
  for (const [index, value] of values.entries()) if (value !== null) channels.add(Math.floor(index / 4));
  return channels.size;
}

// KEYS 1 request, 2 due. ARGV 1 request id, 2 ttl, 3 due time, 4 member.
const acknowledgeScript = `
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local request = cjson.decode(text)
if request.requestId ~= ARGV[1] then return 0 end
request.status = 'acknowledged'
redis.call('SET', KEYS[1], cjson.encode(request), 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[4])
return 1`;

/**
 * Marks a request as acknowledged: the channel counts as streaming, and its first packet is due. Returns false if the
 * camera has already connected.
 */
export async function acknowledgeStream(redis: Redis, id: StreamId, requestId: string): Promise<boolean> {
  const removed = await redis.eval(acknowledgeScript, {
    keys: [requestKey(id), dueKey],
    arguments: [
      requestId,
      String(acknowledgedRequestTtlMs),
      String(Date.now() + firstPacketTimeoutMs),
      streamSuffix(id),
    ],
  });
  return removed === 1;
}

// KEYS 1 request, 2 due. ARGV 1 request id or '', 2 member.
const cancelRequestScript = `
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
if ARGV[1] ~= '' and cjson.decode(text).requestId ~= ARGV[1] then return 0 end
redis.call('ZREM', KEYS[2], ARGV[2])
return redis.call('DEL', KEYS[1])`;

/**
 * Cancels a request (the camera refused or did not respond, or the stream was stopped early). Without `requestId` it
 * cancels the current one.
 */
export async function cancelStreamRequest(redis: Redis, id: StreamId, requestId = ''): Promise<boolean> {
  return (
    (await redis.eval(cancelRequestScript, {
      keys: [requestKey(id), dueKey],
      arguments: [requestId, streamSuffix(id)],
    })) === 1
  );
}

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

// KEYS 1 stream, 2 expiring. ARGV 1 generation, 2 member.
const releaseScript = `
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).generation ~= tonumber(ARGV[1]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[2])
return redis.call('DEL', KEYS[1])`;

/** Releases a stream; returns false if another pod owns it. */
export async function releaseStream(redis: Redis, id: StreamId, generation: number): Promise<boolean> {
  const released = await redis.eval(releaseScript, {
    keys: [streamKey(id), expiringKey],
    arguments: [String(generation), streamSuffix(id)],
  });
  return released === 1;
}

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

// KEYS 1 request, 2 due. ARGV 1 member, 2 now. 1: the request was overdue and is deleted.
const popTimedOutScript = `
local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not due or tonumber(due) > tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
local text = redis.call('GET', KEYS[1])
if not text or cjson.decode(text).status ~= 'acknowledged' then return 0 end
return redis.call('DEL', KEYS[1])`;

/**
 * Removes and returns the acknowledged streams whose first packet is overdue, each to one caller only, and deletes
 * their requests. Excludes streams whose camera connected, that were stopped, or that are requested again.
 */
export async function popTimedOutStreams(redis: Redis, nowMs = Date.now()): Promise<StreamId[]> {
  const members = await redis.zRangeByScore(dueKey, 0, nowMs, { LIMIT: { offset: 0, count: 100 } });
  const popped: StreamId[] = [];
  for (const member of members) {
    const id = parseSuffix(member);
    const removed = await redis.eval(popTimedOutScript, {
      keys: [requestKey(id), dueKey],
      arguments: [member, String(nowMs)],
    });
    if (removed === 1) popped.push(id);
  }
  return popped;
}
