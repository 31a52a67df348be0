import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@fleet/service-kit';
import {
  type ConnectionOptions,
  connect,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  type Subscription,
} from 'nats';

/** Timeout of draining at shutdown; an unavailable server never confirms it. */
const drainTimeoutMs = 3_000;
const flushTimeoutMs = 2_000;
const waitLogIntervalMs = 5_000;

/** Connection of a service to the broker. Only this library uses the `nats` package. */
export interface Bus {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  jetstreamManager(): Promise<JetStreamManager>;
  /** Returns true while connected. */
  isUp(): boolean;
  /** Milliseconds since the connection was lost; 0 while connected. */
  downForMs(): number;
  /** Calls back after every reconnect; returns a function that removes the listener. */
  onReconnect(listener: () => void): () => void;
  /**
   * Calls back with the subject of each event that is dropped because the connection is down; returns a function that
   * removes the listener.
   */
  onPublishDropped(listener: (subject: string) => void): () => void;
  /** Reports an event that is dropped because the connection is down. */
  emitPublishDropped(subject: string): void;
  /**
   * Resolves when the broker knows every earlier subscription, so that no later message is missed. Resolves immediately
   * without a connection, and after 2 seconds without a response; never rejects.
   */
  flush(): Promise<void>;
  /** Drains and closes the connection. */
  close(): Promise<void>;
}

/** Tracks whether the connection is up, and logs every change of it. */
class ConnectionMonitor {
  readonly #nc: NatsConnection;
  readonly #log: Logger;
  readonly #reconnectListeners = new Set<() => void>();
  #downSinceMs: number | undefined;

  constructor(nc: NatsConnection, log: Logger) {
    this.#nc = nc;
    this.#log = log;
    this.#follow().catch((error: unknown) =>
      log.error({ err: error }, 'status monitor of the broker connection ended'),
    );
  }

  isUp(): boolean {
    return this.#downSinceMs === undefined && !this.#nc.isClosed();
  }

  downForMs(): number {
    return this.#downSinceMs === undefined ? 0 : performance.now() - this.#downSinceMs;
  }

  onReconnect(listener: () => void): () => void {
    this.#reconnectListeners.add(listener);
    return () => this.#reconnectListeners.delete(listener);
  }

  async #follow(): Promise<void> {
    for await (const status of this.#nc.status()) {
      if (status.type === Events.Disconnect) {
        this.#downSinceMs ??= performance.now();
        this.#log.warn({ server: status.data }, 'broker connection lost');
      } else if (status.type === Events.Reconnect) {
        this.#downSinceMs = undefined;
        this.#log.info({ server: status.data }, 'broker connection restored');
        for (const listener of this.#reconnectListeners) callSafely(listener, this.#log);
      } else if (status.type === Events.Error) {
        this.#log.warn({ detail: status.data }, 'broker reported an error');
      }
    }
  }
}

async function connectToServers(url: string, name: string, log: Logger): Promise<NatsConnection> {
  // Without this, a service without a broker would hang silently at its start.
  const waitLogTimer = setInterval(() => log.warn('still waiting for the broker'), waitLogIntervalMs);
  return await connect({
    ...serverOptions(url),
    name,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    // Detects a half-open connection within 20 seconds.
    pingInterval: 10_000,
    maxPingOut: 2,
  }).finally(() => clearInterval(waitLogTimer));
}

/** Connects to NATS and reconnects forever; logs every change of the connection. */
export async function openBus(url: string, options: { name: string; log: Logger }): Promise<Bus> {
  const { log } = options;
  const nc = await connectToServers(url, options.name, log);
  const monitor = new ConnectionMonitor(nc, log);
  const publishDroppedListeners = new Set<(subject: string) => void>();
  return {
    nc,
    js: nc.jetstream(),
    jetstreamManager: () => nc.jetstreamManager(),
    isUp: () => monitor.isUp(),
    downForMs: () => monitor.downForMs(),
    onReconnect: (listener) => monitor.onReconnect(listener),
    onPublishDropped: (listener) => {
      publishDroppedListeners.add(listener);
      return () => publishDroppedListeners.delete(listener);
    },
    emitPublishDropped: (subject) => {
      for (const listener of publishDroppedListeners) callSafely(() => listener(subject), log);
    },
    flush: async () => {
      if (monitor.isUp()) await withTimeout(nc.flush(), flushTimeoutMs);
    },
    close: async () => {
      // Draining needs a server that responds; without one, the connection is only closed.
      if (monitor.isUp() && !nc.isDraining()) await withTimeout(nc.drain(), drainTimeoutMs);
      await nc.close();
    },
  };
}

/** Ends a subscription after the messages that the server already sent. Never throws and never waits long. */
export async function endSubscription(bus: Bus, subscription: Subscription): Promise<void> {
  if (subscription.isClosed() || bus.nc.isClosed()) return;
  if (bus.isUp()) await withTimeout(subscription.drain(), drainTimeoutMs);
  if (!subscription.isClosed()) subscription.unsubscribe();
}

/** Returns true if connected, or connected again within the given time. */
export async function waitForConnection(bus: Bus, timeoutMs: number): Promise<boolean> {
  if (bus.isUp() || bus.nc.isClosed()) return bus.isUp();
  return new Promise((resolve) => {
    const removeListener = bus.onReconnect(() => finish(true));
    const timer = setTimeout(() => finish(bus.isUp()), timeoutMs);
    const finish = (isConnected: boolean): void => {
      removeListener();
      clearTimeout(timer);
      resolve(isConnected);
    };
  });
}

/**
 * Returns the client's settings for URLs separated by commas. The client itself does not read credentials from them.
 */
function serverOptions(urls: string): ConnectionOptions {
  const parsed = urls.split(',').map((url) => new URL(url.includes('://') ? url.trim() : `nats://${url.trim()}`));
  const { username = '', password = '' } = parsed.find((url) => url.username !== '') ?? {};
  const user = decodeURIComponent(username);
  const credentials = password === '' ? { token: user } : { user, pass: decodeURIComponent(password) };
  return {
    servers: parsed.map((url) => url.host),
    ...(user === '' ? {} : credentials),
    ...(parsed.some((url) => url.protocol === 'tls:') ? { tls: {} } : {}),
  };
}

async function withTimeout(work: Promise<unknown>, timeoutMs: number): Promise<void> {
  const timeoutController = new AbortController();
  // Messages that cannot be drained are lost with their server; the callers retry.
  const done = work.catch(() => undefined);
  const timeout = delay(timeoutMs, undefined, { signal: timeoutController.signal }).catch(() => undefined);
  await Promise.race([done, timeout]);
  timeoutController.abort();
}

function callSafely(listener: () => void, log: Logger): void {
  try {
    listener();
  } catch (error) {
    log.error({ err: error }, 'a listener of the broker connection failed');
  }
}
