import { connect } from 'node:net';
import { ServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

const masterName = 'fleet';
/** As in production. */
const downAfterMs = 5_000;
/** A failover takes this long on a machine under load. */
const failoverTimeoutMs = 120_000;

/** Runs a Redis master with two replicas and three sentinels, each of which may be killed. */
export class RedisSentinels {
  readonly #servers: readonly ServerProcess[];
  readonly #sentinels: readonly ServerProcess[];
  readonly #killed: ServerProcess[] = [];

  private constructor(servers: readonly ServerProcess[], sentinels: readonly ServerProcess[]) {
    this.#servers = servers;
    this.#sentinels = sentinels;
  }

  static async start(): Promise<RedisSentinels> {
    const master = await (await ServerProcess.redis()).start();
    const replicas = await Promise.all(
      [1, 2].map(() => ServerProcess.redis(['--replicaof', '127.0.0.1', `${master.port}`])),
    );
    await Promise.all(replicas.map((replica) => replica.start()));
    const lines = [
      `sentinel monitor ${masterName} 127.0.0.1 ${master.port} 2`,
      `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
      `sentinel failover-timeout ${masterName} 30000`,
    ];
    const sentinels = await Promise.all([1, 2, 3].map(() => ServerProcess.sentinel(lines)));
    await Promise.all(sentinels.map((sentinel) => sentinel.start()));
    const started = new RedisSentinels([master, ...replicas], sentinels);
    for (const { port } of sentinels)
      await waitFor(() => knowsOthers(port), 'the sentinels to know each other', failoverTimeoutMs);
    return started;
  }

  /** URL of the product's setting. */
  get url(): string {
    return `redis+sentinel://${this.#sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${masterName}`;
  }

  /** Kills one sentinel. */
  async killSentinel(index: number): Promise<void> {
    await this.#sentinels[index]?.kill();
  }

  /** Kills the master with SIGKILL. Returns a function that waits until the sentinels name another one. */
  async killMaster(): Promise<{ readonly waitForFailover: () => Promise<void> }> {
    const port = await this.readMasterPort();
    const master = this.#servers.find((server) => server.port === port);
    if (master === undefined) throw new Error(`No server has the port ${port} of the master.`);
    await master.kill();
    this.#killed.push(master);
    return {
      waitForFailover: async () => {
        await waitFor(async () => (await this.readMasterPort()) !== port, 'another master', failoverTimeoutMs);
      },
    };
  }

  /** Starts killed servers again; the sentinels make them replicas. */
  async restart(): Promise<void> {
    for (const server of this.#killed.splice(0)) await server.start();
  }

  /** Returns the port of the master that the sentinels name. */
  async readMasterPort(): Promise<number> {
    for (const { port } of this.#sentinels) {
      const reply = await request(port, `SENTINEL GET-MASTER-ADDR-BY-NAME ${masterName}`).catch(() => '');
      const masterPort = Number(/\r\n\$\d+\r\n(\d+)\r\n/.exec(reply)?.[1]);
      if (masterPort > 0) return masterPort;
    }
    throw new Error('No sentinel knows the master.');
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#sentinels, ...this.#servers].map((server) => server.remove()));
  }
}

async function knowsOthers(port: number): Promise<boolean> {
  const info = await request(port, 'INFO sentinel').catch(() => '');
  return /slaves=2,sentinels=3/.test(info);
}

/** Sends an inline command, and returns the reply of the protocol. */
function request(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(`${command}\r\nQUIT\r\n`));
    let reply = '';
    socket.setTimeout(5_000, () => socket.destroy(new Error('The sentinel did not respond.')));
    socket.on('data', (data) => {
      reply += data.toString('latin1');
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(reply));
  });
}
