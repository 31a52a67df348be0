import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { ServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

/** Starts and elections take this long on a machine under load. */
const readyTimeoutMs = 120_000;

interface Member {
  readonly server: ServerProcess;
  readonly monitorPort: number;
}

/** Runs the servers of a NATS cluster with JetStream, each of which may be killed and restarted. */
export class NatsCluster {
  readonly #members: readonly Member[];
  readonly #dir: string;

  private constructor(members: readonly Member[], dir: string) {
    this.#members = members;
    this.#dir = dir;
  }

  /** Starts one server for each list of tags; three by default. */
  static async start(tags: readonly (readonly string[])[] = [[], [], []]): Promise<NatsCluster> {
    const dir = mkdtempSync(join(tmpdir(), 'fleet-nats-'));
    const ports = await Promise.all(tags.map(async () => ({ cluster: await freePort(), monitor: await freePort() })));
    const routes = ports.map(({ cluster }) => `nats://127.0.0.1:${cluster}`);
    const members = await Promise.all(
      ports.map(async ({ cluster, monitor }, index): Promise<Member> => {
        const file = join(dir, `${index}.conf`);
        writeFileSync(file, formatConfig({ index, cluster, monitor, routes, tags: tags[index] ?? [] }));
        return { server: await ServerProcess.nats(['-c', file]), monitorPort: monitor };
      }),
    );
    const cluster = new NatsCluster(members, dir);
    await Promise.all(members.map(({ server }) => server.start()));
    await cluster.waitUntilHealthy();
    return cluster;
  }

  /** Addresses of all servers, separated by commas. */
  get url(): string {
    return this.#members.map(({ server }) => `nats://127.0.0.1:${server.port}`).join(',');
  }

  /** Returns the address of one server. */
  urlOf(index: number): string {
    return `nats://127.0.0.1:${this.#member(index).server.port}`;
  }

  /** Kills one server with SIGKILL. */
  kill(index: number): Promise<void> {
    return this.#member(index).server.kill();
  }

  /** Starts a killed server, and waits until its streams have caught up. */
  async restart(index: number): Promise<void> {
    await this.#member(index).server.start();
    await this.waitUntilHealthy();
  }

  /** Waits until each server has a leader and the latest data. */
  async waitUntilHealthy(): Promise<void> {
    for (const { monitorPort } of this.#members)
      await waitFor(() => isHealthy(monitorPort), `the NATS server with port ${monitorPort}`, readyTimeoutMs);
  }

  /** Stops all servers and deletes their data. */
  async remove(): Promise<void> {
    await Promise.all(this.#members.map(({ server }) => server.remove()));
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`The cluster has no server ${index}.`);
    return member;
  }
}

interface MemberSettings {
  readonly index: number;
  readonly cluster: number;
  readonly monitor: number;
  readonly routes: readonly string[];
  readonly tags: readonly string[];
}

const formatConfig = ({ index, cluster, monitor, routes, tags }: MemberSettings): string =>
  [
    `server_name: n${index}`,
    `server_tags: ${JSON.stringify(tags)}`,
    'max_payload: 8MB',
    `http: "127.0.0.1:${monitor}"`,
    'jetstream { sync_interval: always }',
    `cluster { name: test, listen: "127.0.0.1:${cluster}", routes: ${JSON.stringify(routes)} }`,
  ].join('\n');

async function isHealthy(monitorPort: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${monitorPort}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    // Not started yet.
    return false;
  }
}
