import { type Bus, call, tellOfWebhook } from '@fleet/bus';
import type { WebhookRecords } from '@fleet/storage';
import type { HealthKeeper } from '../store/health-keeper.ts';

/** What owners are told with. */
export interface NoticeParts {
  readonly bus: Bus;
  readonly records: WebhookRecords;
  readonly health: Pick<HealthKeeper, 'change'>;
  readonly onError: (error: unknown) => void;
}

/** Longer than a telling takes, which is up to ten seconds for the notification and as many for the mail: who gave up before that would have another mail sent. */
const askLimitMs = 25_000;
/** Longer than that: what a replica that has died was telling is told by another one behind it. */
const claimMs = 30_000;

/** Has owners of webhooks told that these fail, or were disabled. What can not be told now is told later. */
export class Notices {
  readonly #parts: NoticeParts;
  readonly #underWay = new Map<number, Promise<void>>();

  constructor(parts: NoticeParts) {
    this.#parts = parts;
  }

  /** Tells what has not been told of all webhooks, until it is over. */
  async tellAll(isOver: () => boolean): Promise<void> {
    for (const { _id } of await this.#parts.records.withDueNotice()) {
      if (isOver()) return;
      await this.tell(_id);
    }
  }

  /** Tells what has not been told of one; one telling at a time, as each may be a mail. */
  tell(webhookId: number): Promise<void> {
    const known = this.#underWay.get(webhookId);
    if (known !== undefined) return known;
    const telling = this.#tell(webhookId)
      .catch((error: unknown) => this.#parts.onError(error))
      .finally(() => this.#underWay.delete(webhookId));
    this.#underWay.set(webhookId, telling);
    return telling;
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  /** One replica tells at a time: two would send two mails. */
  async #tell(webhookId: number): Promise<void> {
    const { records } = this.#parts;
    const claim = `notice-of-${webhookId}`;
    const untilMs = Date.now() + claimMs;
    if (!(await records.claim(claim, untilMs))) return;
    try {
      await this.#tellClaimed(webhookId);
    } finally {
      await records.release(claim, untilMs);
    }
  }

  async #tellClaimed(webhookId: number): Promise<void> {
    const { bus, records, health } = this.#parts;
    const notice = (await records.health(webhookId))?.dueNotice;
    if (notice === null || notice === undefined) return;
    await call(bus, tellOfWebhook, { webhookId, ...notice }, { timeoutMs: askLimitMs });
    await health.change(webhookId, (now) =>
      now.dueNotice?.percent === notice.percent ? { ...now, dueNotice: null } : now,
    );
  }
}
