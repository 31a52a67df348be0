import nodeModule from 'node:module';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { hostname } from 'node:os';
import { startTracing, stopTracing } from '../tracing/start-tracing.ts';
import type { Logger } from './log.ts';

/** Something that runs until it is stopped. */
export interface Running {
  stop(): Promise<void>;
  /** Shortens a running stop without a loss. */
  forceStop?(): void;
}

interface Step {
  readonly name: string;
  readonly stop: () => Promise<void> | void;
}

/** Collects started parts and stops them in reverse order; a failing part does not prevent the others from stopping. */
export class Lifecycle implements Running {
  readonly #log: Logger;
  readonly #stepTimeoutMs: number;
  readonly #steps: Step[] = [];
  #stopping: Promise<void> | undefined;
  #isStarted = false;

  constructor(log: Logger, options: { stepTimeoutMs?: number } = {}) {
    this.#log = log;
    this.#stepTimeoutMs = options.stepTimeoutMs ?? 100_000;
  }

  /** True once all parts have started. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Reports that all parts have started; the service is not ready before. */
  markStarted(): void {
    this.#isStarted = true;
  }

  /** True from the first call of `stop`. */
  get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Registers the stop of a started part. */
  onStop(name: string, stop: () => Promise<void> | void): void {
    this.#steps.push({ name, stop });
  }

  /** Stops everything once; later calls wait for the same stop. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const step of this.#steps.toReversed()) {
      const startedAtMs = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new Error(`did not stop within ${this.#stepTimeoutMs} ms`)),
          this.#stepTimeoutMs,
        );
      });
      try {
        await Promise.race([step.stop(), timeout]);
        this.#log.debug({ step: step.name, tookMs: Math.round(performance.now() - startedAtMs) }, 'stopped a part');
      } catch (error) {
        this.#log.error({ err: error, step: step.name }, 'a part did not stop cleanly');
      } finally {
        clearTimeout(timer);
      }
    }
  }
}

/** Returns the name of this process in the cluster, for subjects and keys: POD_ID, or host name and process id. */
export const getPodId = (configured: string | undefined): string =>
  configured ??
  `${hostname()
    .replace(/[^A-Za-z0-9-]/g, '-')
    .slice(0, 40)}-${process.pid}`;

/** How long a stop waits for a start in progress. */
const startGraceMs = 2_000;
/** Time from the start until NODE_COMPILE_CACHE is written, after the first requests. */
const flushDelayMs = 5_000;
/** Time-out of a connection to one of several addresses. */
const addressAttemptTimeoutMs = 1_000;

/**
 * Writes the cache of NODE_COMPILE_CACHE, which Node.js does only at the exit: a killed process would have none. Needs
 * Node.js 22.10.
 */
function storeCompiledCode(): void {
  const flush: unknown = Reflect.get(nodeModule, 'flushCompileCache');
  if (typeof flush === 'function') flush();
}

/** Longest wait for the output of the last log lines. */
const logFlushTimeoutMs = 1_000;

/** Ends this process once its log is written, or after a second if its reader is blocked. */
export function exitAfterFlush(log: Pick<Logger, 'flush'>, code: number): void {
  const timer = setTimeout(() => process.exit(code), logFlushTimeoutMs);
  log.flush(() => {
    clearTimeout(timer);
    process.exit(code);
  });
}

/**
 * Runs a service as this process: starts it, stops it on SIGTERM and SIGINT (and when a launcher's IPC channel closes),
 * and exits. A second signal shortens the stop. A failed start is one log line and exit code 1.
 */
export async function runService(log: Logger, start: () => Promise<Running>): Promise<void> {
  // Node.js would allow 250 ms for each address except the last. Distant providers with a second, unreachable address
  // would then
  // never be reached.
  setDefaultAutoSelectFamilyAttemptTimeout(addressAttemptTimeoutMs);
  let running: Running | undefined;
  let stopRequested: string | undefined;
  const stop = (reason: string): void => {
    if (stopRequested !== undefined) {
      running?.forceStop?.();
      return;
    }
    stopRequested = reason;
    log.info({ reason }, 'stopping');
    if (running !== undefined) void finish(running);
    else exitUnlessStarted();
  };
  // A start may wait for a backend forever; nothing that needs draining runs yet.
  const exitUnlessStarted = (): void => {
    setTimeout(() => {
      if (running !== undefined) return;
      log.info('stopped before the start was complete');
      exitAfterFlush(log, 0);
    }, startGraceMs);
  };
  const finish = async (service: Running): Promise<void> => {
    await service.stop();
    await stopTracing(log);
    log.info('stopped');
    exitAfterFlush(log, 0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  if (process.connected) process.on('disconnect', () => stop('launcher gone'));
  process.on('unhandledRejection', (error) => {
    // An internal fault: the process state is unknown, so the supervisor starts a new process.
    log.fatal({ err: error }, 'unhandled rejection');
    exitAfterFlush(log, 1);
  });
  try {
    await startTracing(String(log.bindings()['service']), log, process.env);
    running = await start();
  } catch (error) {
    log.fatal({ err: error }, error instanceof Error ? error.message : 'start failed');
    exitAfterFlush(log, 1);
    return;
  }
  setTimeout(storeCompiledCode, flushDelayMs).unref();
  if (stopRequested !== undefined) await finish(running);
}
