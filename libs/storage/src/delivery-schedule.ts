import type { AnyBulkWriteOperation } from 'mongodb';
import type { Batcher } from './batcher.ts';
import { createWriteBatcher } from './collection-batchers.ts';
import type { DeliveryRepository } from './delivery-repository.ts';
import { type Collection, type Database, dropIndexIfExists } from './mongo.ts';
import type { DueDelivery } from './webhook-types.ts';

/** Options of the search for lost deliveries. */
interface RequeueOptions {
  /** Due before this time. */
  readonly beforeMs: number;
  readonly nowMs?: number;
  /** Checked after each delivery. */
  readonly shouldStop?: () => boolean;
  readonly batchSize?: number;
}

/** The embedded database scans all deliveries for each page, however large that is. */
const requeueBatchSize = 10_000;

/** Stores when the next attempt of each pending delivery is due. */
export class DeliverySchedule {
  readonly #deliveries: Pick<DeliveryRepository, 'findOverdue' | 'claimedUntilMs'>;
  readonly #due: Collection<DueDelivery>;
  readonly #writes: Batcher<AnyBulkWriteOperation<DueDelivery>, void>;
  /** Id of the last delivery that `requeueLost` has checked. */
  #requeueCursor = '';

  constructor(database: Database, deliveries: Pick<DeliveryRepository, 'findOverdue' | 'claimedUntilMs'>) {
    this.#deliveries = deliveries;
    this.#due = database.collection<DueDelivery>('webhook_due');
    this.#writes = createWriteBatcher(this.#due);
  }

  async ensureIndexes(): Promise<void> {
    await this.#due.createIndex({ dueAtMs: 1, webhookId: 1 });
    await dropIndexIfExists(this.#due, 'dueAtMs_1');
  }

  /** Schedules the next attempt, replacing an earlier schedule. */
  set(due: DueDelivery): Promise<void> {
    return this.#writes.add({ replaceOne: { filter: { _id: due._id }, replacement: due, upsert: true } });
  }

  delete(id: string): Promise<void> {
    return this.#writes.add({ deleteOne: { filter: { _id: id } } });
  }

  /** Returns due attempts, oldest first, without those of some webhooks. */
  findDue(exceptWebhookIds: readonly number[], limit: number, nowMs = Date.now()): Promise<DueDelivery[]> {
    const others = exceptWebhookIds.length === 0 ? {} : { webhookId: { $nin: [...exceptWebhookIds] } };
    return this.#due
      .find({ dueAtMs: { $lte: nowMs }, ...others })
      .sort({ dueAtMs: 1 })
      .limit(limit)
      .toArray();
  }

  async deleteAll(webhookId: number): Promise<void> {
    await this.#due.deleteMany({ webhookId });
  }

  /**
   * Requeues pending deliveries that a crash or a lost stream left without a dispatcher; returns their number. Checks
   * all of them, or continues in the next call when the time is over. A backlog of a slow receiver therefore hides no
   * lost delivery.
   */
  async requeueLost({
    beforeMs,
    nowMs = Date.now(),
    shouldStop = () => false,
    batchSize = requeueBatchSize,
  }: RequeueOptions): Promise<number> {
    for (let requeued = 0; ; ) {
      const page = await this.#deliveries.findOverdue(this.#requeueCursor, beforeMs, batchSize);
      for (const { _id, webhookId } of page) {
        if (await this.#isLost(_id, nowMs)) {
          await this.set({ _id, webhookId, dueAtMs: nowMs });
          requeued += 1;
        }
        // Only after the check: after a failure the next call repeats it.
        this.#requeueCursor = _id;
        if (shouldStop()) return requeued;
      }
      if (page.length === batchSize) continue;
      this.#requeueCursor = '';
      return requeued;
    }
  }

  async #isLost(id: string, nowMs: number): Promise<boolean> {
    return (await this.#due.findOne({ _id: id })) === null && (await this.#deliveries.claimedUntilMs(id)) <= nowMs;
  }
}
