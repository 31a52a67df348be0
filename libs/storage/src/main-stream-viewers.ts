import type { Redis } from './redis.ts';
import type { StreamId } from './stream-state.ts';

/**
 * Callers and viewers who want the main stream of a live channel. Sorted set
 * `stream-main:<imei>:<channel>` by the time until which they want it: `caller:<caller>` has started it and not opened
 * it yet, `viewer:<caller>:<viewer>` has it open.
 */
const wantsKey = ({ imei, channel }: StreamId): string => `stream-main:${imei}:${channel}`;

/** A caller who has started the main stream opens it within this time. */
const startTtlMs = 30_000;
/** Age at which a start is for the viewer that its caller has open already. */
const adoptAfterMs = 5_000;
/** A viewer expires without renewal by its process for this long. */
export const mainStreamViewerTtlMs = 15_000;
/** The channel returns to the sub stream this long after its last viewer of the main stream has left. */
const returnAfterMs = 10_000;
/** Members expire by their scores; this deletes the set. */
const keyTtlMs = 60_000;

/** A viewer of a live channel. */
interface MainStreamViewer {
  readonly id: StreamId;
  /** Unique for each viewer. */
  readonly viewer: string;
  readonly caller: string;
}

const callerMember = (caller: string): string => `caller:${caller}`;
const viewerMember = ({ caller, viewer }: Omit<MainStreamViewer, 'id'>): string => `viewer:${caller}:${viewer}`;

/** Functions of the scripts: the time of Redis, because the clocks of hosts differ. */
const scriptHead = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function keep(member, ttl)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ttl)), member)
  redis.call('PEXPIRE', KEYS[1], ${keyTtlMs})
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))`;

// KEYS 1 wants. ARGV 1 caller.
const startScript = `${scriptHead}
keep(ARGV[1], ${startTtlMs})`;

/** Records that a caller starts the main stream of a channel. */
export async function startMainStream(redis: Redis, id: StreamId, caller: string): Promise<void> {
  await redis.eval(startScript, { keys: [wantsKey(id)], arguments: [callerMember(caller)] });
}

// KEYS 1 wants. ARGV 1 caller, 2 prefix of the caller's viewers. Returns the number of the others.
const leaveScript = `${scriptHead}
redis.call('ZREM', KEYS[1], ARGV[1])
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.sub(member, 1, #ARGV[2]) == ARGV[2] then redis.call('ZREM', KEYS[1], member) end
end
return redis.call('ZCARD', KEYS[1])`;

/** Records that a caller wants the sub stream instead. Returns whether others want the main stream. */
export async function leaveMainStream(redis: Redis, id: StreamId, caller: string): Promise<boolean> {
  const others = await redis.eval(leaveScript, {
    keys: [wantsKey(id)],
    arguments: [callerMember(caller), viewerMember({ caller, viewer: '' })],
  });
  return Number(others) > 0;
}

// KEYS 1 wants. ARGV 1 caller, 2 viewer, 3 '1' if the viewer's URL is of the main stream, '0' if of another, or ''.
const openScript = `${scriptHead}
local hasStarted = redis.call('ZSCORE', KEYS[1], ARGV[1])
if ARGV[3] == '0' or (ARGV[3] == '' and not hasStarted) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
keep(ARGV[2], ${mainStreamViewerTtlMs})
return 1`;

/**
 * Records a new viewer, if it wants the main stream: by its URL, or without one (`hasMainUrl` undefined) because its
 * caller has started the main stream.
 */
export async function openMainStreamViewer(
  redis: Redis,
  viewer: MainStreamViewer,
  hasMainUrl: boolean | undefined,
): Promise<void> {
  const url = hasMainUrl === undefined ? '' : hasMainUrl ? '1' : '0';
  await redis.eval(openScript, {
    keys: [wantsKey(viewer.id)],
    arguments: [callerMember(viewer.caller), viewerMember(viewer), url],
  });
}

// KEYS 1 wants. ARGV 1 caller, 2 viewer.
const renewScript = `${scriptHead}
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return keep(ARGV[2], ${mainStreamViewerTtlMs}) end
local startedUntil = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not startedUntil or tonumber(startedUntil) - now > ${startTtlMs - adoptAfterMs} then return end
redis.call('ZREM', KEYS[1], ARGV[1])
keep(ARGV[2], ${mainStreamViewerTtlMs})`;

/**
 * Renews a viewer that wants the main stream; repeat it well within `mainStreamViewerTtlMs`. A caller who has started
 * the main stream and opens no other viewer watches it with this one.
 */
export async function renewMainStreamViewer(redis: Redis, viewer: MainStreamViewer): Promise<void> {
  await redis.eval(renewScript, {
    keys: [wantsKey(viewer.id)],
    arguments: [callerMember(viewer.caller), viewerMember(viewer)],
  });
}

// KEYS 1 wants. ARGV 1 viewer.
const closeScript = `${scriptHead}
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then keep(ARGV[1], ${returnAfterMs}) end`;

/** Records that a viewer has left. */
export async function closeMainStreamViewer(redis: Redis, viewer: MainStreamViewer): Promise<void> {
  await redis.eval(closeScript, { keys: [wantsKey(viewer.id)], arguments: [viewerMember(viewer)] });
}

const countScript = `${scriptHead}
return redis.call('ZCARD', KEYS[1])`;

/** Returns whether someone wants the main stream, or has left less than ten seconds ago. */
export async function isMainStreamWanted(redis: Redis, id: StreamId): Promise<boolean> {
  return Number(await redis.eval(countScript, { keys: [wantsKey(id)], arguments: [] })) > 0;
}

/** Deletes who wanted the main stream of a channel that has ended. */
export async function deleteMainStreamViewers(redis: Redis, id: StreamId): Promise<void> {
  await redis.del(wantsKey(id));
}
