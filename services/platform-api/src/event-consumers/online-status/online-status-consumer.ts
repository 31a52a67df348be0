import { sessionChanged, subscribe } from '@fleet/bus';
import { type Running, runPeriodically } from '@fleet/service-kit';
import type { DelayedJobs } from '@fleet/storage';
import pLimit from 'p-limit';
import { findOnlineDevices } from '../../domains/vehicles/devices.ts';
import type { ReturningTerminals } from '../../telemetry/publish-positions.ts';
import type { EventConsumerDeps } from '../vehicle-events.ts';
import { type CheckBatch, CheckQueue } from './check-queue.ts';
import { type DelayedCheck, OnlineStatusChecker } from './online-status-checker.ts';
import type { StatusCheck } from './online-status-rules.ts';
import { createCheckSchedule, OnlineStatusStore } from './online-status-store.ts';

/** Poll interval and timeout of the online status. */
export interface OnlineStatusTimings {
  readonly pollIntervalMs: number;
  /** A returning terminal most likely reports within this time: its state is then published once. */
  readonly firstReportTimeoutMs: number;
}

const defaultTimings: OnlineStatusTimings = { pollIntervalMs: 10_000, firstReportTimeoutMs: 3_000 };

const batchSize = 200;
const concurrency = 8;
const retryMs = 5_000;
/** Time after which another replica checks the terminals of a crashed one. */
const takenTtlMs = 60_000;
/** Number of terminals whose last check this process remembers, so that each is checked only now and then. */
const maxRemembered = 500_000;

/** Starts detecting terminals that go offline and return. */
export const startOnlineStatusConsumer = (
  deps: EventConsumerDeps,
  timings: OnlineStatusTimings = defaultTimings,
): OnlineStatusConsumer => new OnlineStatusConsumer(deps, timings);

/**
 * Detects terminals that go offline and return: `device_offline` after a long silence, `device_online` at the next
 * report, and `status` for websockets. Any number of replicas share the work. The last status is in Redis, and the
 * offline state also in MongoDB.
 */
export class OnlineStatusConsumer implements Running {
  readonly #deps: EventConsumerDeps;
  readonly #schedule: DelayedJobs;
  readonly #checker: OnlineStatusChecker;
  readonly #queue: CheckQueue;
  /** Time of the last check because of a report. */
  readonly #checkedAtMs = new Map<string, number>();
  readonly #subscription: { stop(): void };
  readonly #stopPolling: () => Promise<void>;
  #isStopped = false;

  constructor(deps: EventConsumerDeps, timings: OnlineStatusTimings) {
    this.#deps = deps;
    this.#schedule = createCheckSchedule(deps.redis);
    const store = new OnlineStatusStore(deps.redis);
    this.#checker = new OnlineStatusChecker({ ...deps, store, schedule: this.#schedule }, timings.firstReportTimeoutMs);
    this.#queue = new CheckQueue({
      batchSize,
      runBatch: (batch) => this.#checkAll(batch),
      onError: (batch, error) => {
        // The next report, session or poll checks again.
        for (const [imei] of batch) this.#checkedAtMs.delete(imei);
        deps.log.warn({ err: error }, 'could not check the online status');
      },
    });
    this.#subscription = subscribe(
      deps.bus,
      sessionChanged,
      (error) => deps.log.warn({ err: error }, 'invalid session event'),
      ({ imei }) => this.#queue.add(imei, { trigger: 'session' }),
      sessionChanged.subject,
      'platform-presence',
    );
    this.#stopPolling = runPeriodically(
      timings.pollIntervalMs,
      () => this.checkDue(),
      (error) => deps.log.warn({ err: error }, 'could not check for terminals that went offline'),
    );
  }

  /** Handles reports of terminals; cheap, because it is called for each report. */
  onReports(imeis: Iterable<string>, returned: ReturningTerminals, nowMs = Date.now()): void {
    for (const imei of imeis) {
      const checkedAtMs = this.#checkedAtMs.get(imei);
      const returnedMs = returned.get(imei);
      // Well before the terminal could be considered offline.
      const isFresh = checkedAtMs !== undefined && nowMs - checkedAtMs < this.#deps.thresholds.offlineAfterMs / 2;
      if (isFresh && returnedMs === undefined) continue;
      if (this.#checkedAtMs.size >= maxRemembered) this.#checkedAtMs.clear();
      this.#checkedAtMs.set(imei, nowMs);
      this.#queue.add(imei, { trigger: 'report', ...(returnedMs === undefined ? {} : { returnedMs }) });
    }
  }

  /** Checks all due terminals once; each is checked by one replica. */
  async checkDue(nowMs = Date.now()): Promise<void> {
    if (!(await this.#schedule.isInitialized())) await this.#rebuildSchedule(nowMs);
    while (!this.#isStopped) {
      const imeis = await this.#schedule.takeDue(nowMs, batchSize, takenTtlMs);
      await this.#checkAll(imeis.map((imei) => [imei, { trigger: 'time' }] as const));
      if (imeis.length < batchSize) return;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#subscription.stop();
    await Promise.all([this.#queue.stop(), this.#stopPolling()]);
  }

  /** Rebuilds the schedule after a loss of Redis: every online terminal is due after one silence from now. */
  async #rebuildSchedule(nowMs: number): Promise<void> {
    let after = '';
    for (;;) {
      const page = await findOnlineDevices(this.#deps.database, after, 1_000);
      const imeis = page.map(({ _id }) => _id);
      await this.#schedule.scheduleMissing(imeis, nowMs + this.#deps.thresholds.offlineAfterMs);
      const last = imeis.at(-1);
      if (last === undefined) break;
      after = last;
    }
    await this.#schedule.markInitialized();
  }

  /** Checks terminals; throws the first failure once all have ended. */
  async #checkAll(batch: CheckBatch): Promise<void> {
    const limit = pLimit(concurrency);
    const checks = batch.map(([imei, check]) => limit(() => this.#checkOne(imei, check)));
    const failed = (await Promise.allSettled(checks)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #checkOne(imei: string, check: StatusCheck): Promise<void> {
    try {
      const later = await this.#checker.check(imei, check);
      if (later !== null) await this.#checkLater(imei, later);
    } catch (error) {
      await this.#checkLater(imei, { check, delayMs: retryMs });
      throw error;
    }
  }

  /** Checks after a delay; the schedule repeats it in case this process crashes. */
  async #checkLater(imei: string, { check, delayMs }: DelayedCheck): Promise<void> {
    const dueMs = Date.now() + delayMs;
    this.#queue.addLater(imei, check, delayMs);
    try {
      await this.#schedule.schedule(imei, dueMs + retryMs);
    } catch (error) {
      // Needed after a crash only: this process has its timer.
      this.#deps.log.warn({ err: error, imei }, 'could not schedule an online check');
    }
  }
}
