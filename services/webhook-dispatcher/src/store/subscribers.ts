import { type Bus, fleetChanged, subscribe } from '@fleet/bus';
import { TtlCache } from '@fleet/service-kit';
import { currentHealth, type WebhookHealth, type WebhookRecord, type WebhookRepository } from '@fleet/storage';

/** A webhook and its health. */
export interface Subscriber {
  readonly webhook: WebhookRecord;
  readonly health: WebhookHealth;
}

/** Cache time-to-live without a change event. */
const cacheTtlMs = 5_000;

/** Returns whether deliveries are made now, or stored as `skipped`. */
export const isEnabled = ({ webhook, health }: Subscriber): boolean =>
  webhook.enabled && health.disabledReason === null;

/** Caches webhooks by user and by id for seconds. */
export class Subscribers {
  readonly #records: WebhookRepository;
  readonly #byUser = new TtlCache<readonly Subscriber[]>({ ttlMs: cacheTtlMs });
  readonly #byId = new TtlCache<Subscriber | null>({ ttlMs: cacheTtlMs });
  readonly #subscription: { stop(): void };

  constructor(records: WebhookRepository, bus: Bus, onError: (error: unknown) => void) {
    this.#records = records;
    this.#subscription = subscribe(bus, fleetChanged, onError, ({ kind }) => {
      if (kind === 'webhooks') this.invalidate();
    });
  }

  findByUser(userId: number): Promise<readonly Subscriber[]> {
    return this.#byUser.get(String(userId), async () => {
      const webhooks = await this.#records.findWebhooksByUser(userId);
      const health = await this.#records.findHealthByIds(webhooks.map(({ _id }) => _id));
      return webhooks.map((webhook) => ({ webhook, health: currentHealth(webhook, health.get(webhook._id)) }));
    });
  }

  findById(webhookId: number): Promise<Subscriber | null> {
    return this.#byId.get(String(webhookId), () => this.readCurrent(webhookId));
  }

  /** Returns the current state of a webhook. */
  async readCurrent(webhookId: number): Promise<Subscriber | null> {
    const webhook = await this.#records.findWebhook(webhookId);
    if (webhook === null) return null;
    return { webhook, health: currentHealth(webhook, await this.#records.findHealth(webhookId)) };
  }

  invalidate(): void {
    this.#byUser.clear();
    this.#byId.clear();
  }

  stop(): void {
    this.#subscription.stop();
  }
}
