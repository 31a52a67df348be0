import { createClient } from 'redis';

/** The Redis client of all services. */
export type Redis = ReturnType<typeof configureClient>;

/** Options of a connection to Redis. */
export interface RedisOptions {
  /** Name of the connection in the list of clients of the server. */
  readonly name: string;
  /** Receives each failed attempt to connect. */
  readonly onError: (error: unknown) => void;
}

/** Returns the settings of each connection to a server with data. */
export const clientSettings = (name: string) =>
  ({
    name,
    // A command during an outage fails immediately; the caller decides what unreadable state means.
    disableOfflineQueue: true,
    // Detects a half-open connection within 15 seconds; its commands would never complete.
    pingInterval: 5_000,
  }) as const;

/** Timeouts of each connection to a server with data. */
export const socketSettings = { connectTimeout: 3_000, socketTimeout: 15_000 } as const;

/** Returns the pause before an attempt to connect. */
export const reconnectDelayMs = (retries: number): number => Math.min(50 * 2 ** retries, 1_000);

/** Returns an unconnected client of one server. */
export const configureClient = (url: string, name: string) =>
  createClient({
    url,
    ...clientSettings(name),
    socket: { ...socketSettings, reconnectStrategy: reconnectDelayMs },
  });
