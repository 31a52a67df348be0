import type { Redis } from './redis.ts';

/** What Redis says of a terminal's session. Key `device:<imei>`, imei being the canonical number. */
export interface DeviceState {
  /** Unique for each session. */
  readonly sessionId: string;
  /** Rises with every claim (milliseconds of the Redis clock; cjson keeps 14 digits): a session is only ever replaced by a newer one. */
  readonly generation: number;
  /** Gateway pod that holds the session. */
  readonly podId: string;
  /** Number as the terminal sends it, 12 or 20 digits. */
  readonly phone: string;
  readonly edition: '2011' | '2013' | '2019';
  readonly onlineSinceMs: number;
  readonly lastSeenMs: number;
  readonly remoteAddress: string;
}

const deviceKey = (imei: string): string => `device:${imei}`;
const seenKey = (imei: string): string => `device-seen:${imei}`;
const gatewayKey = (podId: string): string => `gateway:${podId}`;
/** Exists while a terminal that its gateway disconnected may come back. */
const returningKey = (imei: string): string => `device-returning:${imei}`;
/** Outlives the gateway: the age of its last heartbeat says when the gateway died. */
const lastHeartbeatKey = (podId: string): string => `gateway-heartbeat:${podId}`;

/** A gateway that has not said for this long that it lives is dead, and its devices with it. */
export const gatewayTtlMs = 10_000;
/** How long it is remembered that a gateway died or disconnected a terminal; longer than any caller waits. */
const returnTtlMs = 150_000;
/** Upper bound of a state that nobody deletes: its pod's own key decides much earlier. */
const deviceTtlMs = 24 * 3600 * 1000;
/** How long the last-seen time of a terminal outlives its session. */
export const seenTtlMs = 400 * 24 * 3600 * 1000;
/** Keys in one round trip. */
const readBatchSize = 500;

/** Lua function that saves a last-seen time, which never moves back. */
const saveSeenFunction = `
local function saveSeen(key, seenMs, ttlMs)
  local known = tonumber(redis.call('GET', key) or '0')
  if tonumber(seenMs) > known then redis.call('SET', key, string.format('%.0f', tonumber(seenMs)), 'PX', ttlMs) end
end`;

// KEYS 1 device, 2 returning, 3 last seen. ARGV 1 state without generation, 2 known generation or 0, 3 ttl, 4 ttl of last seen.
// Returns {generation, previous state or ''}; generation 0: refused.
const claimScript = `${saveSeenFunction}
local current = redis.call('GET', KEYS[1])
local known = current and cjson.decode(current)
local generation = tonumber(ARGV[2])
if generation == 0 then
  local time = redis.call('TIME')
  generation = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  if known and known.generation >= generation then generation = known.generation + 1 end
end
local previous = ''
if current then
  if known.generation > generation then return {'0', current} end
  previous = current
end
local state = cjson.decode(ARGV[1])
saveSeen(KEYS[3], state.lastSeenMs, ARGV[4])
state.generation = generation
redis.call('SET', KEYS[1], cjson.encode(state), 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return {string.format('%.0f', generation), previous}`;

// KEYS 1 device, 2 returning, 3 last seen. ARGV 1 session id, 2 ttl of the second key or 0, 3 when it was last heard, 4 ttl of that.
// Deletes the state when it is this session's.
const releaseScript = `${saveSeenFunction}
saveSeen(KEYS[3], ARGV[3], ARGV[4])
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).sessionId ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then redis.call('DEL', KEYS[2]) else redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) end
return redis.call('DEL', KEYS[1])`;

/**
 * Puts a session into Redis. `generation` 0 asks for a new one (a terminal has just authenticated); a known one re-announces (Redis was emptied, or the
 * last-seen time moved). `generation` 0 in the answer means that a newer session holds the terminal: `previous` is that one. Otherwise `previous` is the
 * session that was replaced, if any, which its pod has to be told.
 */
export async function claimDevice(
  redis: Redis,
  imei: string,
  state: Omit<DeviceState, 'generation'>,
  generation = 0,
): Promise<{ generation: number; previous: DeviceState | undefined }> {
  const reply = (await redis.eval(claimScript, {
    keys: [deviceKey(imei), returningKey(imei), seenKey(imei)],
    arguments: [JSON.stringify(state), String(generation), String(deviceTtlMs), String(seenTtlMs)],
  })) as [string, string];
  return {
    generation: Number(reply[0]),
    previous: reply[1] === '' ? undefined : (JSON.parse(reply[1]) as DeviceState),
  };
}

