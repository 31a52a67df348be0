import { runDetached } from '@fleet/service-kit';
import type { DeliveryRepository, DeliverySchedule, DueDelivery, ReplayQueue } from '@fleet/storage';
import type { EndpointBulkhead, EndpointBulkheads } from '../net/endpoint-bulkhead.ts';
import type { Attempts } from './attempts.ts';

/** Dependencies of the poll. */
export interface SweepDeps {
  readonly records: {
    readonly deliveries: Pick<DeliveryRepository, 'restart'>;
    readonly schedule: Pick<DeliverySchedule, 'set' | 'findDue'>;
    readonly replays: Pick<ReplayQueue, 'claimDue' | 'delete'>;
  };
  readonly attempts: Pick<Attempts, 'runScheduled' | 'leaseUntilMs'>;
  readonly bulkheads: EndpointBulkheads;
  readonly replayPerSecond: number;
  readonly onError: (error: unknown) => void;
}

/** Attempts of one poll, and attempts of one webhook that wait in memory for its slots. */
const readBatchSize = 2_000;
const maxQueued = 200;

/**
 * Starts due attempts, up to the free slots of each webhook: the rest stays in the database and delays no other
 * webhook.
 */
export class Sweep {
  readonly #deps: SweepDeps;
  readonly #inFlight = new Set<Promise<void>>();
  /** By webhook. */
  readonly #queues = new Map<number, DueDelivery[]>();
  /** Queued or in progress. */
  readonly #queuedIds = new Set<string>();
  /**
   * Start of the next second of each webhook's replays, by this process's clock: late parts, as after an outage, still
   * follow one another.
   */
  readonly #nextReplayMs = new Map<number, number>();
  #isStopped = false;

  constructor(deps: SweepDeps) {
    this.#deps = deps;
  }

  /** Polls all webhooks once. */
  async run(): Promise<void> {
    const { records, bulkheads } = this.#deps;
    await this.#replay();
    this.#resumeQueues();
    for (let isMore = true; isMore && !this.#isStopped; ) {
      const excluded = new Set([...bulkheads.withoutSlots, ...this.#queues.keys()]);
      const due = await records.schedule.findDue([...excluded], readBatchSize);
      const added = due.filter((each) => this.#enqueue(each));
      for (const webhookId of new Set(added.map((each) => each.webhookId))) this.drain(bulkheads.get(webhookId));
      isMore = due.length === readBatchSize && added.length > 0;
    }
    bulkheads.evictIdle();
  }

  /** Starts an attempt as soon as a slot is free, without waiting for the next poll. */
  start(due: DueDelivery): void {
    if (this.#enqueue(due)) this.drain(this.#deps.bulkheads.get(due.webhookId));
  }

  /** Starts queued attempts of one webhook, up to its free slots. */
  drain(bulkhead: EndpointBulkhead): void {
    const queue = this.#queues.get(bulkhead.webhookId) ?? [];
    while (!this.#isStopped && bulkhead.freeSlots > 0) {
      const due = queue.shift();
      if (due === undefined) break;
      this.#start(bulkhead, due);
    }
    if (queue.length === 0) this.#queues.delete(bulkhead.webhookId);
  }

  /** Starts no more attempts and waits for those in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#inFlight);
  }

  #enqueue(due: DueDelivery): boolean {
    const queue = this.#queues.get(due.webhookId) ?? [];
    if (this.#queuedIds.has(due._id) || queue.length >= maxQueued) return false;
    this.#queues.set(due.webhookId, queue);
    this.#queuedIds.add(due._id);
    queue.push(due);
    return true;
  }

  /** Dequeues attempts of a paused webhook: they are found again when it resumes. */
  #resumeQueues(): void {
    for (const [webhookId, queue] of this.#queues) {
      const bulkhead = this.#deps.bulkheads.get(webhookId);
      if (bulkhead.blockedUntilMs === null) {
        this.drain(bulkhead);
        continue;
      }
      for (const { _id } of queue) this.#queuedIds.delete(_id);
      this.#queues.delete(webhookId);
    }
  }

  #start(bulkhead: EndpointBulkhead, due: DueDelivery): void {
    // The caller may be another delivery that has freed its slot.
    const attempt = runDetached(() => this.#deps.attempts.runScheduled(bulkhead, due))
      .catch((error: unknown) => this.#deps.onError(error))
      .finally(() => {
        this.#queuedIds.delete(due._id);
        this.#inFlight.delete(attempt);
      });
    this.#inFlight.add(attempt);
  }

  /**
   * Spreads the deliveries of one replay second over it. Repeated after a crash, it finds most of them retried already.
   */
  async #replay(): Promise<void> {
    const { records, attempts, replayPerSecond } = this.#deps;
    for (const { _id, webhookId, deliveryIds } of await records.replays.claimDue(attempts.leaseUntilMs())) {
      const beginMs = Date.now() + this.#reserveSecond(webhookId);
      for (const [at, id] of deliveryIds.entries()) {
        const dueAtMs = beginMs + Math.floor((at * 1_000) / replayPerSecond);
        // Pending before it is due, as with a retry: the poll of another replica may find it immediately.
        await records.deliveries.restart(id, ['failed', 'skipped'], 'replay', dueAtMs);
        await records.schedule.set({ _id: id, webhookId, dueAtMs });
      }
      await records.replays.delete(_id);
    }
  }

  /** Returns the delay until a second without other replay parts of the webhook in this process. */
  #reserveSecond(webhookId: number): number {
    const nowMs = performance.now();
    for (const [id, nextMs] of this.#nextReplayMs) if (nextMs <= nowMs) this.#nextReplayMs.delete(id);
    const beginMs = this.#nextReplayMs.get(webhookId) ?? nowMs;
    this.#nextReplayMs.set(webhookId, beginMs + 1_000);
    return Math.round(beginMs - nowMs);
  }
}
