import { connect } from 'node:net';
import { connect as connectEncrypted } from 'node:tls';
import { freePort } from './free-port.ts';
import { sendInlineCommands } from './inline-commands.ts';
import { formatUserArguments, type RedisUser, readRefusals } from './redis-rights.ts';
import { ServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

const masterCount = 3;
const slotCount = 16_384;
/** A failover takes this long on a machine under load. */
const failoverTimeoutMs = 120_000;

/** How the cluster is run, and how clients connect. */
interface ClusterOptions {
  /** A node that does not respond for this long counts as lost. */
  readonly nodeTimeoutMs?: number;
  /** Of a user in the access control list; the default user has the same password. */
  readonly user?: RedisUser;
  /** Files with a certificate of 127.0.0.1 and its key: all connections are encrypted. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
}

interface Node {
  readonly server: ServerProcess;
  readonly busPort: number;
}

/** Runs a Redis Cluster with three masters and a replica of each, which may be killed. */
export class RedisCluster {
  readonly #nodes: readonly Node[];
  readonly #options: ClusterOptions;
  readonly #lost: ServerProcess[] = [];

  private constructor(nodes: readonly Node[], options: ClusterOptions) {
    this.#nodes = nodes;
    this.#options = options;
  }

  static async start(options: ClusterOptions = {}): Promise<RedisCluster> {
    const nodes = await Promise.all(Array.from({ length: 2 * masterCount }, () => createNode(options)));
    await Promise.all(nodes.map(({ server }) => server.start()));
    const cluster = new RedisCluster(nodes, options);
    try {
      await cluster.#form();
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return cluster;
  }

  /** URL of the product's setting. */
  get url(): string {
    const { user, tls } = this.#options;
    const credentials = user === undefined ? '' : `${user.name}:${user.password}@`;
    const hosts = this.#nodes.map(({ server }) => `127.0.0.1:${server.port}`).join(',');
    return `redis${tls === undefined ? '' : 's'}+cluster://${credentials}${hosts}`;
  }

  /** Returns the commands that nodes without TLS refused for want of a right; empty for none. */
  readRefusals = (): Promise<string> =>
    readRefusals(
      this.#nodes.map(({ server }) => server.port),
      this.#options.user?.password,
    );

  /** Kills the master of a key's slot with SIGKILL. Returns a function that waits until its replica is the master. */
  async killMasterOf(key: string): Promise<{ readonly waitForFailover: () => Promise<void> }> {
    const { slot, server } = await this.#findMasterOf(key);
    await server.kill();
    return this.#addLost(slot, server);
  }

  /** The same for a master that accepts connections and does not respond. */
  async pauseMasterOf(key: string): Promise<{ readonly waitForFailover: () => Promise<void> }> {
    const { slot, server } = await this.#findMasterOf(key);
    server.pause();
    return this.#addLost(slot, server);
  }

  /** Moves the slot of a key to another master while commands run, key by key. */
  async moveSlotOf(key: string): Promise<void> {
    const { slot, server } = await this.#findMasterOf(key);
    await this.#moveSlot(slot, server.port);
  }

  /**
   * Moves every slot with keys from the master of a key to another one, as before a master is removed. Returns the number
   * of slots.
   */
  async moveSlotsFromMasterOf(key: string): Promise<number> {
    const { server } = await this.#findMasterOf(key);
    const keys = [...(await this.#send(server.port, 'KEYS *')).matchAll(/\$\d+\r\n([^\r]*)/g)].map(
      ([, name = '']) => name,
    );
    const slots = new Set<number>();
    for (const name of keys) slots.add(await this.#slotOf(name));
    for (const slot of slots) await this.#moveSlot(slot, server.port);
    return slots.size;
  }

  async #moveSlot(slot: number, source: number): Promise<void> {
    const target = (await this.#masterPorts()).find((port) => port !== source);
    if (target === undefined) throw new Error('The cluster has no other master.');
    const [sourceId, targetId] = await Promise.all([this.#idOf(source), this.#idOf(target)]);
    await this.#expectOk(target, `CLUSTER SETSLOT ${slot} IMPORTING ${sourceId}`);
    await this.#expectOk(source, `CLUSTER SETSLOT ${slot} MIGRATING ${targetId}`);
    const { user } = this.#options;
    const credentials = user === undefined ? '' : ` AUTH ${user.password}`;
    for (;;) {
      const reply = await this.#send(source, `CLUSTER GETKEYSINSLOT ${slot} 1`);
      const moved = /^\*1\r\n\$\d+\r\n([^\r]*)/.exec(reply)?.[1];
      if (moved === undefined) break;
      const migrated = await this.#send(source, `MIGRATE 127.0.0.1 ${target} ${moved} 0 5000${credentials}`);
      // A key may expire before it is moved.
      if (!/^\+(OK|NOKEY)/.test(migrated)) throw new Error(`MIGRATE ${moved}: ${migrated}`);
    }
    for (const port of [target, source]) await this.#expectOk(port, `CLUSTER SETSLOT ${slot} NODE ${targetId}`);
  }

  async #slotOf(key: string): Promise<number> {
    return Number(/:(\d+)/.exec(await this.#send(this.#livePort(), `CLUSTER KEYSLOT ${key}`))?.[1]);
  }

  async #idOf(port: number): Promise<string> {
    const id = /\r\n([0-9a-f]{40})\r\n/.exec(await this.#send(port, 'CLUSTER MYID'))?.[1];
    if (id === undefined) throw new Error(`The node ${port} has no id.`);
    return id;
  }

  async #findMasterOf(key: string): Promise<{ readonly slot: number; readonly server: ServerProcess }> {
    const slot = await this.#slotOf(key);
    const port = await this.#masterPortOf(slot);
    const server = this.#nodes.find((node) => node.server.port === port)?.server;
    if (server === undefined) throw new Error(`No node has the port ${port} of the master.`);
    return { slot, server };
  }

  #addLost(slot: number, { port }: ServerProcess): { readonly waitForFailover: () => Promise<void> } {
    this.#lost.push(...this.#nodes.filter(({ server }) => server.port === port).map(({ server }) => server));
    return {
      waitForFailover: async () => {
        await waitFor(
          async () => (await this.#masterPortOf(slot)) !== port,
          'the replica to be elected',
          failoverTimeoutMs,
        );
      },
    };
  }

  /** Starts lost nodes again; they become replicas. */
  async restart(): Promise<void> {
    for (const server of this.#lost.splice(0)) {
      await server.kill();
      await server.start();
    }
  }

  /** Waits until every master has a replica with its present data. */
  async waitForReplicas(): Promise<void> {
    for (const port of await this.#masterPorts()) {
      const written = Number(/master_repl_offset:(\d+)/.exec(await this.#send(port, 'INFO replication'))?.[1]);
      await waitFor(
        async () => {
          const info = await this.#send(port, 'INFO replication');
          return Number(/slave\d+:[^\r]*state=online,offset=(\d+)/.exec(info)?.[1]) >= written;
        },
        'a replica of each master',
        failoverTimeoutMs,
      );
    }
  }

  async remove(): Promise<void> {
    await Promise.all(this.#nodes.map(({ server }) => server.remove()));
  }

  /** Introduces the nodes to each other, and assigns slots and replicas. */
  async #form(): Promise<void> {
    const [first, ...others] = this.#nodes;
    if (first === undefined) throw new Error('The cluster has no node.');
    const slotsOfMaster = Math.ceil(slotCount / masterCount);
    for (const [index, { server }] of this.#nodes.slice(0, masterCount).entries()) {
      const last = Math.min(slotCount, (index + 1) * slotsOfMaster) - 1;
      await this.#expectOk(server.port, `CLUSTER ADDSLOTSRANGE ${index * slotsOfMaster} ${last}`);
      // The nodes must not claim the same epoch.
      await this.#expectOk(server.port, `CLUSTER SET-CONFIG-EPOCH ${index + 1}`);
    }
    for (const { server, busPort } of others)
      await this.#expectOk(first.server.port, `CLUSTER MEET 127.0.0.1 ${server.port} ${busPort}`);
    await this.#waitUntilAll(
      (info) => info.includes(`cluster_known_nodes:${this.#nodes.length}`) && info.includes('cluster_state:ok'),
    );
    for (const [index, { server }] of this.#nodes.slice(masterCount).entries()) {
      await this.#expectOk(server.port, `CLUSTER REPLICATE ${await this.#idOf(this.#portAt(index))}`);
    }
    await this.waitForReplicas();
  }

  async #waitUntilAll(isReached: (info: string) => boolean): Promise<void> {
    for (const { server } of this.#nodes)
      await waitFor(
        async () => isReached(await this.#send(server.port, 'CLUSTER INFO')),
        'the nodes to know each other',
        failoverTimeoutMs,
      );
  }

  #portAt(index: number): number {
    const node = this.#nodes[index];
    if (node === undefined) throw new Error(`The cluster has no node ${index}.`);
    return node.server.port;
  }

  #livePort(): number {
    const node = this.#nodes.find(({ server }) => !this.#lost.includes(server));
    if (node === undefined) throw new Error('The cluster has no live node.');
    return node.server.port;
  }

  /** Reads lines as `<id> <ip:port@bus> <flags> <master> <ping> <pong> <epoch> <state> <slot range>...`. */
  async #readMasters(): Promise<readonly { readonly port: number; readonly ranges: readonly string[] }[]> {
    const reply = await this.#send(this.#livePort(), 'CLUSTER NODES');
    return reply.split('\n').flatMap((line) => {
      const [, address = '', flags = '', , , , , , ...ranges] = line.trim().split(' ');
      if (!flags.split(',').includes('master') || ranges.length === 0) return [];
      return [{ port: Number(/:(\d+)@/.exec(address)?.[1]), ranges }];
    });
  }

  async #masterPorts(): Promise<number[]> {
    return (await this.#readMasters()).map(({ port }) => port);
  }

  async #masterPortOf(slot: number): Promise<number> {
    const masters = await this.#readMasters();
    const master = masters.find(({ ranges }) =>
      ranges.some((range) => {
        const [first = 0, last = first] = range.split('-').map(Number);
        return slot >= first && slot <= last;
      }),
    );
    if (master === undefined) throw new Error(`No master has the slot ${slot}.`);
    return master.port;
  }

  async #expectOk(port: number, command: string): Promise<void> {
    const reply = await this.#send(port, command);
    if (!reply.startsWith('+OK')) throw new Error(`${command}: ${reply}`);
  }

  async #send(port: number, command: string): Promise<string> {
    const { user, tls } = this.#options;
    const address = { host: '127.0.0.1', port };
    const reply = await sendInlineCommands(
      (onConnect) =>
        tls === undefined
          ? connect(address, onConnect)
          : connectEncrypted({ ...address, rejectUnauthorized: false }, onConnect),
      [...(user === undefined ? [] : [`AUTH ${user.password}`]), command],
    );
    return user === undefined ? reply : reply.replace(/^\+OK\r\n/, '');
  }
}

async function createNode({ nodeTimeoutMs = 5_000, user, tls }: ClusterOptions): Promise<Node> {
  const busPort = await freePort();
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-port': String(busPort),
    'cluster-config-file': 'nodes.conf',
    'cluster-node-timeout': String(nodeTimeoutMs),
    // The slots of other masters remain available.
    'cluster-require-full-coverage': 'no',
    // A replica may be elected whenever its master was lost.
    'cluster-replica-validity-factor': '0',
    ...(user === undefined ? {} : { requirepass: user.password, masterauth: user.password }),
    ...(tls === undefined
      ? {}
      : {
          'tls-cert-file': tls.certFile,
          'tls-key-file': tls.keyFile,
          'tls-ca-cert-file': tls.certFile,
          'tls-auth-clients': 'no',
          'tls-replication': 'yes',
          'tls-cluster': 'yes',
        }),
  };
  const more = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const acl = user === undefined ? [] : formatUserArguments(user);
  const ports = (port: number) => (tls === undefined ? [] : ['--port', '0', '--tls-port', String(port)]);
  return { server: await ServerProcess.redis((port) => [...ports(port), ...more, ...acl]), busPort };
}
