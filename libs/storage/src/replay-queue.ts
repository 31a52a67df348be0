import type { Collection, Database } from './mongo.ts';
import type { ReplayBatch } from './webhook-types.ts';

/** Replay parts of one poll: retries of others do not wait for a large replay. */
const replayBatchSize = 100;

/** Stores the parts of replays until their deliveries are scheduled. */
export class ReplayQueue {
  readonly #replays: Collection<ReplayBatch>;

  constructor(database: Database) {
    this.#replays = database.collection<ReplayBatch>('webhook_replays');
  }

  async ensureIndexes(): Promise<void> {
    await this.#replays.createIndex({ dueAtMs: 1 });
  }

  async insert(batches: readonly ReplayBatch[]): Promise<void> {
    if (batches.length > 0) await this.#replays.insertMany([...batches]);
  }

  /** Claims due replay parts: no other dispatcher claims them before `untilMs`. */
  async claimDue(untilMs: number, nowMs = Date.now()): Promise<ReplayBatch[]> {
    const claimed: ReplayBatch[] = [];
    const due = this.#replays
      .find({ dueAtMs: { $lte: nowMs } })
      .sort({ dueAtMs: 1 })
      .limit(replayBatchSize);
    for (const batch of await due.toArray()) {
      const { matchedCount } = await this.#replays.updateOne(
        { _id: batch._id, dueAtMs: batch.dueAtMs },
        { $set: { dueAtMs: untilMs } },
      );
      if (matchedCount === 1) claimed.push(batch);
    }
    return claimed;
  }

  async delete(id: string): Promise<void> {
    await this.#replays.deleteOne({ _id: id });
  }

  async deleteAll(webhookId: number): Promise<void> {
    await this.#replays.deleteMany({ webhookId });
  }
}
