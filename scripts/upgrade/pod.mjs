// One process of a service, as a pod of Kubernetes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../processes.mjs';

const readyTimeoutMs = 120_000;
/** The longest wait of a service for its commands. */
const drainTimeoutMs = 150_000;
/** Between the last new connection and SIGTERM; k8s/base waits ten seconds. */
const drainDelayMs = 1_000;

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
// A test that ends early leaves no process running.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A process of a service that runs. */
export class Pod {
  #child;

  /** @param {import('../../deploy/local/dist/supervised-process.js').ProcessSpec} spec */
  constructor(spec) {
    const log = openSync(spec.logFile, 'a');
    this.name = spec.name;
    this.#child = spawn(spec.command, spec.args, { env: spec.env, stdio: ['ignore', log, log] });
    closeSync(log);
    running.add(this.#child);
    this.#child.once('exit', () => running.delete(this.#child));
  }

  /** Starts a process, and resolves when it is ready. */
  static async start(spec) {
    const pod = new Pod(spec);
    await waitUntil(`the start of ${spec.name} (log: ${spec.logFile})`, () => spec.isReady(), {
      timeoutMs: readyTimeoutMs,
    });
    return pod;
  }

  /** Sends SIGTERM, and resolves when the process has ended. Throws if it does not end by itself. */
  async drain() {
    await sleep(drainDelayMs);
    const ended = once(this.#child, 'exit');
    if (!this.#child.kill('SIGTERM')) throw new Error(`${this.name} has ended before it was stopped.`);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), drainTimeoutMs);
    const [code, signal] = await ended;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`${this.name} ended with ${signal ?? `exit code ${code}`}.`);
  }

  kill() {
    this.#child.kill('SIGKILL');
  }
}
