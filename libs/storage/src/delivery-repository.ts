import { createHash } from 'node:crypto';
import type { AnyBulkWriteOperation, Filter } from 'mongodb';
import type { Batcher } from './batcher.ts';
import { createInsertBatcher, createReadBatcher, createWriteBatcher } from './collection-batchers.ts';
import { computeDeliverySeries, computeDeliveryStats } from './delivery-statistics.ts';
import { type Collection, type Database, dropIndexIfExists } from './mongo.ts';
import { Sequence } from './sequence.ts';
import type {
  AttemptRecord,
  AttemptTrigger,
  DeliveryBucket,
  DeliveryClaim,
  DeliveryFilter,
  DeliveryRecord,
  DeliveryStats,
  DeliveryStatus,
  DeliverySummary,
  LastAttempt,
} from './webhook-types.ts';

/** Attempts that a delivery stores; the count continues. */
const maxStoredAttempts = 50;
const summaryProjection = { projection: { body: 0, attempts: 0, request: 0 } } as const;

/** Returns the delivery id of a notification for a webhook: equal for repeated calls. */
export const computeDeliveryId = (webhookId: number, notificationId: number): string =>
  createHash('sha256').update(`${webhookId}:${notificationId}`).digest('hex').slice(0, 24);

/** Initial state of a delivery. */
type NewDelivery = Pick<
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
  | 'trace'
> & { readonly status: 'pending' | 'skipped' };

/** Result of an attempt. */
interface DeliveryUpdate {
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly attempt: AttemptRecord;
  readonly request: DeliveryRecord['request'];
  /** With `pending`. */
  readonly nextAttemptAtMs: number | null;
}

/** Returns the fields of an attempt that lists show. */
export const toLastAttempt = ({ startedAtMs, durationMs, statusCode, errorCode }: AttemptRecord): LastAttempt => ({
  startedAtMs,
  durationMs,
  statusCode,
  errorCode,
});

/** Position in a list of deliveries; the number breaks ties. */
interface DeliveryPage {
  readonly limit: number;
  readonly offset: number;
  readonly order?: { readonly field: 'number' | 'createdAtMs'; readonly direction: 1 | -1 };
}

/**
 * Stores the deliveries of webhooks. The holder of a claim changes a delivery, by its `_id` alone. A claim is an insert,
 * which is safe on every server. Operations of single deliveries share commands.
 */
export class DeliveryRepository {
  readonly #deliveries: Collection<DeliveryRecord>;
  readonly #claims: Collection<DeliveryClaim>;
  readonly #sequence: Sequence;
  readonly #newDeliveries: Batcher<DeliveryRecord, boolean>;
  readonly #deliveryReads: Batcher<string, DeliveryRecord | null>;
  readonly #deliveryWrites: Batcher<AnyBulkWriteOperation<DeliveryRecord>, void>;
  readonly #newClaims: Batcher<DeliveryClaim, boolean>;
  readonly #claimWrites: Batcher<AnyBulkWriteOperation<DeliveryClaim>, void>;

  constructor(database: Database) {
    this.#deliveries = database.collection<DeliveryRecord>('webhook_deliveries');
    this.#claims = database.collection<DeliveryClaim>('webhook_claims');
    this.#sequence = new Sequence(database, 'webhook_deliveries');
    this.#newDeliveries = createInsertBatcher(this.#deliveries);
    this.#deliveryReads = createReadBatcher(this.#deliveries);
    this.#deliveryWrites = createWriteBatcher(this.#deliveries);
    this.#newClaims = createInsertBatcher(this.#claims);
    this.#claimWrites = createWriteBatcher(this.#claims);
  }

  async ensureIndexes(): Promise<void> {
    // Lists and statistics are counted from keys: the filter fields follow the sort fields.
    const filters = { status: 1, notificationType: 1, imeiKey: 1 } as const;
    await this.#deliveries.createIndex({ webhookId: 1, number: -1, ...filters, createdAtMs: 1 });
    await this.#deliveries.createIndex({ webhookId: 1, createdAtMs: 1, number: 1, ...filters });
    await this.#deliveries.createIndex({ status: 1, nextAttemptAtMs: 1 });
    await this.#deliveries.createIndex({ createdAtMs: 1 });
    for (const name of [
      'webhookId_1_number_-1',
      'webhookId_1_status_1_number_-1',
      'webhookId_1_createdAtMs_1_number_1',
    ])
      await dropIndexIfExists(this.#deliveries, name);
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
      lastAttempt: toLastAttempt(attempt),
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

  /** Cancels the pending deliveries of a webhook. */
  async cancelAll(webhookId: number, nowMs: number): Promise<void> {
    const cancellation = { status: 'canceled' as const, nextAttemptAtMs: null, updatedAtMs: nowMs };
    await this.#deliveries.updateMany({ webhookId, status: 'pending' }, { $set: cancellation, $inc: { version: 1 } });
  }

  /** Returns pending deliveries that were due before a time, by id, after a given one. */
  findOverdue(afterId: string, beforeMs: number, limit: number): Promise<Pick<DeliveryRecord, '_id' | 'webhookId'>[]> {
    const filter = { status: 'pending', nextAttemptAtMs: { $lt: beforeMs }, _id: { $gt: afterId } } as const;
    return this.#deliveries
      .find(filter, { projection: { webhookId: 1 } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
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
  stats(webhookId: number, sinceMs: number): Promise<DeliveryStats> {
    return computeDeliveryStats(this.#deliveries, webhookId, sinceMs);
  }

  /** Returns the numbers of ended deliveries in equal parts of a time span, oldest first. */
  series(webhookId: number, span: { sinceMs: number; untilMs: number; buckets: number }): Promise<DeliveryBucket[]> {
    return computeDeliverySeries(this.#deliveries, webhookId, span);
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
