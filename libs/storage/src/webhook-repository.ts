import { DeliveryRepository } from './delivery-repository.ts';
import { DeliverySchedule } from './delivery-schedule.ts';
import { type Collection, type Database, isDuplicateKey } from './mongo.ts';
import { ReplayQueue } from './replay-queue.ts';
import type { WebhookHealth, WebhookRecord } from './webhook-types.ts';

/** Stores webhooks and their health, with their deliveries, the schedule of attempts, and replays. */
export class WebhookRepository {
  readonly deliveries: DeliveryRepository;
  readonly schedule: DeliverySchedule;
  readonly replays: ReplayQueue;
  readonly #webhooks: Collection<WebhookRecord>;
  readonly #health: Collection<WebhookHealth>;

  constructor(database: Database) {
    this.deliveries = new DeliveryRepository(database);
    this.schedule = new DeliverySchedule(database, this.deliveries);
    this.replays = new ReplayQueue(database);
    this.#webhooks = database.collection<WebhookRecord>('webhooks');
    this.#health = database.collection<WebhookHealth>('webhook_health');
  }

  /** Runs one after another: FerretDB 1 drops a connection that requests several indexes concurrently if some exist. */
  async ensureIndexes(): Promise<void> {
    await this.deliveries.ensureIndexes();
    await this.schedule.ensureIndexes();
    await this.replays.ensureIndexes();
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

  /** Cancels everything that waits for a deleted webhook. */
  async cancelAll(webhookId: number, nowMs = Date.now()): Promise<void> {
    await this.replays.deleteAll(webhookId);
    await this.deliveries.cancelAll(webhookId, nowMs);
    await this.schedule.deleteAll(webhookId);
    await this.#health.deleteOne({ _id: webhookId });
  }
}
