import type { Logger } from '@fleet/service-kit';
import { connect, Events, type JetStreamClient, type JetStreamManager, type NatsConnection } from 'nats';

/** The connection of a service to the broker; nothing outside this library uses the `nats` package. */
export interface Bus {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  jetstreamManager(): Promise<JetStreamManager>;
  /** True while the connection stands. */
  isUp(): boolean;
  /** Milliseconds since the connection was lost; 0 while it stands. */
  downForMs(): number;
  /** Calls back after every reconnect; answers how to stop that. */
  onReconnect(listener: () => void): () => void;
  /** Finishes what is under way and closes. */
  close(): Promise<void>;
}

/** Connects to NATS and stays connected for ever: what is lost is dialled again without a limit, and every change is logged. */
export async function openBus(url: string, options: { name: string; log: Logger }): Promise<Bus> {
  const { log } = options;
  const nc = await connect({
    servers: url.split(','),
    name: options.name,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    // A half-open connection is noticed within 20 seconds.
    pingInterval: 10_000,
    maxPingOut: 2,
  });
  const listeners = new Set<() => void>();
  let downSinceMs: number | undefined;
  const watch = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === Events.Disconnect) {
        downSinceMs ??= performance.now();
        log.warn({ server: status.data }, 'broker connection lost');
      } else if (status.type === Events.Reconnect) {
        downSinceMs = undefined;
        log.info({ server: status.data }, 'broker connection restored');
        for (const listener of listeners) listener();
      } else if (status.type === Events.Error) {
        log.warn({ detail: status.data }, 'broker reported an error');
      }
    }
  };
  watch().catch((error: unknown) => log.error({ err: error }, 'the watch of the broker connection ended'));
  return {
    nc,
    js: nc.jetstream(),
    jetstreamManager: () => nc.jetstreamManager(),
    isUp: () => downSinceMs === undefined && !nc.isClosed(),
    downForMs: () => (downSinceMs === undefined ? 0 : performance.now() - downSinceMs),
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      // Draining needs a server; without one only closing is left.
      if (downSinceMs === undefined) await nc.drain();
      else await nc.close();
    },
  };
}
