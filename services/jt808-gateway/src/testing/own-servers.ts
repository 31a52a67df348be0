import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bus } from '@fleet/bus';
import { freePort } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { until } from './harness.ts';

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Whether the broker answers a ping in time. */
const isAnswered = (bus: Bus): Promise<boolean> =>
  Promise.race([
    bus.nc.flush().then(
      () => true,
      () => false,
    ),
    new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), 300);
    }),
  ]);

/** A server that a test may kill and start again with its data; `remove` ends it and deletes them. */
export class OwnServer {
  readonly port: number;
  readonly #binary: string;
  readonly #folder: string;
  readonly #args: (port: number, folder: string) => string[];
  #process: ChildProcess | undefined;

  constructor(binary: string, port: number, args: (port: number, folder: string) => string[]) {
    this.#binary = binary;
    this.port = port;
    this.#args = args;
    this.#folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  }

  /** A broker with JetStream; `settings` are lines of its configuration file. */
  static async nats(settings = ''): Promise<OwnServer> {
    const args = (port: number, folder: string): string[] => {
      const file = join(folder, 'nats.conf');
      writeFileSync(file, settings);
      return ['-c', file, '-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder];
    };
    return OwnServer.#started('NATS_SERVER_BIN', args);
  }

  static async redis(): Promise<OwnServer> {
    const args = (port: number, folder: string): string[] => [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    return OwnServer.#started('REDIS_SERVER_BIN', args);
  }

  static async #started(variable: string, args: (port: number, folder: string) => string[]): Promise<OwnServer> {
    const binary = process.env[variable];
    if (binary === undefined || binary === '') throw new Error(`${variable} is not set: run the tests by npm test`);
    const server = new OwnServer(binary, await freePort(), args);
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    this.#process = spawn(this.#binary, this.#args(this.port, this.#folder), { stdio: 'ignore' });
    await until(() => answers(this.port), `${this.#binary} listens`);
  }

  /** Stops a broker where it is, until `goOn`; a process of many threads works on for a moment, so this waits until `bus` is answered no more. */
  async hang(bus: Bus): Promise<void> {
    this.#process?.kill('SIGSTOP');
    await until(async () => !(await isAnswered(bus)), 'the broker hangs');
  }

  goOn(): void {
    this.#process?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const exited = once(running, 'exit');
    running.kill('SIGKILL');
    await exited;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
