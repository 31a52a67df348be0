import { createClient } from 'redis';

/** The Redis client that all services use. */
export type Redis = ReturnType<typeof configureClient>;

const configureClient = (url: string, name: string) =>
  createClient({
    url,
    name,
    // A command during an outage fails at once; the caller decides what the state being unreadable means.
    disableOfflineQueue: true,
    // A half-open connection would leave commands without an answer: it is noticed within 15 seconds.
    pingInterval: 5_000,
    socket: {
      connectTimeout: 3_000,
      socketTimeout: 15_000,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 1_000),
    },
  });

/**
 * Connects to Redis and keeps connecting after a loss. Resolves once the first connection stands; `onError` hears of each failed attempt, and
 * `client.isReady` says whether commands work now.
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
 * Like `openRedis` without waiting for the first connection, for services that work without Redis: until it stands, and whenever it is lost, commands fail
 * at once.
 */
export function createRedisClient(url: string, options: { name: string; onError: (error: unknown) => void }): Redis {
  const client = configureClient(url, options.name);
  client.on('error', options.onError);
  client.connect().catch(options.onError);
  return client;
}

/** True when Redis answers within the given time. */
export async function pingRedis(redis: Redis, timeoutMs = 2_000): Promise<boolean> {
  if (!redis.isReady) return false;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([redis.ping().then(() => true), timeout]);
  } catch {
    // Not reachable is the answer, not a fault of the question.
    return false;
  } finally {
    clearTimeout(timer);
  }
}
