/** A client of a server, or of all servers of a cluster. */
interface PingableClient {
  readonly isReady: boolean;
  ping(): Promise<unknown>;
}

/** Returns true if Redis replies within the given time. */
export async function pingRedis(redis: PingableClient, timeoutMs = 2_000): Promise<boolean> {
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
