import { connectionsDisplaced, publish, subscribe } from '@fleet/bus';
import type { Deps } from '../platform/deps.ts';

type RegistryDeps = Pick<Deps, 'bus' | 'redis' | 'log'>;

/** Connections of a user on all replicas. */
export const maxConnectionsPerUser = 10;
/** Heartbeat interval of a connection. */
export const refreshIntervalMs = 30_000;
/** Connections of a dead replica expire after this. */
const expireAfterMs = 3 * refreshIntervalMs;

/**
 * Registers a connection, and removes the oldest ones above the limit. KEYS 1 hash of the user: connection id ->
 * `opened:alive`. ARGV 1 id, 2 opened ms, 3 limit, 4 ms without a heartbeat. Returns the removed ids.
 */
const registerScript = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ':' .. string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local all = redis.call('HGETALL', KEYS[1])
local open = {}
for i = 1, #all, 2 do
  local opened, alive = string.match(all[i + 1], '^(%d+):(%d+)$')
  if opened == nil or now - tonumber(alive) > tonumber(ARGV[4]) then redis.call('HDEL', KEYS[1], all[i])
  else table.insert(open, {all[i], tonumber(opened)}) end
end
table.sort(open, function(a, b) if a[2] == b[2] then return a[1] < b[1] end return a[2] < b[2] end)
local gone = {}
for i = 1, #open - tonumber(ARGV[3]) do
  redis.call('HDEL', KEYS[1], open[i][1])
  table.insert(gone, open[i][1])
end
return gone`;

const redisKey = (userId: number): string => `websocket-connections:${userId}`;

/** A connection in the registry. */
export interface RegisteredConnection {
  readonly id: string;
  readonly userId: number;
  readonly openedMs: number;
  /** It must give way to a newer one of its user. */
  displace(): void;
}

/** Counts the connections of each user on all replicas; each process counts alone while Redis is unavailable. */
export class ConnectionRegistry {
  readonly #deps: RegistryDeps;
  readonly #byId = new Map<string, RegisteredConnection>();
  readonly #byUser = new Map<number, Set<RegisteredConnection>>();
  readonly #subscription: { stop(): void };

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
    const onError = (error: unknown): void => deps.log.warn({ err: error }, 'invalid list of connections');
    this.#subscription = subscribe(deps.bus, connectionsDisplaced, onError, ({ connectionIds }) =>
      this.#displaceHere(connectionIds),
    );
  }

  async add(connection: RegisteredConnection): Promise<void> {
    const ofUser = this.#byUser.get(connection.userId) ?? new Set();
    this.#byUser.set(connection.userId, ofUser.add(connection));
    this.#byId.set(connection.id, connection);
    // Those of this process are in order of opening.
    for (const oldest of [...ofUser].slice(0, Math.max(0, ofUser.size - maxConnectionsPerUser))) this.#displace(oldest);
    await this.refresh(connection);
  }

  /** Registers or renews a connection. */
  async refresh({ id, userId, openedMs }: RegisteredConnection): Promise<void> {
    try {
      const displacedIds = await this.#deps.redis.eval(registerScript, {
        keys: [redisKey(userId)],
        arguments: [id, String(openedMs), String(maxConnectionsPerUser), String(expireAfterMs)],
      });
      // It may have been closed in the meantime.
      if (!this.#byId.has(id)) await this.#deps.redis.hDel(redisKey(userId), id);
      const connectionIds = (displacedIds as string[]).filter((id) => !this.#displaceHere([id]));
      if (connectionIds.length > 0) publish(this.#deps.bus, connectionsDisplaced, { connectionIds });
    } catch (error) {
      this.#deps.log.warn({ err: error, userId }, 'could not count the connections of a user on all replicas');
    }
  }

  remove({ id, userId }: RegisteredConnection): void {
    const known = this.#byId.get(id);
    if (known === undefined) return;
    this.#byId.delete(id);
    const ofUser = this.#byUser.get(userId);
    ofUser?.delete(known);
    if (ofUser?.size === 0) this.#byUser.delete(userId);
    // Otherwise it expires.
    if (this.#deps.redis.isReady) this.#deps.redis.hDel(redisKey(userId), id).catch(() => undefined);
  }

  stop(): void {
    this.#subscription.stop();
  }

  /** Returns true if all of them were in this process. */
  #displaceHere(ids: readonly string[]): boolean {
    const here = ids.flatMap((id) => this.#byId.get(id) ?? []);
    for (const connection of here) this.#displace(connection);
    return here.length === ids.length;
  }

  #displace(connection: RegisteredConnection): void {
    this.remove(connection);
    connection.displace();
  }
}
