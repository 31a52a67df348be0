import { dayMs } from '@fleet/service-kit';
import type { Redis } from './redis.ts';

/** State of a terminal's session in Redis. Key `device:{<imei>}`; imei is the canonical number. */
export interface DeviceState {
  /** Unique for each session. */
  readonly sessionId: string;
  /**
   * Rises with every claim (milliseconds of the Redis clock; cjson keeps 14 digits): only a newer session replaces a
   * session.
   */
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

// All keys of one terminal are in one slot of a cluster.
const deviceKey = (imei: string): string => `device:{${imei}}`;
const seenKey = (imei: string): string => `device-seen:{${imei}}`;
const gatewayKey = (podId: string): string => `gateway:${podId}`;
/** Exists while a terminal that its gateway disconnected may reconnect. */
const returningKey = (imei: string): string => `device-returning:{${imei}}`;
/** Outlives the gateway: the age of its last heartbeat dates the gateway's death. */
const lastHeartbeatKey = (podId: string): string => `gateway-heartbeat:${podId}`;

/** A gateway without a heartbeat for this long is dead, and its devices are disconnected. */
export const gatewayTtlMs = 10_000;
/** Time for which the death of a gateway, or a disconnection by it, is stored; longer than any caller waits. */
const returnTtlMs = 150_000;
/** Upper bound of a state that is never deleted: the heartbeat of its pod decides much earlier. */
const deviceTtlMs = dayMs;
/** How long the last-seen time of a terminal outlives its session. */
const seenTtlMs = 400 * dayMs;
/** Keys in one round trip. */
const readBatchSize = 500;

/** Lua function that saves a last-seen time, which never decreases. */
const saveSeenFunction = `
local function saveSeen(key, seenMs, ttlMs)
  local known = tonumber(redis.call('GET', key) or '0')
  if tonumber(seenMs) > known then redis.call('SET', key, string.format('%.0f', tonumber(seenMs)), 'PX', ttlMs) end
end`;

// KEYS 1 device, 2 returning, 3 last seen. ARGV 1 state without generation, 2 known generation or 0, 3 ttl, 4 ttl of
// last seen.
// Returns {generation, previous state or ''}; generation 0: rejected.
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

// KEYS 1 device, 2 returning, 3 last seen. ARGV 1 session id, 2 ttl of the second key or 0, 3 last-seen time, 4 its
// ttl.
// Deletes the state if it belongs to this session.
const releaseScript = `${saveSeenFunction}
saveSeen(KEYS[3], ARGV[3], ARGV[4])
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).sessionId ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then redis.call('DEL', KEYS[2]) else redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) end
return redis.call('DEL', KEYS[1])`;

/**
 * Stores a session in Redis. `generation` 0 requests a new one (a terminal has just authenticated). A known generation
 * publishes the session again (Redis was emptied, or the last-seen time changed). The returned `generation` is 0 if a
 * newer session holds the terminal; `previous` is that session. Otherwise `previous` is the replaced session, if any,
 * and the caller notifies its pod.
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
interface SessionEnd {
  /** Time of the terminal's last message. */
  readonly lastSeenMs?: number;
  /** True if the gateway ended the session, so that the terminal reconnects. */
  readonly isReturning?: boolean;
}

/** Removes a session from Redis, unless a newer one has replaced it. The last-seen time of the terminal remains. */
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

/** Returns the time of a terminal's last message in any session, or null if unknown. */
export async function readLastSeenMs(redis: Redis, imei: string): Promise<number | null> {
  const text = await redis.get(seenKey(imei));
  return text === null ? null : Number(text);
}

/**
 * Records a heartbeat of a gateway pod; repeat it well within `gatewayTtlMs`. Returns false without a previous
 * heartbeat: the first time, and after Redis was emptied, when all sessions must be published again.
 */
export async function heartbeatGateway(redis: Redis, podId: string): Promise<boolean> {
  const now = String(Date.now());
  const [previous] = await Promise.all([
    redis.set(gatewayKey(podId), now, { expiration: { type: 'PX', value: gatewayTtlMs }, GET: true }),
    redis.set(lastHeartbeatKey(podId), now, { expiration: { type: 'PX', value: returnTtlMs } }),
  ]);
  return previous !== null;
}

/** Deregisters a gateway pod at its graceful shutdown. */
export async function deregisterGateway(redis: Redis, podId: string): Promise<void> {
  await redis.del(gatewayKey(podId));
}

/** Returns the session of a terminal, or null without one on a live gateway. Throws if Redis cannot be read. */
export async function readDevice(redis: Redis, imei: string): Promise<DeviceState | null> {
  const text = await redis.get(deviceKey(imei));
  if (text === null) return null;
  const state = JSON.parse(text) as DeviceState;
  return (await redis.exists(gatewayKey(state.podId))) === 1 ? state : null;
}

/**
 * Returns true for a terminal that has a session, or lost it with its gateway within the last `withinMs` and is
 * expected to reconnect. A terminal that ended its session is not expected. Throws if Redis cannot be read.
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

/** Returns the age of a key from its remaining time to live, which is negative without the key. */
const isYoungerThan = (ttlMs: number, withinMs: number): boolean => ttlMs >= 0 && returnTtlMs - ttlMs <= withinMs;

/**
 * Returns the sessions of many terminals by canonical number, without those on no live gateway. The client of a cluster
 * splits `mGet` by slot.
 */
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
