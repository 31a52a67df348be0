import { createHash } from 'node:crypto';
import type { AnyBulkWriteOperation, Filter } from 'mongodb';
import type { Batcher } from './batcher.ts';
import { createInsertBatcher, createReadBatcher, createWriteBatcher } from './collection-batchers.ts';
import { type Collection, type Database, dropIndexIfExists, isDuplicateKey } from './mongo.ts';
import { Sequence } from './sequence.ts';
import type {
  AttemptRecord,
  AttemptTrigger,
  DeliveryClaim,
  DeliveryFilter,
  DeliveryRecord,
  DeliveryStats,
  DeliveryStatus,
  DeliverySummary,
  DueDelivery,
  ReplayBatch,
  WebhookHealth,
  WebhookRecord,
} from './webhook-types.ts';

/** Attempts that a delivery stores; the count continues. */
const maxStoredAttempts = 50;
/** Newest deliveries whose attempts are read for percentiles. */
const statsSampleSize = 5_000;
const summaryProjection = { projection: { body: 0, attempts: 0, request: 0 } } as const;

/** Returns the delivery id of a notification for a webhook: equal for repeated calls. */
export const computeDeliveryId = (webhookId: number, notificationId: number): string =>
  createHash('sha256').update(`${webhookId}:${notificationId}`).digest('hex').slice(0, 24);

/** Initial state of a delivery. */
export type NewDelivery = Pick<
  DeliveryRecord,
  | 'webhookId'
  | 'accountId'
  | 'userId'
  | 'notificationId'
  | 'notificationType'
  | 'imei'
  | 'imeiKey'
  | 'vehicleId'
  | 'body'
> & { readonly status: 'pending' | 'skipped' };

/** Result of an attempt. */
export interface DeliveryUpdate {
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly attempt: AttemptRecord;
  readonly request: DeliveryRecord['request'];
  /** With `pending`. */
  readonly nextAttemptAtMs: number | null;
}

/** Position in a list of deliveries; the number breaks ties. */
export interface DeliveryPage {
  readonly limit: number;
  readonly offset: number;
  readonly order?: { readonly field: 'number' | 'createdAtMs'; readonly direction: 1 | -1 };
}

/** Options of the search for lost deliveries. */
export interface RequeueOptions {
  /** Due before this time. */
  readonly beforeMs: number;
  readonly nowMs?: number;
  /** Checked after each delivery. */
  readonly shouldStop?: () => boolean;
  readonly batchSize?: number;
}

/** The embedded database scans all deliveries for each page, however large that is. */
const requeueBatchSize = 10_000;
/** Replay parts of one poll: retries of others do not wait for a large replay. */
const replayBatchSize = 100;

/**
 * Stores webhooks, their health and their deliveries. The holder of a claim changes a delivery, by its `_id` alone. A
 * claim is an insert, which is safe on every server. Operations of single deliveries share commands.
 */
export class WebhookRepository {
  readonly #webhooks: Collection<WebhookRecord>;
  readonly #health: Collection<WebhookHealth>;
  readonly #deliveries: Collection<DeliveryRecord>;
  readonly #claims: Collection<DeliveryClaim>;
  readonly #due: Collection<DueDelivery>;
  readonly #replays: Collection<ReplayBatch>;
  readonly #sequence: Sequence;
  readonly #newDeliveries: Batcher<DeliveryRecord, boolean>;
  readonly #deliveryReads: Batcher<string, DeliveryRecord | null>;
  readonly #deliveryWrites: Batcher<AnyBulkWriteOperation<DeliveryRecord>, void>;
  readonly #newClaims: Batcher<DeliveryClaim, boolean>;
  readonly #claimWrites: Batcher<AnyBulkWriteOperation<DeliveryClaim>, void>;
  readonly #dueWrites: Batcher<AnyBulkWriteOperation<DueDelivery>, void>;
  #requeueCursor = '';

