// Processes of a test, each with a log of its own, that end with it in reverse order.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const stopTimeoutMs = 20_000;
const lastLogLines = 20;

/** Returns an unused port of this machine. */
export async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('The system returned no port.');
  return address.port;
}

/** Waits until `check` resolves to true. Throws after `timeoutMs`, with the last fault. */
export async function waitUntil(what, check, { timeoutMs = 60_000, intervalMs = 250 } = {}) {
  const deadline = performance.now() + timeoutMs;
  let fault = '';
  for (;;) {
    try {
      if (await check()) return;
    } catch (error) {
      fault = `: ${error.message}`;
    }
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${timeoutMs / 1_000} s${fault}`);
    await sleep(intervalMs);
  }
}

/** Manages the processes of a test. */
export class Processes {
  #running = [];
  #folder;

  /** @param {string} folder receives the logs */
  constructor(folder) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Starts a program, whose output goes to `<name>.log`. `beforeStop` runs before the program is stopped. */
  start(name, command, args, { beforeStop = () => {}, ...options } = {}) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    const log = createWriteStream(join(this.#folder, `${name}.log`));
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
    // Not `close`: a child of the program may hold its output.
    const ended = once(child, 'exit').then(() => log.end());
    this.#running.push({ name, child, ended, beforeStop });
    return child;
  }

  /** Throws if a process has ended, with the last lines of its log. */
  check() {
    for (const { name, child } of this.#running) {
      if (child.exitCode === null && child.signalCode === null) continue;
      const lines = readFileSync(join(this.#folder, `${name}.log`), 'utf8')
        .trimEnd()
        .split('\n');
      throw new Error(`${name} ended:\n${lines.slice(-lastLogLines).join('\n')}`);
    }
  }

  /** Stops all processes, the newest first. Kills one that does not end in time. */
  async stop() {
    for (const { child, ended, beforeStop } of this.#running.reverse()) {
      beforeStop();
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await ended;
      clearTimeout(killer);
    }
    this.#running = [];
  }
}
