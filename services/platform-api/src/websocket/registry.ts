import { connectionsDisplaced, publish, subscribe } from '@fleet/bus';
import type { Deps } from '../platform/deps.ts';

type Parts = Pick<Deps, 'bus' | 'redis' | 'log'>;

/** Connections of a user on all replicas. */
export const maxConnections = 10;
/** Heartbeat interval of a connection. */
export const refreshMs = 30_000;
/** Connections of a dead replica expire after this. */
const forgottenAfterMs = 3 * refreshMs;

/**
 * Registers a connection, and removes the oldest ones above the limit. KEYS 1 hash of the user: connection id ->
 * `opened:alive`. ARGV 1 id, 2 opened ms, 3 limit, 4 ms without a heartbeat. Returns the removed ids.
 */
const noteScript = `
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

const keyOf = (userId: number): string => `websocket-connections:${userId}`;

/** A connection in the registry. */
export interface Counted {
  readonly id: string;
  readonly userId: number;
  readonly openedMs: number;
  /** It must give way to a newer one of its user. */
  displace(): void;
}

/** Counts the connections of each user on all replicas; each process counts alone while Redis is unavailable. */
export class ConnectionRegistry {
  readonly #parts: Parts;
  readonly #byId = new Map<string, Counted>();
  readonly #byUser = new Map<number, Set<Counted>>();
  readonly #heard: { stop(): void };

  constructor(parts: Parts) {
    this.#parts = parts;
    const onError = (error: unknown): void => parts.log.warn({ err: error }, 'invalid list of connections');
    this.#heard = subscribe(parts.bus, connectionsDisplaced, onError, ({ connectionIds }) =>
      this.#displaceHere(connectionIds),
    );
  }

  async add(connection: Counted): Promise<void> {
    const ofUser = this.#byUser.get(connection.userId) ?? new Set();
    this.#byUser.set(connection.userId, ofUser.add(connection));
    this.#byId.set(connection.id, connection);
    // Those of this process are in order of opening.
    for (const oldest of [...ofUser].slice(0, Math.max(0, ofUser.size - maxConnections))) this.#displace(oldest);
    await this.refresh(connection);
  }

  /** Registers or renews a connection. */
  async refresh({ id, userId, openedMs }: Counted): Promise<void> {
    try {
      const gone = await this.#parts.redis.eval(noteScript, {
        keys: [keyOf(userId)],
        arguments: [id, String(openedMs), String(maxConnections), String(forgottenAfterMs)],
      });
      // It may have been closed in the meantime.
      if (!this.#byId.has(id)) await this.#parts.redis.hDel(keyOf(userId), id);
      const connectionIds = (gone as string[]).filter((one) => !this.#displaceHere([one]));
      if (connectionIds.length > 0) publish(this.#parts.bus, connectionsDisplaced, { connectionIds });
    } catch (error) {
      this.#parts.log.warn({ err: error, userId }, 'could not count the connections of a user on all replicas');
    }
  }

  remove({ id, userId }: Counted): void {
    const known = this.#byId.get(id);
    if (known === undefined) return;
    this.#byId.delete(id);
    const ofUser = this.#byUser.get(userId);
    ofUser?.delete(known);
    if (ofUser?.size === 0) this.#byUser.delete(userId);
    // Otherwise it expires.
    if (this.#parts.redis.isReady) this.#parts.redis.hDel(keyOf(userId), id).catch(() => undefined);
  }

  stop(): void {
    this.#heard.stop();
  }

  /** Returns true if all of them were in this process. */
  #displaceHere(ids: readonly string[]): boolean {
    const here = ids.flatMap((id) => this.#byId.get(id) ?? []);
    for (const connection of here) this.#displace(connection);
    return here.length === ids.length;
  }

  #displace(connection: Counted): void {
    this.remove(connection);
    connection.displace();
  }
}
