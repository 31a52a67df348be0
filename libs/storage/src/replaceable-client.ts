import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Redis, reconnectDelayMs } from './redis-client.ts';

/** A connected client, and the loss of its connection. */
export interface ConnectedClient {
  readonly client: Redis;
  /** Resolves when a connection is lost. */
  readonly ended: Promise<void>;
}

/** Creates the clients of a `ReplaceableClient`. */
interface ClientSource {
  /** A client without a connection: it rejects commands. */
  readonly unconnected: Redis;
  /** Connects a new client, or throws. */
  readonly connect: () => Promise<ConnectedClient>;
  readonly onError: (error: unknown) => void;
}

/**
 * Returns a client that is replaced by a new one when a connection is lost, because another server may have the data by
 * then. Commands fail immediately until that.
 */
export function createReplaceableClient(source: ClientSource): Redis {
  const replaceable = new ReplaceableClient(source);
  const own: Readonly<Record<string, unknown>> = {
    connect: () => replaceable.connect(),
    close: () => replaceable.close(),
    destroy: () => replaceable.destroy(),
    on: replaceable.events.on.bind(replaceable.events),
    once: replaceable.events.once.bind(replaceable.events),
    off: replaceable.events.off.bind(replaceable.events),
  };
  return new Proxy(source.unconnected, {
    get: (_first, name) => {
      if (typeof name === 'string' && Object.hasOwn(own, name)) return own[name];
      if (name === 'isReady') return replaceable.isReady;
      const { client } = replaceable;
      const value: unknown = Reflect.get(client, name, client);
      return typeof value === 'function' ? value.bind(client) : value;
    },
  });
}

class ReplaceableClient {
  readonly events = new EventEmitter();
  readonly #source: ClientSource;
  readonly #stopSignal = new AbortController();
  #client: Redis;
  #isConnected = false;
  #running: Promise<void> | undefined;

  constructor(source: ClientSource) {
    this.#source = source;
    this.#client = source.unconnected;
  }

  /** The current client, or the last one. */
  get client(): Redis {
    return this.#client;
  }

  get isReady(): boolean {
    return this.#isConnected && this.#client.isReady;
  }

  /** Resolves after the first connection. */
  async connect(): Promise<void> {
    const isReady = new Promise<void>((resolve) => {
      this.events.once('ready', resolve);
    });
    this.#running ??= this.#run();
    await Promise.race([isReady, this.#running]);
  }

  async close(): Promise<void> {
    this.#stopSignal.abort();
    if (this.#client.isOpen) await this.#client.close();
    await this.#running;
  }

  destroy(): void {
    this.#stopSignal.abort();
    destroyClient(this.#client);
  }

  async #run(): Promise<void> {
    let retries = 0;
    while (!this.#stopSignal.signal.aborted) {
      try {
        const { ended } = await this.#replace();
        retries = 0;
        await ended;
        this.#isConnected = false;
      } catch (error) {
        if (!this.#stopSignal.signal.aborted) this.#source.onError(error);
      }
      await delay(reconnectDelayMs(retries), undefined, { signal: this.#stopSignal.signal }).catch(() => undefined);
      retries += 1;
    }
  }

  async #replace(): Promise<ConnectedClient> {
    const connected = await this.#source.connect();
    if (this.#stopSignal.signal.aborted) destroyClient(connected.client);
    const former = this.#client;
    this.#client = connected.client;
    this.#isConnected = true;
    this.events.emit('ready');
    // Commands that wait for another server of a cluster still receive their responses.
    if (former.isOpen) former.close().catch(this.#source.onError);
    return connected;
  }
}

/** Closes the connections of a client that is open; pending commands fail. */
export function destroyClient(client: Pick<Redis, 'isOpen' | 'destroy'>): void {
  if (client.isOpen) client.destroy();
}
