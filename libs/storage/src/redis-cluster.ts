import { setTimeout as delay } from 'node:timers/promises';
import { createCluster } from 'redis';
import { pingRedis } from './ping-redis.ts';
import { clientSettings, type Redis, type RedisOptions, socketSettings } from './redis-client.ts';
import { type Address, type Credentials, parseAddress, parseCredentials } from './redis-url.ts';
import { type ConnectedClient, createReplaceableClient } from './replaceable-client.ts';

const defaultPort = 6_379;
/** Each master must reply within this time. */
const pingTimeoutMs = 10_000;
const pingIntervalMs = 5_000;
/** A command of several keys waits at most this long for the move of its slot. */
const slotMoveTimeoutMs = 5_000;
const slotMoveRetryMs = 20;
const urlPattern = /^(rediss?)\+cluster:\/\/(?:([^@/]*)@)?([^@/?#]+)\/?$/;

/** Nodes of a cluster, of which one must be reachable at a connection. */
interface ClusterUrl {
  readonly nodes: readonly Address[];
  readonly credentials: Credentials;
  /** Whether all connections are encrypted. */
  readonly isEncrypted: boolean;
}

/**
 * Parses `redis+cluster://[user:password@]host:port,host:port`; `rediss+cluster` is the same with TLS. Returns undefined
 * for a URL of another kind; throws a TypeError for an invalid one.
 */
export function parseClusterUrl(url: string): ClusterUrl | undefined {
  if (!/^rediss?\+cluster:/.test(url)) return undefined;
  const [, scheme, credentials = '', hosts] = urlPattern.exec(url) ?? [];
  if (hosts === undefined) throw new TypeError('The URL of the cluster must be redis+cluster://host:port,host:port.');
  return {
    nodes: hosts.split(',').map((host) => parseAddress(host, defaultPort)),
    credentials: parseCredentials(credentials),
    isEncrypted: scheme === 'rediss',
  };
}

/**
 * Returns a client of all masters of a cluster. After the loss of one, commands for its keys fail immediately until a
 * replica has been elected; the others work. It is ready while all masters are connected. `sendCommand` differs from a
 * single server's.
 */
export function createClusterClient(url: ClusterUrl, options: RedisOptions): Redis {
  return createReplaceableClient({
    unconnected: asRedis(configureCluster(url, options)),
    connect: () => connectToCluster(url, options),
    onError: options.onError,
  });
}

const configureCluster = ({ nodes, credentials, isEncrypted }: ClusterUrl, { name }: RedisOptions) =>
  createCluster({
    rootNodes: nodes.map((socket) => ({ socket })),
    defaults: {
      ...clientSettings(name),
      ...credentials,
      // Lost connections are reported, and another client is created: the cluster may have another master by then.
      socket: { ...socketSettings, ...(isEncrypted ? { tls: true } : {}), reconnectStrategy: false },
    },
  });

/** Commands, `multi` and `eval` of a cluster have the interface of a single server, for keys of one slot. */
function asRedis(cluster: ReturnType<typeof configureCluster>): Redis {
  const evaluate = cluster.eval.bind(cluster);
  const multi = cluster.multi.bind(cluster);
  return Object.assign(cluster, {
    eval: (...values: Parameters<typeof evaluate>) => retryDuringSlotMove(() => evaluate(...values)),
    multi: (...values: Parameters<typeof multi>) => {
      const transaction = multi(...values);
      const execute = transaction.exec.bind(transaction);
      return Object.assign(transaction, { exec: () => retryDuringSlotMove(() => execute()) });
    },
  }) as unknown as Redis;
}

/**
 * Retries scripts and transactions that were not executed, because the keys of their slot are on two masters while it is
 * moved. The client follows the other redirections by itself.
 */
async function retryDuringSlotMove<Reply>(execute: () => Promise<Reply>): Promise<Reply> {
  const untilMs = performance.now() + slotMoveTimeoutMs;
  for (;;)
    try {
      return await execute();
    } catch (error) {
      if (!String(error).includes('TRYAGAIN') || performance.now() > untilMs) throw error;
      await delay(slotMoveRetryMs);
    }
}

async function connectToCluster(url: ClusterUrl, options: RedisOptions): Promise<ConnectedClient> {
  const cluster = configureCluster(url, options);
  const ended = new Promise<void>((resolve) => {
    cluster.on('node-disconnect', () => resolve());
    cluster.on('node-error', () => resolve());
  });
  cluster.on('error', options.onError);
  cluster.on('node-error', options.onError);
  try {
    await cluster.connect();
    // The nodes may still name a master that was lost.
    const missing = cluster.masters.find(({ client }) => client?.isReady !== true);
    if (missing !== undefined) throw new Error(`The master ${missing.address} of the cluster cannot be reached.`);
  } catch (error) {
    // Also closes the connections to other masters.
    cluster.destroy();
    throw error;
  }
  return { client: asRedis(cluster), ended: Promise.race([ended, waitForSilentMaster(cluster)]) };
}

/**
 * Resolves when a master does not reply. The time-out of a socket begins again with each command, so that it does not
 * detect a half-open connection of a busy client.
 */
async function waitForSilentMaster(cluster: ReturnType<typeof configureCluster>): Promise<void> {
  const ping = async ({ client }: (typeof cluster.masters)[number]): Promise<boolean> =>
    client !== undefined && pingRedis(client, pingTimeoutMs);
  do await delay(pingIntervalMs, undefined, { ref: false });
  while (cluster.isOpen && (await Promise.all(cluster.masters.map(ping))).every(Boolean));
}