/** How a session ended. */
export interface SessionEnd {
  /** When the terminal was last heard. */
  readonly lastSeenMs?: number;
  /** True when the gateway ended the session, so that the terminal connects again. */
  readonly isReturning?: boolean;
}

/** Removes a session from Redis, unless a newer one has replaced it. The last-seen time of the terminal stays. */
export async function releaseDevice(
  redis: Redis,
  imei: string,
  sessionId: string,
  { lastSeenMs = 0, isReturning = false }: SessionEnd = {},
): Promise<void> {
  const returningTtlMs = isReturning ? returnTtlMs : 0;
  await redis.eval(releaseScript, {
    keys: [deviceKey(imei), returningKey(imei), seenKey(imei)],
    arguments: [sessionId, String(returningTtlMs), String(lastSeenMs), String(seenTtlMs)],
  });
}

/** Returns when a terminal was last heard in any of its sessions, or null if that is not known. */
export async function readLastSeenMs(redis: Redis, imei: string): Promise<number | null> {
  const text = await redis.get(seenKey(imei));
  return text === null ? null : Number(text);
}

/**
 * Says that a gateway pod lives; to be repeated well within `gatewayTtlMs`. False when nothing stood there: the first time, and after Redis was emptied,
 * when all sessions have to be announced again.
 */
export async function heartbeatGateway(redis: Redis, podId: string): Promise<boolean> {
  const now = String(Date.now());
  const [previous] = await Promise.all([
    redis.set(gatewayKey(podId), now, { expiration: { type: 'PX', value: gatewayTtlMs }, GET: true }),
    redis.set(lastHeartbeatKey(podId), now, { expiration: { type: 'PX', value: returnTtlMs } }),
  ]);
  return previous !== null;
}

/** Says that a gateway pod is gone, at its clean stop. */
export async function deregisterGateway(redis: Redis, podId: string): Promise<void> {
  await redis.del(gatewayKey(podId));
}

/** The session of a terminal, or null when it has none on a gateway that lives. Throws when Redis can not be read. */
export async function readDevice(redis: Redis, imei: string): Promise<DeviceState | null> {
  const text = await redis.get(deviceKey(imei));
  if (text === null) return null;
  const state = JSON.parse(text) as DeviceState;
  return (await redis.exists(gatewayKey(state.podId))) === 1 ? state : null;
}

/**
 * Returns true for a terminal that has a session, or that lost it with its gateway within the last `withinMs`: that one is expected to connect again. A terminal whose
 * session ended by itself is not expected. Throws when Redis can not be read.
 */
export async function isDeviceExpected(redis: Redis, imei: string, withinMs: number): Promise<boolean> {
  const [text, returningTtlMs] = await Promise.all([redis.get(deviceKey(imei)), redis.pTTL(returningKey(imei))]);
  if (text === null) return isYoungerThan(returningTtlMs, withinMs);
  const { podId } = JSON.parse(text) as DeviceState;
  const [isAlive, heartbeatTtlMs] = await Promise.all([
    redis.exists(gatewayKey(podId)),
    redis.pTTL(lastHeartbeatKey(podId)),
  ]);
  return isAlive === 1 || isYoungerThan(heartbeatTtlMs, withinMs);
}

/** The age of a key by what is left of its time to live, which is negative without the key. */
const isYoungerThan = (ttlMs: number, withinMs: number): boolean => ttlMs >= 0 && returnTtlMs - ttlMs <= withinMs;

/** The sessions of many terminals, by canonical number; those without a session on a gateway that lives are left out. */
export async function readDevices(redis: Redis, imeis: readonly string[]): Promise<Map<string, DeviceState>> {
  const states = new Map<string, DeviceState>();
  for (let offset = 0; offset < imeis.length; offset += readBatchSize) {
    const batch = imeis.slice(offset, offset + readBatchSize);
    const texts = await redis.mGet(batch.map(deviceKey));
    for (const [index, text] of texts.entries())
      if (text !== null) states.set(batch[index] ?? '', JSON.parse(text) as DeviceState);
  }
  const pods = [...new Set([...states.values()].map(({ podId }) => podId))];
  if (pods.length === 0) return states;
  const alive = await redis.mGet(pods.map(gatewayKey));
  const dead = new Set(pods.filter((_pod, index) => alive[index] === null));
  for (const [imei, { podId }] of states) if (dead.has(podId)) states.delete(imei);
  return states;
}
