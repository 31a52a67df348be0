import { connect } from 'node:net';
import { connect as connectEncrypted } from 'node:tls';
import { sendInlineCommands } from './inline-commands.ts';
import { formatUserArguments, type RedisUser, readRefusals } from './redis-rights.ts';
import { ServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

const masterName = 'fleet';
/** As in production. */
const downAfterMs = 5_000;
/** A failover takes this long on a machine under load. */
const failoverTimeoutMs = 120_000;

/** How clients connect. */
interface SentinelsOptions {
  /** Of the servers with data. */
  readonly password?: string;
  /** Of the servers with data: clients use it instead of the default user, which keeps all rights. */
  readonly user?: RedisUser;
  readonly sentinelPassword?: string;
  /** Files with a certificate of 127.0.0.1 and its key: all connections are encrypted. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
}

/** Runs a Redis master with two replicas and three sentinels, each of which may be killed. */
export class RedisSentinels {
  readonly #servers: readonly ServerProcess[];
  readonly #sentinels: readonly ServerProcess[];
  readonly #options: SentinelsOptions;
  readonly #killed: ServerProcess[] = [];

  private constructor(
    servers: readonly ServerProcess[],
    sentinels: readonly ServerProcess[],
    options: SentinelsOptions,
  ) {
    this.#servers = servers;
    this.#sentinels = sentinels;
    this.#options = options;
  }

  static async start(options: SentinelsOptions = {}): Promise<RedisSentinels> {
    const { password, sentinelPassword, tls, user } = options;
    const tlsSettings: readonly (readonly [string, string])[] =
      tls === undefined
        ? []
        : [
            ['tls-cert-file', tls.certFile],
            ['tls-key-file', tls.keyFile],
            ['tls-ca-cert-file', tls.certFile],
            ['tls-auth-clients', 'no'],
            ['tls-replication', 'yes'],
          ];
    const serverArguments = (port: number): readonly string[] => [
      ...(tls === undefined ? [] : ['--port', '0', '--tls-port', String(port)]),
      ...tlsSettings.flatMap(([name, value]) => [`--${name}`, value]),
      ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password]),
      ...(user === undefined ? [] : formatUserArguments(user)),
    ];
    const master = await (await ServerProcess.redis(serverArguments)).start();
    const replicas = await Promise.all(
      [1, 2].map(() =>
        ServerProcess.redis((port) => [...serverArguments(port), '--replicaof', '127.0.0.1', `${master.port}`]),
      ),
    );
    await Promise.all(replicas.map((replica) => replica.start()));
    const lines = [
      ...(tls === undefined ? [] : ['port 0']),
      ...tlsSettings.map(([name, value]) => `${name} ${value}`),
      ...(sentinelPassword === undefined
        ? []
        : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
      `sentinel monitor ${masterName} 127.0.0.1 ${master.port} 2`,
      `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
      `sentinel failover-timeout ${masterName} 30000`,
      ...(password === undefined ? [] : [`sentinel auth-pass ${masterName} ${password}`]),
    ];
    const portSetting = tls === undefined ? 'port' : 'tls-port';
    const sentinels = await Promise.all([1, 2, 3].map(() => ServerProcess.sentinel(lines, portSetting)));
    await Promise.all(sentinels.map((sentinel) => sentinel.start()));
    const started = new RedisSentinels([master, ...replicas], sentinels, options);
    for (const { port } of sentinels)
      await waitFor(() => started.#knowsOthers(port), 'the sentinels to know each other', failoverTimeoutMs);
    return started;
  }

  /** URL of the product's setting. */
  get url(): string {
    const { password, sentinelPassword, tls, user } = this.#options;
    const hosts = this.#sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const { name = '', password: secret = password } = user ?? {};
    const credentials = secret === undefined ? '' : `${name}:${secret}@`;
    const query = sentinelPassword === undefined ? '' : `?sentinel_password=${sentinelPassword}`;
    return `redis${tls === undefined ? '' : 's'}+sentinel://${credentials}${hosts}/${masterName}${query}`;
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

  /** Returns the commands that servers without TLS refused for want of a right; empty for none. */
  readRefusals = (): Promise<string> =>
    readRefusals(
      this.#servers.map(({ port }) => port),
      this.#options.password,
    );

  /** Starts killed servers again; the sentinels make them replicas. */
  async restart(): Promise<void> {
    for (const server of this.#killed.splice(0)) await server.start();
  }

  /** Returns the port of the master that the sentinels name. */
  async readMasterPort(): Promise<number> {
    for (const { port } of this.#sentinels) {
      const reply = await this.#request(port, `SENTINEL GET-MASTER-ADDR-BY-NAME ${masterName}`).catch(() => '');
      const masterPort = Number(/\r\n\$\d+\r\n(\d+)\r\n/.exec(reply)?.[1]);
      if (masterPort > 0) return masterPort;
    }
    throw new Error('No sentinel knows the master.');
  }

  async #knowsOthers(port: number): Promise<boolean> {
    const info = await this.#request(port, 'INFO sentinel').catch(() => '');
    return /slaves=2,sentinels=3/.test(info);
  }

  /** Sends a command to a sentinel. */
  #request(port: number, command: string): Promise<string> {
    const { sentinelPassword, tls } = this.#options;
    const target = { host: '127.0.0.1', port };
    const commands = [...(sentinelPassword === undefined ? [] : [`AUTH ${sentinelPassword}`]), command];
    return sendInlineCommands(
      (onConnect) =>
        tls === undefined
          ? connect(target, onConnect)
          : connectEncrypted({ ...target, rejectUnauthorized: false }, onConnect),
      commands,
    );
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#sentinels, ...this.#servers].map((server) => server.remove()));
  }
}
