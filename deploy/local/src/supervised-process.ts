import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode, StartError } from './start-error.ts';

/** A program that runs until it is stopped. */
export interface ProcessSpec {
  name: string;
  /** Processes start in ascending order and stop in descending order; equal tiers start and stop together. */
  tier: number;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Polled after the start until it returns true. */
  isReady: () => Promise<boolean>;
  readyTimeoutMs: number;
  /** Time after the stop until a second SIGTERM, which requests an exit without further waiting. */
  forceStopAfterMs?: number;
}

export interface ProcessHooks {
  /** Returns the delay before the nth restart in a row, n from 0. */
  backoffMs: (failures: number) => number;
  /** A process that ran for this time is stable: its next failure counts as the first. */
  stableAfterMs: number;
  onSpawn: (processGroup: number) => void;
  onExit: (processGroup: number) => void;
  onRestart: (reason: string, delayMs: number) => void;
}

const logRotateBytes = 10 * 1024 * 1024;
const readyPollMs = 50;
const tailLines = 8;

/** Signals a process group; does nothing if it does not exist. */
function signalGroup(processGroup: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-processGroup, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** Returns the last lines of a log, indented, for the diagnosis of a failure. */
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

/** Keeps one child running: starts it in its own process group, restarts it with backoff, and stops it permanently. */
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

  /** Starts the child and waits until it is ready. Throws a StartError if it exits or takes too long. */
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
    // The process may have exited since its last response, when no restart was scheduled yet.
    if (this.#endReason !== undefined) this.#scheduleRestart(this.#endReason);
  }

  /**
   * Stops the child and everything that it started: SIGTERM, a second one if the program supports it, then SIGKILL
   * after the grace period.
   */
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
        signalGroup(processGroup, 'SIGKILL'); // Ends what it left running, such as an ffmpeg.
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
