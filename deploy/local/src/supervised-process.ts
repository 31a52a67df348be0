import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode, StartError } from './start-error.ts';

/** One program that is to run until it is told to stop. */
export interface ProcessSpec {
  name: string;
  /** Started in rising order, stopped in falling order; equals start and stop together. */
  tier: number;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Asked again and again after the start, until true. */
  isReady: () => Promise<boolean>;
  readyTimeoutMs: number;
  /** At the stop, the time after which a second SIGTERM asks it to wait for nothing more. */
  forceStopAfterMs?: number;
}

export interface ProcessHooks {
  /** The delay before the nth restart in a row, n from 0. */
  backoffMs: (failures: number) => number;
  /** A process that lived this long has come up well: its next death is a first one. */
  stableAfterMs: number;
  onSpawn: (processGroup: number) => void;
  onExit: (processGroup: number) => void;
  onRestart: (reason: string, delayMs: number) => void;
}

const logRotateBytes = 10 * 1024 * 1024;
const readyPollMs = 50;
const tailLines = 8;

/** Signals a process group; nothing happens when it is gone. */
export function signalGroup(processGroup: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-processGroup, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** The last lines of a log, indented, for the one who has to find out why. */
export function logTail(logFile: string): string {
  if (!existsSync(logFile)) return '';
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n');
  return lines
    .slice(-tailLines)
    .map((line) => `    ${line.slice(0, 400)}`)
    .join('\n');
}

function openLog(logFile: string): number {
  mkdirSync(dirname(logFile), { recursive: true });
  if (existsSync(logFile) && statSync(logFile).size > logRotateBytes) renameSync(logFile, `${logFile}.1`);
  return openSync(logFile, 'a');
}

/** Keeps one child alive: starts it in a process group of its own, restarts it with back-off, stops it for good. */
export class SupervisedProcess {
  readonly spec: ProcessSpec;
  readonly #hooks: ProcessHooks;
  #child: ChildProcess | undefined;
  #phase: 'starting' | 'running' | 'stopping' = 'starting';
  #failures = 0;
  #spawnedAt = 0;
  #restartTimer: NodeJS.Timeout | undefined;
  #endReason: string | undefined;

  constructor(spec: ProcessSpec, hooks: ProcessHooks) {
    this.spec = spec;
    this.#hooks = hooks;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it and waits until it is ready; a StartError when it ends before, or takes too long. */
  async start(): Promise<void> {
    this.#spawn();
    const { name, logFile, readyTimeoutMs } = this.spec;
    const deadline = performance.now() + readyTimeoutMs;
    while (this.#phase === 'starting') {
      if (this.#endReason !== undefined) {
        throw new StartError(`${name} ended (${this.#endReason}) while it started; see ${logFile}:`, logTail(logFile));
      }
      if (await this.spec.isReady()) break;
      if (performance.now() > deadline) {
        const seconds = Math.round(readyTimeoutMs / 1000);
        throw new StartError(`${name} is not ready after ${seconds} s; see ${logFile}:`, logTail(logFile));
      }
      await sleep(readyPollMs);
    }
    if (this.#phase !== 'starting') return;
    this.#phase = 'running';
    // It may have died between its last answer and now; nobody was in charge of restarting it yet.
    if (this.#endReason !== undefined) this.#scheduleRestart(this.#endReason);
  }

  /** Ends it and everything it has started: SIGTERM, a second one where the program takes it, then SIGKILL after the grace. */
  async stop(graceMs: number): Promise<void> {
    this.#phase = 'stopping';
    clearTimeout(this.#restartTimer);
    const child = this.#child;
    if (child?.pid === undefined) return;
    const processGroup = child.pid;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const { forceStopAfterMs } = this.spec;
    const forceStopTimer =
      forceStopAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGTERM'), forceStopAfterMs);
    const killer = setTimeout(() => signalGroup(processGroup, 'SIGKILL'), graceMs);
    await ended;
    clearTimeout(forceStopTimer);
    clearTimeout(killer);
  }

  #spawn(): void {
    const { command, args, env, logFile } = this.spec;
    this.#endReason = undefined;
    this.#spawnedAt = performance.now();
    const log = openLog(logFile);
    const child = spawn(command, args, { env, stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#child = child;
    const processGroup = child.pid;
    if (processGroup !== undefined) this.#hooks.onSpawn(processGroup);
    child.once('error', (error) => this.#ended(child, error.message));
    child.once('exit', (code, signal) => {
      if (processGroup !== undefined) {
        signalGroup(processGroup, 'SIGKILL'); // whatever it left behind: an ffmpeg, say
        this.#hooks.onExit(processGroup);
      }
      this.#ended(child, signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  }

  #ended(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#endReason = reason;
    if (this.#phase === 'running') this.#scheduleRestart(reason);
  }

  #scheduleRestart(reason: string): void {
    if (performance.now() - this.#spawnedAt >= this.#hooks.stableAfterMs) this.#failures = 0;
    const delayMs = this.#hooks.backoffMs(this.#failures);
    this.#failures++;
    this.#restartTimer = setTimeout(() => this.#spawn(), delayMs);
    this.#hooks.onRestart(reason, delayMs);
  }
}
