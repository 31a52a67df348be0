import { dayMs } from '@fleet/service-kit';
import type { Redis } from './redis.ts';
import { accountKey, dueKey, parseSuffix, requestKey, streamKey, streamSuffix } from './stream-keys.ts';
import type { StreamClaim, StreamId, StreamRequest } from './stream-state.ts';

/** An acknowledged stream without a packet for this long is stopped. */
export const firstPacketTimeoutMs = 30_000;
/** A request expires without renewal for this long: a killed process must not block a channel for the whole wait. */
const requestTtlMs = 6_000;
/** Acknowledged requests outlive their due time a little, for the job that stops them. */
const acknowledgedRequestTtlMs = firstPacketTimeoutMs + 15_000;
const accountTtlMs = 30 * dayMs;

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
