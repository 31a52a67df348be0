import { configureClient, type Redis, type RedisOptions } from './redis-client.ts';
import { createClusterClient, parseClusterUrl } from './redis-cluster.ts';
import { createSentinelClient, parseSentinelUrl } from './redis-sentinel.ts';

export { pingRedis } from './ping-redis.ts';
export type { Redis } from './redis-client.ts';

/** Returns an unconnected client of a URL: of one server, of the master that sentinels name, or of a cluster. */
function configure(url: string, { name, onError }: RedisOptions): Redis {
  const sentinels = parseSentinelUrl(url);
  if (sentinels !== undefined) return createSentinelClient(sentinels, { name, onError });
  const cluster = parseClusterUrl(url);
  if (cluster !== undefined) return createClusterClient(cluster, { name, onError });
  const client = configureClient(url, name);
  client.on('error', onError);
  return client;
}

/**
 * Connects to Redis and reconnects after a loss. Resolves after the first connection; `client.isReady` is true while
 * commands work. A URL `redis+sentinel://host:port,host:port/master-name` follows the master that the sentinels name.
 * A URL `redis+cluster://host:port,host:port` uses all masters of a cluster.
 */
export async function connectRedis(url: string, options: RedisOptions): Promise<Redis> {
  const client = configure(url, options);
  await client.connect();
  return client;
}

/**
 * Creates a client like `connectRedis`, without waiting for the first connection, for services that work without Redis.
 * Commands fail immediately while disconnected.
 */
export function createRedisClient(url: string, options: RedisOptions): Redis {
  const client = configure(url, options);
  client.connect().catch(options.onError);
  return client;
}

/** Returns true if Redis has no key. */
export const isRedisEmpty = async (redis: Redis): Promise<boolean> => (await redis.dbSize()) === 0;

/** Deletes all keys of the database that the client uses. */
export async function emptyRedis(redis: Redis): Promise<void> {
  await redis.flushDb();
}
