import { addAccountStream, removeAccountStream, renewAccountStream } from './account-streams.ts';
import { removeDueMember, takeDueMembers } from './due-members.ts';
import { readStream } from './read-streams.ts';
import type { Redis } from './redis.ts';
import { dueKey, requestKey, streamKey, streamMember } from './stream-keys.ts';
import type { StreamClaim, StreamId, StreamRequest } from './stream-state.ts';

/** An acknowledged stream without a packet for this long is stopped. */
export const firstPacketTimeoutMs = 30_000;
/** A request expires without renewal for this long: a killed process must not block a channel for the whole wait. */
const requestTtlMs = 6_000;
/** Acknowledged requests outlive their due time a little, for the job that stops them. */
const acknowledgedRequestTtlMs = firstPacketTimeoutMs + 15_000;

// KEYS 1 stream, 2 request. ARGV 1 request, 2 ttl. Returns what prevented the reservation, or ''.
const reserveScript = `
local claim = redis.call('GET', KEYS[1])
if claim then return {'streaming', claim} end
local request = redis.call('GET', KEYS[2])
if request then return {'requested', request} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {'reserved', ''}`;

/** Result of a reservation. */
type Reservation =
  | { readonly state: 'reserved' }
  | { readonly state: 'full' }
  | { readonly state: 'streaming'; readonly claim: StreamClaim }
  | { readonly state: 'requested'; readonly request: StreamRequest };

/**
 * Reserves a stream before its camera is requested: one request at a time for a channel. `full`: the account of the
 * request has `maxStreams` other streams already, counted over all replicas.
 */
export async function reserveStream(
  redis: Redis,
  id: StreamId,
  request: StreamRequest,
  maxStreams?: number,
): Promise<Reservation> {
  const { accountId } = request;
  if (accountId === undefined || maxStreams === undefined) return setRequest(redis, id, request);
  const { claim, request: earlier } = await readStream(redis, id);
  if (claim !== null) return { state: 'streaming', claim };
  if (earlier !== null) return { state: 'requested', request: earlier };
  // Without a request that renews it, the stream is counted for a few seconds.
  if (!(await addAccountStream(redis, accountId, id, { maxStreams, ttlMs: requestTtlMs }))) return { state: 'full' };
  return setRequest(redis, id, request);
}

async function setRequest(redis: Redis, id: StreamId, request: StreamRequest): Promise<Reservation> {
  const [state, text] = (await redis.eval(reserveScript, {
    keys: [streamKey(id), requestKey(id)],
    arguments: [JSON.stringify(request), String(requestTtlMs)],
  })) as ['reserved' | 'streaming' | 'requested', string];
  if (state === 'streaming') return { state, claim: JSON.parse(text) as StreamClaim };
  if (state === 'requested') return { state, request: JSON.parse(text) as StreamRequest };
  return { state };
}

/** Lua function that returns the account of a request. */
const accountFunction = `
local function accountOf(request) return request.accountId and string.format('%.0f', request.accountId) or '' end`;

/** Returns the account that a script returned, `''` if the request has none. */
const parseAccount = (reply: unknown): number | undefined => (reply === '' ? undefined : Number(reply));

// KEYS 1 request. ARGV 1 request id, 2 ttl. Returns the account, or nothing.
const renewRequestScript = `${accountFunction}
local text = redis.call('GET', KEYS[1])
if not text then return end
local request = cjson.decode(text)
if request.requestId ~= ARGV[1] or request.status ~= 'asking' then return end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return accountOf(request)`;

/**
 * Renews a request while its camera has not responded; repeat it every few seconds. Returns false if the request is not
 * pending any more.
 */
export async function renewStreamRequest(redis: Redis, id: StreamId, requestId: string): Promise<boolean> {
  const account = await redis.eval(renewRequestScript, {
    keys: [requestKey(id)],
    arguments: [requestId, String(requestTtlMs)],
  });
  if (account === null) return false;
  await renewAccountStream(redis, parseAccount(account), id, requestTtlMs);
  return true;
}

// KEYS 1 request. ARGV 1 request id, 2 ttl, 3 due time. Returns the account, or nothing.
const acknowledgeScript = `${accountFunction}
local text = redis.call('GET', KEYS[1])
if not text then return end
local request = cjson.decode(text)
if request.requestId ~= ARGV[1] then return end
request.status = 'acknowledged'
request.firstPacketDueMs = tonumber(ARGV[3])
redis.call('SET', KEYS[1], cjson.encode(request), 'PX', ARGV[2])
return accountOf(request)`;

/**
 * Marks a request as acknowledged: the channel counts as streaming, and its first packet is due. Returns false if the
 * camera has already connected.
 */
export async function acknowledgeStream(redis: Redis, id: StreamId, requestId: string): Promise<boolean> {
  const dueMs = Date.now() + firstPacketTimeoutMs;
  await redis.zAdd(dueKey, { score: dueMs, value: streamMember(id) });
  const account = await redis.eval(acknowledgeScript, {
    keys: [requestKey(id)],
    arguments: [requestId, String(acknowledgedRequestTtlMs), String(dueMs)],
  });
  if (account === null) return false;
  await renewAccountStream(redis, parseAccount(account), id, firstPacketTimeoutMs);
  return true;
}

// KEYS 1 request. ARGV 1 request id or ''. Returns the account, or nothing.
const cancelRequestScript = `${accountFunction}
local text = redis.call('GET', KEYS[1])
if not text then return end
local request = cjson.decode(text)
if ARGV[1] ~= '' and request.requestId ~= ARGV[1] then return end
redis.call('DEL', KEYS[1])
return accountOf(request)`;

/**
 * Cancels a request (the camera refused or did not respond, or the stream was stopped early). Without `requestId` it
 * cancels the current one.
 */
export async function cancelStreamRequest(redis: Redis, id: StreamId, requestId = ''): Promise<boolean> {
  const account = await redis.eval(cancelRequestScript, { keys: [requestKey(id)], arguments: [requestId] });
  if (account === null) return false;
  await removeAccountStream(redis, parseAccount(account), id);
  return true;
}

// KEYS 1 request. ARGV 1 now. Deletes a request that was acknowledged and is overdue.
const deleteOverdueScript = `
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local request = cjson.decode(text)
if request.status ~= 'acknowledged' or (request.firstPacketDueMs or math.huge) > tonumber(ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1])`;

/**
 * Removes and returns the acknowledged streams whose first packet is overdue, each to one caller only, and deletes
 * their requests. Excludes streams whose camera connected, that were stopped, or that are requested again.
 */
export const popTimedOutStreams = (redis: Redis, nowMs = Date.now()): Promise<StreamId[]> =>
  takeDueMembers(redis, dueKey, nowMs, async (id, member) => {
    // The next call removes the member, so that a failure to remove it does not lose the stream.
    if ((await redis.eval(deleteOverdueScript, { keys: [requestKey(id)], arguments: [String(nowMs)] })) === 1)
      return id;
    await removeDueMember(redis, dueKey, member, nowMs);
    return undefined;
  });
