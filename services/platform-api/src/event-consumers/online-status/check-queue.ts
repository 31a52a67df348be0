import { setTimeout as delay } from 'node:timers/promises';
import { mergeChecks, type StatusCheck } from './online-status-rules.ts';

/** Checks by canonical number. */
export type CheckBatch = readonly (readonly [imei: string, check: StatusCheck])[];

interface QueueOptions {
  readonly batchSize: number;
  readonly runBatch: (batch: CheckBatch) => Promise<void>;
  readonly onError: (batch: CheckBatch, error: unknown) => void;
}

interface TimedCheck {
  readonly timer: NodeJS.Timeout;
  readonly dueMs: number;
  check: StatusCheck;
}

/** Collects the checks of this process and runs them in batches; concurrent checks of one terminal become one. */
export class CheckQueue {
  readonly #options: QueueOptions;
  readonly #waiting = new Map<string, StatusCheck>();
  readonly #timed = new Map<string, TimedCheck>();
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  add(imei: string, check: StatusCheck): void {
    const waiting = this.#waiting.get(imei);
    this.#waiting.set(imei, waiting === undefined ? check : mergeChecks(waiting, check));
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** Adds a check after a delay. An earlier one of the same terminal takes it over. */
  addLater(imei: string, check: StatusCheck, delayMs: number): void {
    if (this.#isStopped) return;
    const dueMs = Date.now() + delayMs;
    const timed = this.#timed.get(imei);
    const merged = timed === undefined ? check : mergeChecks(timed.check, check);
    if (timed !== undefined && timed.dueMs <= dueMs) {
      timed.check = merged;
      return;
    }
    clearTimeout(timed?.timer);
    const timer = setTimeout(() => {
      const due = this.#timed.get(imei);
      this.#timed.delete(imei);
      this.add(imei, due?.check ?? check);
    }, delayMs);
    this.#timed.set(imei, { timer, dueMs, check: merged });
  }

  /** Drops waiting checks, and waits for the running ones. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { timer } of this.#timed.values()) clearTimeout(timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    // Reports of one iteration of the event loop are checked together.
    await delay(0);
    while (this.#waiting.size > 0 && !this.#isStopped) {
      const batch = [...this.#waiting].slice(0, this.#options.batchSize);
      for (const [imei] of batch) this.#waiting.delete(imei);
      try {
        await this.#options.runBatch(batch);
      } catch (error) {
        this.#options.onError(batch, error);
      }
    }
    // In the same step as the comparison above: a check that is added later starts another run.
    this.#isRunning = false;
  }
}