  constructor(database: Database) {
    this.#webhooks = database.collection<WebhookRecord>('webhooks');
    this.#health = database.collection<WebhookHealth>('webhook_health');
    this.#deliveries = database.collection<DeliveryRecord>('webhook_deliveries');
    this.#claims = database.collection<DeliveryClaim>('webhook_claims');
    this.#due = database.collection<DueDelivery>('webhook_due');
    this.#replays = database.collection<ReplayBatch>('webhook_replays');
    this.#sequence = new Sequence(database, 'webhook_deliveries');
    this.#newDeliveries = createInsertBatcher(this.#deliveries);
    this.#deliveryReads = createReadBatcher(this.#deliveries);
    this.#deliveryWrites = createWriteBatcher(this.#deliveries);
    this.#newClaims = createInsertBatcher(this.#claims);
    this.#claimWrites = createWriteBatcher(this.#claims);
    this.#dueWrites = createWriteBatcher(this.#due);
  }

  /** Runs one after another: FerretDB 1 drops a connection that requests several indexes concurrently if some exist. */
  async ensureIndexes(): Promise<void> {
    // Lists and statistics are counted from keys: the filter fields follow the sort fields.
    const filters = { status: 1, notificationType: 1, imeiKey: 1 } as const;
    await this.#deliveries.createIndex({ webhookId: 1, number: -1, ...filters, createdAtMs: 1 });
    await this.#deliveries.createIndex({ webhookId: 1, createdAtMs: 1, number: 1, ...filters });
    await this.#deliveries.createIndex({ status: 1, nextAttemptAtMs: 1 });
    await this.#deliveries.createIndex({ createdAtMs: 1 });
    await this.#due.createIndex({ dueAtMs: 1, webhookId: 1 });
    await this.#replays.createIndex({ dueAtMs: 1 });
    for (const name of [
      'webhookId_1_number_-1',
      'webhookId_1_status_1_number_-1',
      'webhookId_1_createdAtMs_1_number_1',
    ])
      await dropIndexIfExists(this.#deliveries, name);
    await dropIndexIfExists(this.#due, 'dueAtMs_1');
  }

  findWebhook(id: number): Promise<WebhookRecord | null> {
    return this.#webhooks.findOne({ _id: id });
  }

  findWebhooksByUser(userId: number): Promise<WebhookRecord[]> {
    return this.#webhooks.find({ userId }).toArray();
  }

  findHealth(webhookId: number): Promise<WebhookHealth | null> {
    return this.#health.findOne({ _id: webhookId });
  }

  async findHealthByIds(webhookIds: readonly number[]): Promise<Map<number, WebhookHealth>> {
    if (webhookIds.length === 0) return new Map();
    const found = await this.#health.find({ _id: { $in: [...webhookIds] } }).toArray();
    return new Map(found.map((health) => [health._id, health]));
  }

  /** Saves health if it is unchanged since it was read; returns false otherwise. */
  async saveHealth({ revision, ...health }: WebhookHealth): Promise<boolean> {
    const { _id } = health;
    const next = { ...health, revision: (revision ?? 0) + 1 };
    if (revision === undefined && (await this.#insertHealth(next))) return true;
    const expected = { _id, revision: revision ?? { $exists: false } };
    return (await this.#health.replaceOne(expected, next)).modifiedCount === 1;
  }

  async #insertHealth(health: WebhookHealth): Promise<boolean> {
    try {
      await this.#health.insertOne(health);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Returns health records with an unsent notice. */
  findDueNotices(): Promise<WebhookHealth[]> {
    return this.#health.find({ dueNotice: { $ne: null } }).toArray();
  }

  /** Stores a delivery; an existing one is unchanged. Returns its id. */
  async add(delivery: NewDelivery, nowMs = Date.now()): Promise<string> {
    const _id = computeDeliveryId(delivery.webhookId, delivery.notificationId);
    await this.#newDeliveries.add({
      _id,
      number: await this.#sequence.next(),
      ...delivery,
      trigger: 'schedule',
      attemptCount: 0,
      roundAttempts: 0,
      attempts: [],
      request: null,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      version: 1,
      nextAttemptAtMs: delivery.status === 'pending' ? nowMs : null,
      completedAtMs: null,
    });
    return _id;
  }

  find(id: string): Promise<DeliveryRecord | null> {
    return this.#deliveryReads.add(id);
  }

  /** Claims an attempt; returns false while another one is in progress. */
  async claim(id: string, untilMs: number, nowMs = Date.now()): Promise<boolean> {
    if (await this.#newClaims.add({ _id: id, untilMs })) return true;
    if ((await this.claimedUntilMs(id)) > nowMs) return false;
    // Its dispatcher died. Another one may have noticed, too: its new claim remains.
    await this.#claims.deleteOne({ _id: id, untilMs: { $lte: nowMs } });
    return this.#newClaims.add({ _id: id, untilMs });
  }

  /** Returns the end of the claim of an attempt in progress; 0 without one. */
  async claimedUntilMs(id: string): Promise<number> {
    return (await this.#claims.findOne({ _id: id }))?.untilMs ?? 0;
  }

  /** Releases the claim with this end; a claim that another dispatcher took over remains. */
  async release(id: string, untilMs: number): Promise<void> {
    await this.#claimWrites.add({ deleteOne: { filter: { _id: id, untilMs } } });
  }

  /** Saves the result of an attempt. */
  async recordAttempt(claimed: DeliveryRecord, update: DeliveryUpdate, nowMs = Date.now()): Promise<void> {
    const { status, attempt, request, nextAttemptAtMs } = update;
    await this.#change(claimed._id, {
      status,
      attemptCount: attempt.number,
      roundAttempts: claimed.roundAttempts + 1,
      attempts: [...claimed.attempts, attempt].slice(-maxStoredAttempts),
      request,
      nextAttemptAtMs,
      trigger: status === 'pending' ? 'schedule' : claimed.trigger,
      completedAtMs: status === 'pending' ? null : nowMs,
    });
  }

  /** Ends a claimed delivery without an attempt. */
  finish(id: string, status: 'skipped' | 'canceled'): Promise<void> {
    return this.#change(id, { status, nextAttemptAtMs: null });
  }

  /** Defers a delivery: no attempt was made. */
  defer(id: string, nextAttemptAtMs: number): Promise<void> {
    return this.#change(id, { nextAttemptAtMs });
  }

  /** Schedules another attempt, if the status is one of the given ones; returns whether. */
  async restart(
    id: string,
    from: readonly DeliveryStatus[],
    trigger: Exclude<AttemptTrigger, 'test'>,
    atMs: number,
  ): Promise<boolean> {
    const found = await this.find(id);
    if (found === null || !from.includes(found.status)) return false;
    const reset = { status: 'pending', roundAttempts: 0, nextAttemptAtMs: atMs, completedAtMs: null } as const;
    await this.#change(id, { ...reset, trigger });
    return true;
  }

  #change(id: string, change: Partial<DeliveryRecord>): Promise<void> {
    const update = { $set: { ...change, updatedAtMs: Date.now() }, $inc: { version: 1 } };
    return this.#deliveryWrites.add({ updateOne: { filter: { _id: id }, update } });
  }

  /** Cancels everything that waits for a deleted webhook. */
  async cancelAll(webhookId: number, nowMs = Date.now()): Promise<void> {
    await this.#replays.deleteMany({ webhookId });
    const cancellation = { status: 'canceled' as const, nextAttemptAtMs: null, updatedAtMs: nowMs };
    await this.#deliveries.updateMany({ webhookId, status: 'pending' }, { $set: cancellation, $inc: { version: 1 } });
    await this.#due.deleteMany({ webhookId });
    await this.#health.deleteOne({ _id: webhookId });
  }

  /** Schedules the next attempt, replacing an earlier schedule. */
  schedule(due: DueDelivery): Promise<void> {
    return this.#dueWrites.add({ replaceOne: { filter: { _id: due._id }, replacement: due, upsert: true } });
  }

  unschedule(id: string): Promise<void> {
    return this.#dueWrites.add({ deleteOne: { filter: { _id: id } } });
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
      const page = await this.#findOverdue(beforeMs, batchSize);
      for (const { _id, webhookId } of page) {
        if (await this.#isLost(_id, nowMs)) {
          await this.schedule({ _id, webhookId, dueAtMs: nowMs });
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

  /** Returns overdue pending deliveries after the last checked one. */
  #findOverdue(beforeMs: number, limit: number): Promise<Pick<DeliveryRecord, '_id' | 'webhookId'>[]> {
    const filter = {
      status: 'pending',
      nextAttemptAtMs: { $lt: beforeMs },
      _id: { $gt: this.#requeueCursor },
    } as const;
    return this.#deliveries
      .find(filter, { projection: { webhookId: 1 } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }

  async #isLost(id: string, nowMs: number): Promise<boolean> {
    return (await this.#due.findOne({ _id: id })) === null && (await this.claimedUntilMs(id)) <= nowMs;
  }

  /** Returns ids of deliveries of a time span, oldest first. */
  async findIds(
    webhookId: number,
    span: { readonly sinceMs: number; readonly untilMs: number | null; readonly statuses: readonly DeliveryStatus[] },
    limit: number,
  ): Promise<string[]> {
    const filter = {
      webhookId,
      status: { $in: [...span.statuses] },
      ...createdBetween(span.sinceMs, span.untilMs ?? undefined),
    };
    const found = this.#deliveries
      .find(filter, { projection: { _id: 1 } })
      .sort({ number: 1 })
      .limit(limit);
    return (await found.toArray()).map(({ _id }) => _id);
  }

  async insertReplay(batches: readonly ReplayBatch[]): Promise<void> {
    if (batches.length > 0) await this.#replays.insertMany([...batches]);
  }

  /** Claims due replay parts: no other dispatcher claims them before `untilMs`. */
  async claimReplays(untilMs: number, nowMs = Date.now()): Promise<ReplayBatch[]> {
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

  async deleteReplay(id: string): Promise<void> {
    await this.#replays.deleteOne({ _id: id });
  }

  /** Returns one page of a webhook's deliveries, newest first by default. */
  async list(
    webhookId: number,
    filter: DeliveryFilter,
    { limit, offset, order = { field: 'number', direction: -1 } }: DeliveryPage,
  ): Promise<{ items: DeliverySummary[]; total: number }> {
    const query: Filter<DeliveryRecord> = {
      webhookId,
      ...(filter.status === undefined ? {} : { status: filter.status }),
      ...(filter.type === undefined ? {} : { notificationType: filter.type }),
      ...(filter.imeiKey === undefined ? {} : { imeiKey: filter.imeiKey }),
      ...createdBetween(filter.fromMs, filter.toMs),
    };
    const { field, direction } = order;
    const found = this.#deliveries
      .find(query, summaryProjection)
      .sort(field === 'number' ? { number: direction } : { [field]: direction, number: direction })
      .skip(offset)
      .limit(limit);
    const [items, total] = await Promise.all([found.toArray(), this.#deliveries.countDocuments(query)]);
    return { items, total };
  }

  /** Returns statistics of the deliveries created since a time. */
  async stats(webhookId: number, sinceMs: number): Promise<DeliveryStats> {
    const query = { webhookId, createdAtMs: { $gte: sinceMs } };
    const count = (status: DeliveryStatus): Promise<number> => this.#deliveries.countDocuments({ ...query, status });
    const [total, succeeded, failed, skipped, pending] = await Promise.all([
      this.#deliveries.countDocuments(query),
      count('succeeded'),
      count('failed'),
      count('skipped'),
      count('pending'),
    ]);
    const sample = await this.#deliveries
      .find(query, { projection: { 'attempts.durationMs': 1 } })
      .sort({ number: -1 })
      .limit(statsSampleSize)
      .toArray();
    const durations = sample
      .flatMap(({ attempts }) => attempts.map(({ durationMs }) => durationMs))
      .toSorted((a, b) => a - b);
    return {
      total,
      succeeded,
      failed,
      skipped,
      pending,
      successRate: succeeded + failed === 0 ? null : succeeded / (succeeded + failed),
      p50Ms: percentile(durations, 0.5),
      p95Ms: percentile(durations, 0.95),
    };
  }

  /** Deletes deliveries created before a time; returns their number. */
  async prune(beforeMs: number): Promise<number> {
    const { deletedCount } = await this.#deliveries.deleteMany({ createdAtMs: { $lt: beforeMs } });
    return deletedCount;
  }
}

const createdBetween = (fromMs: number | undefined, toMs: number | undefined) =>
  fromMs === undefined && toMs === undefined
    ? {}
    : {
        createdAtMs: {
          ...(fromMs === undefined ? {} : { $gte: fromMs }),
          ...(toMs === undefined ? {} : { $lt: toMs }),
        },
      };

/** Returns the nearest-rank percentile of sorted numbers. */
const percentile = (sorted: readonly number[], fraction: number): number | null =>
  sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? null;
