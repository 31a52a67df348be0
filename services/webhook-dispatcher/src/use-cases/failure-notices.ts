import { type Bus, notifyWebhookOwner, request } from '@fleet/bus';
import type { WebhookRepository } from '@fleet/storage';
import type { WebhookHealthWriter } from '../store/webhook-health-writer.ts';

/** What owners are told with. */
export interface NoticeDeps {
  readonly bus: Bus;
  readonly records: WebhookRepository;
  readonly health: Pick<WebhookHealthWriter, 'update'>;
  readonly onError: (error: unknown) => void;
}

/** Longer than a telling takes, which is up to ten seconds for the notification and as many for the mail: who gave up before that would have another mail sent. */
const requestTimeoutMs = 25_000;
/** Longer than that: what a replica that has died was telling is told by another one behind it. */
const claimTtlMs = 30_000;

/** Has owners of webhooks told that these fail, or were disabled. What can not be told now is told later. */
export class FailureNotices {
  readonly #deps: NoticeDeps;
  readonly #inFlight = new Map<number, Promise<void>>();

  constructor(deps: NoticeDeps) {
    this.#deps = deps;
  }

  /** Tells what has not been told of all webhooks, until it is over. */
  async notifyOwners(shouldStop: () => boolean): Promise<void> {
    for (const { _id } of await this.#deps.records.findDueNotices()) {
      if (shouldStop()) return;
      await this.notifyOwner(_id);
    }
  }

  /** Tells what has not been told of one; one telling at a time, as each may be a mail. */
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

  /** One replica tells at a time: two would send two mails. */
  async #claimAndNotify(webhookId: number): Promise<void> {
    const { records } = this.#deps;
    const claim = `notice-of-${webhookId}`;
    const untilMs = Date.now() + claimTtlMs;
    if (!(await records.claim(claim, untilMs))) return;
    try {
      await this.#notifyClaimed(webhookId);
    } finally {
      await records.release(claim, untilMs);
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
