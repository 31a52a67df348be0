import { createClient } from 'redis';
import { clientSettings, type Redis, type RedisOptions, socketSettings } from './redis-client.ts';
import { type Address, type Credentials, parseAddress, parseCredentials, toCredentials } from './redis-url.ts';
import { type ConnectedClient, createReplaceableClient, destroyClient } from './replaceable-client.ts';

const defaultSentinelPort = 26_379;
const urlPattern = /^(rediss?)\+sentinel:\/\/(?:([^@/]*)@)?([^@/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/;
/** Parameters of the query: credentials of the sentinels. */
const parameterNames = ['sentinel_username', 'sentinel_password'] as const;

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

/**
 * Parses `redis+sentinel://[user:password@]host:port,host:port/master-name[?sentinel_password=...]`; `rediss+sentinel`
 * is the same with TLS. Returns undefined for a URL of another kind; throws a TypeError for an invalid one.
 */
export function parseSentinelUrl(url: string): SentinelUrl | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined;
  const [, scheme, credentials = '', hosts, masterName, query] = urlPattern.exec(url) ?? [];
  if (hosts === undefined || masterName === undefined)
    throw new TypeError('The URL of the sentinels must be redis+sentinel://host:port,host:port/master-name.');
  const parameters = parseQuery(query);
  return {
    sentinels: hosts.split(',').map((host) => parseAddress(host, defaultSentinelPort)),
    masterName: decodeURIComponent(masterName),
    credentials: parseCredentials(credentials),
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

/**
 * Returns a client that follows the master which the sentinels name. Commands fail immediately until a failover is
 * over. The sentinel client of the `redis` package would let them wait without a limit, and would request the master in
 * a loop without a pause.
 */
export function createSentinelClient(url: SentinelUrl, options: RedisOptions): Redis {
  const finder = new MasterFinder(url, options);
  return createReplaceableClient({
    unconnected: finder.createClient({ host: '127.0.0.1', port: 0 }),
    connect: () => finder.connectToMaster(),
    onError: options.onError,
  });
}

/** Connects clients to the current master. */
class MasterFinder {
  readonly #url: SentinelUrl;
  readonly #options: RedisOptions;

  constructor(url: SentinelUrl, options: RedisOptions) {
    this.#url = url;
    this.#options = options;
  }

  async connectToMaster(): Promise<ConnectedClient> {
    const client = this.createClient(await this.#findMaster());
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
    return { client, ended };
  }

  /** Certificates are verified with the authorities of Node.js and NODE_EXTRA_CA_CERTS. */
  get #encryption(): { readonly tls?: true } {
    return this.#url.isEncrypted ? { tls: true } : {};
  }

  createClient({ host, port }: Address): Redis {
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
