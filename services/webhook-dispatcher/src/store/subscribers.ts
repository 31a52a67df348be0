import { type Bus, fleetChanged, listenFor } from '@fleet/bus';
import { ShortCache } from '@fleet/service-kit';
import { currentHealth, type WebhookHealth, type WebhookRecord, type WebhookRecords } from '@fleet/storage';

/** A webhook, and how it goes. */
export interface Subscriber {
  readonly webhook: WebhookRecord;
  readonly health: WebhookHealth;
}

/** What is known of a webhook may be this old when nobody has told of its change. */
const keepMs = 5_000;

/** Whether deliveries are made at the moment, or kept as `skipped`. */
export const isOn = ({ webhook, health }: Subscriber): boolean => webhook.enabled && health.disabledReason === null;

/** Webhooks by their user and by their id, remembered for seconds. */
export class Subscribers {
  readonly #records: WebhookRecords;
  readonly #ofUser = new ShortCache<readonly Subscriber[]>({ keepMs });
  readonly #byId = new ShortCache<Subscriber | null>({ keepMs });
  readonly #listener: { stop(): void };

  constructor(records: WebhookRecords, bus: Bus, onError: (error: unknown) => void) {
    this.#records = records;
    this.#listener = listenFor(bus, fleetChanged, onError, ({ kind }) => {
      if (kind === 'webhooks') this.forget();
    });
  }

  ofUser(userId: number): Promise<readonly Subscriber[]> {
    return this.#ofUser.get(String(userId), async () => {
      const webhooks = await this.#records.webhooksOf(userId);
      const health = await this.#records.healthOf(webhooks.map(({ _id }) => _id));
      return webhooks.map((webhook) => ({ webhook, health: currentHealth(webhook, health.get(webhook._id)) }));
    });
  }

  byId(webhookId: number): Promise<Subscriber | null> {
    return this.#byId.get(String(webhookId), () => this.read(webhookId));
  }

  /** A webhook as it is now. */
  async read(webhookId: number): Promise<Subscriber | null> {
    const webhook = await this.#records.webhook(webhookId);
    if (webhook === null) return null;
    return { webhook, health: currentHealth(webhook, await this.#records.health(webhookId)) };
  }

  forget(): void {
    this.#ofUser.forgetAll();
    this.#byId.forgetAll();
  }

  stop(): void {
    this.#listener.stop();
  }
}
