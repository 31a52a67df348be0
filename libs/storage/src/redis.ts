import { createClient } from 'redis';

/** The Redis client of all services. */
export type Redis = ReturnType<typeof configureClient>;

const configureClient = (url: string, name: string) =>
  createClient({
    url,
    name,
    // A command during an outage fails immediately; the caller decides what unreadable state means.
    disableOfflineQueue: true,
    // Detects a half-open connection within 15 seconds; its commands would never complete.
    pingInterval: 5_000,
    socket: {
      connectTimeout: 3_000,
      socketTimeout: 15_000,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 1_000),
    },
  });

/**
 * Connects to Redis and reconnects after a loss. Resolves after the first connection. `onError` receives each failed
 * attempt; `client.isReady` is true while commands work.
 */
export async function connectRedis(
  url: string,
  options: { name: string; onError: (error: unknown) => void },
): Promise<Redis> {
  const client = configureClient(url, options.name);
  client.on('error', options.onError);
  await client.connect();
  return client;
}

/**
 * Like `openRedis`, without waiting for the first connection, for services that work without Redis. Commands fail
 * immediately while disconnected.
 */
export function createRedisClient(url: string, options: { name: string; onError: (error: unknown) => void }): Redis {
  const client = configureClient(url, options.name);
  client.on('error', options.onError);
  client.connect().catch(options.onError);
  return client;
}

/** Returns true if Redis replies within the given time. */
export async function pingRedis(redis: Redis, timeoutMs = 2_000): Promise<boolean> {
  if (!redis.isReady) return false;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([redis.ping().then(() => true), timeout]);
  } catch {
    // Unreachable is a result, not an error of the check.
    return false;
  } finally {
    clearTimeout(timer);
  }
}
