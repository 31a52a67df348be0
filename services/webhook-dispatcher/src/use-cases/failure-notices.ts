import { type Bus, notifyWebhookOwner, request } from '@fleet/bus';
import type { WebhookRepository } from '@fleet/storage';
import type { WebhookHealthWriter } from '../store/webhook-health-writer.ts';

/** Dependencies of failure notices. */
interface NoticeDeps {
  readonly bus: Bus;
  readonly records: WebhookRepository;
  readonly health: Pick<WebhookHealthWriter, 'update'>;
  readonly onError: (error: unknown) => void;
}

/**
 * Longer than a request takes: up to ten seconds each for the notification and the mail. A shorter time-out would send
 * another mail.
 */
const requestTimeoutMs = 25_000;
/** Longer than that: then another replica takes over from a dead one. */
const claimTtlMs = 30_000;

/** Requests notices to the owners of failing or disabled webhooks; retries failed ones later. */
export class FailureNotices {
  readonly #deps: NoticeDeps;
  readonly #inFlight = new Map<number, Promise<void>>();

  constructor(deps: NoticeDeps) {
    this.#deps = deps;
  }

  /** Requests the outstanding notices of all webhooks, until time is over. */
  async notifyOwners(shouldStop: () => boolean): Promise<void> {
    for (const { _id } of await this.#deps.records.findDueNotices()) {
      if (shouldStop()) return;
      await this.notifyOwner(_id);
    }
  }

  /** Requests the outstanding notices of one webhook, one at a time, because each may be a mail. */
  notifyOwner(webhookId: number): Promise<void> {
    const existing = this.#inFlight.get(webhookId);
    if (existing !== undefined) return existing;
    const notifying = this.#claimAndNotify(webhookId)
      .catch((error: unknown) => this.#deps.onError(error))
      .finally(() => this.#inFlight.delete(webhookId));
    this.#inFlight.set(webhookId, notifying);
    return notifying;
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#inFlight.values());
  }

  // One replica at a time: two would send two mails.
  async #claimAndNotify(webhookId: number): Promise<void> {
    const { records } = this.#deps;
    const claim = `notice-of-${webhookId}`;
    const untilMs = Date.now() + claimTtlMs;
    if (!(await records.deliveries.claim(claim, untilMs))) return;
    try {
      await this.#notifyClaimed(webhookId);
    } finally {
      await records.deliveries.release(claim, untilMs);
    }
  }

  async #notifyClaimed(webhookId: number): Promise<void> {
    const { bus, records, health } = this.#deps;
    const notice = (await records.findHealth(webhookId))?.dueNotice;
    if (notice === null || notice === undefined) return;
    await request(bus, notifyWebhookOwner, { webhookId, ...notice }, { timeoutMs: requestTimeoutMs });
    await health.update(webhookId, (current) =>
      current.dueNotice?.percent === notice.percent ? { ...current, dueNotice: null } : current,
    );
  }
}
