import type { Redis } from './redis.ts';

/** Live and recorded video of one channel are two streams: their cameras dial different ports. */
export type StreamKind = 'live' | 'history';

/** Names one stream. `imei` is the canonical number. */
export interface StreamId {
  readonly kind: StreamKind;
  readonly imei: string;
  readonly channel: number;
}

/** What was asked of a camera. Key `stream-request:<kind>:<imei>:<channel>`; it stands until the camera connects, refuses, or time ends. */
export interface StreamRequest {
  /** Unique for each request, so that only its maker takes it back. */
  readonly requestId: string;
  /** asking: the command is on its way. acknowledged: the camera said yes, the channel counts as streaming. */
  readonly status: 'asking' | 'acknowledged';
  readonly dataType: number;
  readonly streamType: number;
  /** Recordings: `arrival` when it begins at a speed other than 1, backwards or in leaps; the device's clock otherwise. */
  readonly pace?: 'device' | 'arrival';
  /** True when the camera was sent to a media server that is not ours: no packet will come here. */
  readonly isForeign: boolean;
  readonly requestedAtMs: number;
  readonly correlationId: string;
}

/** Which media pod has a stream. Key `stream:<kind>:<imei>:<channel>`, kept alive by its owner. */
export interface StreamClaim {
  readonly podId: string;
  /** Base URL of the owner's FLV server, as other services reach it. */
  readonly url: string;
  /** Rises with every claim (milliseconds of the Redis clock; cjson keeps 14 digits): a later one wins, so that a dying pod cannot hide a live one. */
  readonly generation: number;
  readonly startedAtMs: number;
  readonly request: StreamRequest | null;
}

/** A claim that its owner has not renewed for this long is void. */
export const streamTtlMs = 10_000;
/** An acknowledged stream without a packet after this time is ended. */
export const firstPacketTimeoutMs = 30_000;
/** A request whose maker has not renewed it for this long is void: a killed process must not hold a channel for the whole wait. */
const requestTtlMs = 10_000;
/** Acknowledged requests outlive their due time a little: the sweep that ends them needs to see them. */
const acknowledgedRequestTtlMs = firstPacketTimeoutMs + 15_000;

const streamSuffix = (id: StreamId): string => `${id.kind}:${id.imei}:${id.channel}`;
const streamKey = (id: StreamId): string => `stream:${streamSuffix(id)}`;
const requestKey = (id: StreamId): string => `stream-request:${streamSuffix(id)}`;
/** Sorted set of the streams that wait for their first packet, by the time at which that wait ends. */
const dueKey = 'stream-requests:due';
/** Sorted set of the claimed streams, by the time at which their claims are void: a pod that is killed gives nothing up itself. */
const expiringKey = 'streams:expiring';

/** The stream of which `suffix` was made. */
function parseSuffix(member: string): StreamId {
  const [kind, imei = '', channel] = member.split(':');
  return { kind: kind === 'history' ? 'history' : 'live', imei, channel: Number(channel) };
}

const parseJson = (text: string | null | undefined): unknown =>
  text === null || text === undefined || text === '' ? null : JSON.parse(text);

/** What is known of a stream: its claim (packets arrive), else its request. Throws when Redis can not be read. */
export async function readStream(
  redis: Redis,
  id: StreamId,
): Promise<{ claim: StreamClaim | null; request: StreamRequest | null }> {
  const [claim, request] = await redis.mGet([streamKey(id), requestKey(id)]);
  return { claim: parseJson(claim) as StreamClaim | null, request: parseJson(request) as StreamRequest | null };
}

// KEYS 1 stream, 2 request. ARGV 1 request, 2 ttl. Answers what stood in the way, or ''.
const reserveScript = `
local claim = redis.call('GET', KEYS[1])
if claim then return {'streaming', claim} end
local request = redis.call('GET', KEYS[2])
if request then return {'requested', request} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {'reserved', ''}`;

