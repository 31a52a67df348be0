import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { waitFor } from '@fleet/testing';
import { freePort } from './free-port.ts';
import type { ProductHarness } from './harness.ts';

/** Services of which a test starts another replica. */
type Service = 'platform-api' | 'jt1078-media';

/** Ports of a replica, by the setting that names them. */
const portSettings = {
  'platform-api': ['HTTP_PORT', 'ADMIN_PORT'],
  'jt1078-media': ['HTTP_PORT', 'ADMIN_PORT', 'MEDIA_LIVE_PORT', 'MEDIA_HISTORY_PORT', 'MEDIA_TALK_PORT'],
} as const satisfies Record<Service, readonly string[]>;

let replicaCount = 0;

/** Another replica of a service, with the backends and the settings of the process that the launcher runs. */
export class ServiceReplica {
  readonly #child: ChildProcess;
  /** Its ports, by setting. */
  readonly ports: Readonly<Record<string, string>>;

  private constructor(child: ChildProcess, ports: Readonly<Record<string, string>>) {
    this.#child = child;
    this.ports = ports;
  }

  static async start(harness: ProductHarness, service: Service): Promise<ServiceReplica> {
    const ports: Record<string, string> = {};
    for (const name of portSettings[service])
      ports[name] = String(await freePort(...Object.values(ports).map((port) => Number(port))));
    replicaCount += 1;
    const child = spawn(process.execPath, [resolve(`services/${service}/dist/bundle/main.js`)], {
      env: {
        ...readSettings(harness, service),
        ...ports,
        POD_ID: `replica-${process.pid}-${replicaCount}`,
        ...(service === 'jt1078-media' ? { MEDIA_HTTP_URL: `http://127.0.0.1:${ports['HTTP_PORT'] ?? ''}` } : {}),
      },
      stdio: 'ignore',
    });
    // A test run that ends early leaves no process running.
    process.once('exit', () => child.kill('SIGKILL'));
    const replica = new ServiceReplica(child, ports);
    try {
      await waitFor(() => replica.#isReady(), `another ${service}`, 60_000);
      return replica;
    } catch (error) {
      await replica.stop('SIGKILL');
      throw error;
    }
  }

  /** Address of its HTTP port. */
  get url(): string {
    return `http://127.0.0.1:${this.ports['HTTP_PORT'] ?? ''}`;
  }

  /** Sends SIGTERM, or SIGKILL on request, and resolves when the process has exited. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise<void>((done) => {
      this.#child.once('exit', () => done());
    });
    this.#child.kill(signal);
    await ended;
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`http://127.0.0.1:${this.ports['ADMIN_PORT'] ?? ''}/readyz`)).status === 200;
    } catch (error) {
      // It does not listen yet. System errors are not instances of the Error class of the test realm.
      if (typeof error === 'object' && error !== null && 'name' in error && error.name === 'TypeError') return false;
      throw error;
    }
  }
}

/** Returns the environment of the process that the launcher runs. */
function readSettings({ product }: ProductHarness, service: Service): Record<string, string> {
  const pid = product.runtime.processes[service];
  const lines = readFileSync(`/proc/${String(pid)}/environ`, 'utf8').split('\0');
  return Object.fromEntries(
    lines
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
