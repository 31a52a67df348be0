import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'redis';
import { clientSettings, type Redis, type RedisOptions, reconnectDelayMs, socketSettings } from './redis-client.ts';

const defaultSentinelPort = 26_379;
const urlPattern = /^(rediss?)\+sentinel:\/\/(?:([^@/]*)@)?([^@/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/;
/** Parameters of the query: credentials of the sentinels. */
const parameterNames = ['sentinel_username', 'sentinel_password'] as const;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Sentinels, and the master to which they lead. */
interface SentinelUrl {
  readonly sentinels: readonly Address[];
  readonly masterName: string;
  /** Of the servers with data. */
  readonly credentials: Credentials;
  readonly sentinelCredentials: Credentials;
  /** Whether all connections are encrypted. */
  readonly isEncrypted: boolean;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

/**
 * Parses `redis+sentinel://[user:password@]host:port,host:port/master-name[?sentinel_password=...]`; `rediss+sentinel`
 * is the same with TLS. Returns undefined for a URL of another kind; throws a TypeError for an invalid one.
 */
export function parseSentinelUrl(url: string): SentinelUrl | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined;
  const [, scheme, credentials = '', hosts, masterName, query] = urlPattern.exec(url) ?? [];
  if (hosts === undefined || masterName === undefined)
    throw new TypeError('The URL of the sentinels must be redis+sentinel://host:port,host:port/master-name.');
  const [username, password] = credentials.split(':').map(decodeURIComponent);
  const parameters = parseQuery(query);
  return {
    sentinels: hosts.split(',').map(parseAddress),
    masterName: decodeURIComponent(masterName),
    credentials: toCredentials(username, password),
    sentinelCredentials: toCredentials(parameters.get('sentinel_username'), parameters.get('sentinel_password')),
    isEncrypted: scheme === 'rediss',
  };
}

function parseQuery(query = ''): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!parameterNames.some((known) => known === name))
      throw new TypeError(
        `The URL of the sentinels has an unknown parameter ${name}: use ${parameterNames.join(', ')}.`,
      );
  return parameters;
}

const toCredentials = (username: string | null = null, password: string | null = null): Credentials => ({
  ...(username ? { username } : {}),
  ...(password ? { password } : {}),
});

function parseAddress(text: string): Address {
  const { hostname, port } = new URL(`redis://${text.trim()}`);
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    port: port === '' ? defaultSentinelPort : Number(port),
  };
}

/**
 * Returns a client that follows the master which the sentinels name. Commands fail immediately until a failover is
 * over. The sentinel client of the `redis` package would let them wait without a limit, and would request the master in
 * a loop without a pause.
 */
export function createSentinelClient(url: SentinelUrl, options: RedisOptions): Redis {
  const follower = new MasterFollower(url, options);
  const own: Readonly<Record<string, unknown>> = {
    connect: () => follower.connect(),
    close: () => follower.close(),
    destroy: () => follower.destroy(),
    on: follower.events.on.bind(follower.events),
    once: follower.events.once.bind(follower.events),
    off: follower.events.off.bind(follower.events),
  };
  return new Proxy(follower.client, {
    get: (_first, name) => {
      if (typeof name === 'string' && Object.hasOwn(own, name)) return own[name];
      const { client } = follower;
      const value: unknown = Reflect.get(client, name, client);
      return typeof value === 'function' ? value.bind(client) : value;
    },
  });
}

/** Holds a client of the current master, and replaces it when its connection is lost. */
class MasterFollower {
  readonly events = new EventEmitter();
  readonly #url: SentinelUrl;
  readonly #options: RedisOptions;
  readonly #stopSignal = new AbortController();
  #client: Redis;
  #running: Promise<void> | undefined;

  constructor(url: SentinelUrl, options: RedisOptions) {
    this.#url = url;
    this.#options = options;
    // Rejects commands until the first connection.
    this.#client = this.#createClient({ host: '127.0.0.1', port: 0 });
  }

  /** The client of the current master, or of the last one. */
  get client(): Redis {
    return this.#client;
  }

  /** Resolves after the first connection to a master. */
  async connect(): Promise<void> {
    const isReady = new Promise<void>((resolve) => {
      this.events.once('ready', resolve);
    });
    this.#running ??= this.#follow();
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

  async #follow(): Promise<void> {
    let retries = 0;
    while (!this.#stopSignal.signal.aborted) {
      try {
        const { ended } = await this.#connectToMaster();
        retries = 0;
        await ended;
      } catch (error) {
        if (!this.#stopSignal.signal.aborted) this.#options.onError(error);
      }
      await delay(reconnectDelayMs(retries), undefined, { signal: this.#stopSignal.signal }).catch(() => undefined);
      retries += 1;
    }
  }

  /** Replaces the client; `ended` resolves when its connection is lost. */
  async #connectToMaster(): Promise<{ readonly ended: Promise<void> }> {
    const client = this.#createClient(await this.#findMaster());
    const ended = new Promise<void>((resolve) => {
      client.on('terminated', () => resolve());
      client.on('end', () => resolve());
    });
    try {
      await client.connect();
      // The sentinels may still name a former master that has returned.
      const role = (await client.role())?.role;
      if (role !== 'master') throw new Error(`The sentinels name a server with the role ${role}.`);
    } catch (error) {
      destroyClient(client);
      throw error;
    }
    if (this.#stopSignal.signal.aborted) destroyClient(client);
    this.#client = client;
    this.events.emit('ready');
    return { ended };
  }

  /** Certificates are verified with the authorities of Node.js and NODE_EXTRA_CA_CERTS. */
  get #encryption(): { readonly tls?: true } {
    return this.#url.isEncrypted ? { tls: true } : {};
  }

  #createClient({ host, port }: Address): Redis {
    const client = createClient({
      ...clientSettings(this.#options.name),
      ...this.#url.credentials,
      socket: { host, port, ...socketSettings, ...this.#encryption, reconnectStrategy: false },
    });
    client.on('error', this.#options.onError);
    return client;
  }

  async #findMaster(): Promise<Address> {
    for (const sentinel of this.#url.sentinels) {
      const master = await this.#requestMaster(sentinel).catch(this.#options.onError);
      if (master !== undefined) return master;
    }
    throw new Error(`No sentinel knows the master ${this.#url.masterName}: check REDIS_URL and the sentinels.`);
  }

  async #requestMaster(sentinel: Address): Promise<Address | undefined> {
    const client = createClient({
      disableOfflineQueue: true,
      commandOptions: { timeout: socketSettings.connectTimeout },
      ...this.#url.sentinelCredentials,
      socket: { ...sentinel, ...socketSettings, ...this.#encryption, reconnectStrategy: false },
    });
    client.on('error', this.#options.onError);
    try {
      await client.connect();
      const reply = await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#url.masterName]);
      if (!Array.isArray(reply)) return undefined;
      const [host, port] = reply.map(String);
      return host === undefined ? undefined : { host, port: Number(port) };
    } finally {
      destroyClient(client);
    }
  }
}

function destroyClient(client: Pick<Redis, 'isOpen' | 'destroy'>): void {
  if (client.isOpen) client.destroy();
}
