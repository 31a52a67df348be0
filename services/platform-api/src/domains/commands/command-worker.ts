import { commandQueued, commandSent, subscribe } from '@fleet/bus';
import { readDevices } from '@fleet/storage';
import type { Config } from '../../assembly/config.ts';
import { type AttemptDeps, AttemptRunner } from './attempt-runner.ts';
import { notifyFailures } from './events.ts';
import { QueueRunner } from './queue-runner.ts';
import { QueueScheduler } from './queue-scheduler.ts';
import { CommandQueue, type WaitingCommand } from './store.ts';

/** Intervals, timeouts and limits of the worker. */
export interface WorkerTimings {
  readonly pollIntervalMs: number;
  /** Time that a terminal has to respond. */
  readonly replyTimeoutMs: number;
  /** Time without a renewal after which the owner of a queue counts as dead. */
  readonly leaseTtlMs: number;
  /** Number of commands that one poll reads. */
  readonly pageSize: number;
  /** Number of queues that one replica processes concurrently. */
  readonly concurrency: number;
}

/** Returns the timings from the settings. */
export const workerTimings = (config: Pick<Config, 'COMMAND_POLL_MS' | 'COMMAND_REPLY_TIMEOUT_MS'>): WorkerTimings => ({
  pollIntervalMs: config.COMMAND_POLL_MS,
  replyTimeoutMs: config.COMMAND_REPLY_TIMEOUT_MS,
  leaseTtlMs: 15_000,
  pageSize: 10_000,
  concurrency: 500,
});

/**
 * Processes the command queues: one command at a time per terminal, while it is connected. Any number of replicas run a
 * worker; a lease selects one per terminal. After a crash, the next replica resumes the attempt in flight under its
 * name, so that the terminal gets the command once.
 *
 * The worker polls for waiting commands, `QueueScheduler` selects the queues, and `QueueRunner` processes each.
 */
export class CommandWorker {
  readonly #deps: AttemptDeps;
  readonly #timings: WorkerTimings;
  readonly #queue: CommandQueue;
  readonly #scheduler: QueueScheduler;
  readonly #runner: QueueRunner;
  readonly #subscriptions: readonly { stop(): void }[];
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  /** Id of the last command that a poll has read; 0 to start with the oldest. */
  #cursor = 0;

  constructor(deps: AttemptDeps, timings: WorkerTimings) {
    const { replyTimeoutMs, leaseTtlMs } = timings;
    const stopped = this.#stopped.signal;
    const scheduler = new QueueScheduler(timings);
    const queue = new CommandQueue(deps.database);
    const attempts = new AttemptRunner(deps, queue, {
      stopped,
      onDeviceUnavailable: (imei, delayMs) => scheduler.coolDown(imei, performance.now() + delayMs),
    });
    const mustYield = (): boolean => scheduler.isSaturated;
    this.#deps = deps;
    this.#timings = timings;
    this.#queue = queue;
    this.#scheduler = scheduler;
    this.#runner = new QueueRunner(deps, queue, attempts, { replyTimeoutMs, leaseTtlMs, stopped, mustYield });
    const onError = (error: unknown): void =>
      deps.log.warn({ err: error }, 'received an invalid message about commands');
    this.#subscriptions = [
      subscribe(deps.bus, commandQueued, onError, ({ imei }) => this.#startQueue(imei, false)),
      subscribe(deps.bus, commandSent, onError, ({ commandId, ...frame }) => attempts.markSent(commandId, frame)),
    ];
    this.#polling = this.#schedulePoll();
  }

  /** Stops the worker. Attempts in flight are resumed by another replica or after the next start. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) subscription.stop();
    await this.#polling;
    await Promise.allSettled(this.#scheduler.running.map((imei) => this.#runner.releaseLease(imei)));
  }

  async #schedulePoll(): Promise<void> {
    try {
      await this.#poll();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'could not read the command queue');
    }
    if (this.#stopped.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#schedulePoll();
    }, this.#timings.pollIntervalMs);
  }

  /** Reads a page of waiting commands and starts their queues. */
  async #poll(): Promise<void> {
    const now = new Date();
    await this.#queue.expire(now);
    // Failures that cannot be published now are retried at the next poll. The queue does not wait for them.
    await notifyFailures(this.#deps).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'could not publish the failures of commands');
    });
    const { pageSize } = this.#timings;
    const waiting = await this.#queue.listWaiting(pageSize, this.#cursor);
    const isFirst = this.#cursor === 0;
    const isLast = waiting.length < pageSize;
    // Continues after the last command of the page, so that commands for terminals that are offline for weeks do not
    // hide later ones.
    this.#cursor = isLast ? 0 : (waiting.at(-1)?._id ?? 0);
    const due = waiting.filter(({ flight, notBefore }) => flight !== null || notBefore === null || notBefore <= now);
    const allWaiting = isFirst && isLast ? new Set(waiting.map(({ imei }) => imei)) : null;
    this.#scheduler.evictStale(allWaiting, performance.now());
    await this.#startQueues(due);
    if (isLast) this.#scheduler.endScan();
  }

  async #startQueues(due: readonly WaitingCommand[]): Promise<void> {
    const dueImeis = due.map(({ imei }) => imei);
    const imeis = this.#scheduler.withoutCooldown(dueImeis, performance.now());
    if (imeis.length === 0) return;
    const sessions = await readDevices(this.#deps.redis, imeis);
    const viaPartners = await this.#deps.partnerChannels.filterReachable(imeis.filter((imei) => !sessions.has(imei)));
    const connected = new Set([...sessions.keys(), ...viaPartners]);
    // A wake-up also targets disconnected terminals, and an attempt in flight must be completed.
    const always = new Set(
      due.filter(({ type, flight }) => type === 'wakeup' || flight !== null).map(({ imei }) => imei),
    );
    for (const imei of this.#scheduler.leastRecentlyServed(imeis))
      if (connected.has(imei) || always.has(imei)) this.#startQueue(imei, sessions.has(imei));
  }

  /** Processes a queue in the background unless the scheduler defers it. */
  #startQueue(imei: string, isConnected: boolean): void {
    if (this.#stopped.signal.aborted || !this.#scheduler.tryStart(imei, performance.now())) return;
    this.#runner
      .run(imei, isConnected)
      .catch((error: unknown) => this.#deps.log.warn({ err: error, imei }, 'could not process a command queue'))
      .finally(() => this.#scheduler.finish(imei));
  }
}