/** Reserves a stream before its camera is asked: one request at a time for a channel. */
export async function reserveStream(
  redis: Redis,
  id: StreamId,
  request: StreamRequest,
): Promise<
  { state: 'reserved' } | { state: 'streaming'; claim: StreamClaim } | { state: 'requested'; request: StreamRequest }
> {
  const [state, text] = (await redis.eval(reserveScript, {
    keys: [streamKey(id), requestKey(id)],
    arguments: [JSON.stringify(request), String(requestTtlMs)],
  })) as ['reserved' | 'streaming' | 'requested', string];
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

/** Renews a request whose camera has not answered yet, to be repeated every few seconds; false when it stands no more as such. */
export async function renewStreamRequest(redis: Redis, id: StreamId, requestId: string): Promise<boolean> {
  const renewed = await redis.eval(renewRequestScript, {
    keys: [requestKey(id)],
    arguments: [requestId, String(requestTtlMs)],
  });
  return renewed === 1;
}

/** Number of a device's channels with a stream or a request of either kind: all 256 are looked at in one round trip. */
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

/** The camera said yes: the channel counts as streaming from now, and its first packet is due. False when the camera was faster and has connected. */
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

/** Takes a request back (the camera refused, did not answer, or the stream was stopped before its first packet); without `requestId` whichever stands. */
export async function cancelStreamRequest(redis: Redis, id: StreamId, requestId = ''): Promise<boolean> {
  return (
    (await redis.eval(cancelRequestScript, {
      keys: [requestKey(id), dueKey],
      arguments: [requestId, streamSuffix(id)],
    })) === 1
  );
}

// KEYS 1 stream, 2 request, 3 due, 4 expiring. ARGV 1 claim without generation and request, 2 ttl, 3 member, 4 '1' to accept what nobody asked for.
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
 * A camera's connection has landed on this pod: claims the stream when it was asked for or is running (a camera that reconnects). Null: nobody asked, close
 * the connection. `previous` is the claim that was replaced.
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
 * Renews a claim; to be repeated well within `streamTtlMs`. `restored`: it was void, or Redis was emptied, and holds again; others may have been told that the
 * stream had ended. `lost`: another pod has taken the stream over.
 */
export async function renewStreamClaim(
  redis: Redis,
  id: StreamId,
  claim: StreamClaim,
): Promise<'kept' | 'restored' | 'lost'> {
  return (await redis.eval(renewClaimScript, {
    keys: [streamKey(id), expiringKey],
    arguments: [JSON.stringify(claim), String(streamTtlMs), streamSuffix(id)],
  })) as 'kept' | 'restored' | 'lost';
}

// KEYS 1 stream, 2 expiring. ARGV 1 generation, 2 member.
const releaseScript = `
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).generation ~= tonumber(ARGV[1]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[2])
return redis.call('DEL', KEYS[1])`;

/** Gives a stream up; false when it was another's by then. */
export async function releaseStream(redis: Redis, id: StreamId, generation: number): Promise<boolean> {
  const released = await redis.eval(releaseScript, {
    keys: [streamKey(id), expiringKey],
    arguments: [String(generation), streamSuffix(id)],
  });
  return released === 1;
}

// KEYS 1 stream, 2 expiring. ARGV 1 member. 1: the claim is void, and no longer listed.
const popOrphanedScript = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])`;

/** Takes the streams whose claim was neither renewed nor given up, as their pod has died; each by one caller only. */
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

// KEYS 1 request, 2 due. ARGV 1 member, 2 now. 1: the request was overdue, and is gone.
const popTimedOutScript = `
local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not due or tonumber(due) > tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
local text = redis.call('GET', KEYS[1])
if not text or cjson.decode(text).status ~= 'acknowledged' then return 0 end
return redis.call('DEL', KEYS[1])`;

/**
 * Takes the acknowledged streams whose first packet is overdue, each by one caller only; their requests are gone with it. Those whose camera has connected,
 * that were stopped, or that are being asked for anew are none of them.
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
