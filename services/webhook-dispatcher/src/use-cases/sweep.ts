import type { WebhookRecords } from '@fleet/storage';
import type { Lane, Lanes } from '../net/lane.ts';
import type { Attempts } from './attempts.ts';

/** What later attempts are looked for with. */
export interface SweepParts {
  readonly records: WebhookRecords;
  readonly attempts: Attempts;
  readonly lanes: Lanes;
  readonly replayPerSecond: number;
  readonly onError: (error: unknown) => void;
}

/** Begins the attempts that are due, by the free slots of each webhook: what waits behind them stays in the database, and costs others nothing. */
export class Sweep {
  readonly #parts: SweepParts;
  readonly #underWay = new Set<Promise<void>>();
  readonly #draining = new Set<number>();
  #isStopped = false;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  /** Looks at all webhooks once. */
  async run(): Promise<void> {
    const { records, lanes } = this.#parts;
    await this.#replay();
    const webhookIds = await records.webhooksDue();
    await Promise.all(webhookIds.map((id) => this.drain(lanes.of(id))));
    lanes.forgetIdle();
  }

  /** Begins what is due of one webhook, as far as there are slots. */
  async drain(lane: Lane): Promise<void> {
    const { records, attempts, onError } = this.#parts;
    if (this.#isStopped || this.#draining.has(lane.webhookId)) return;
    this.#draining.add(lane.webhookId);
    try {
      for (let slots = lane.freeSlots; slots > 0 && !this.#isStopped; slots = lane.freeSlots) {
        const due = await records.takeDue(lane.webhookId, slots, attempts.leaseUntilMs());
        lane.hasBacklog = due.length === slots;
        for (const each of due) this.#begin(lane, each);
        if (due.length < slots) return;
      }
      lane.hasBacklog = true;
    } catch (error) {
      onError(error);
    } finally {
      this.#draining.delete(lane.webhookId);
    }
  }

  /** Begins nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#underWay);
  }

  #begin(lane: Lane, due: Parameters<Attempts['later']>[1]): void {
    const work = this.#parts.attempts
      .later(lane, due)
      .catch((error: unknown) => this.#parts.onError(error))
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  /** Spreads the deliveries of a replay over time. Begun again after a crash, it finds most of them renewed already. */
  async #replay(): Promise<void> {
    const { records, attempts, replayPerSecond } = this.#parts;
    for (const { _id, webhookId, deliveryIds } of await records.takeReplays(attempts.leaseUntilMs())) {
      const nowMs = Date.now();
      for (const [at, id] of deliveryIds.entries()) {
        const dueAtMs = nowMs + Math.floor((at * 1_000) / replayPerSecond);
        await records.schedule({ _id: id, webhookId, dueAtMs });
        await records.renew(id, ['failed', 'skipped'], 'replay', dueAtMs);
      }
      await records.endReplay(_id);
    }
  }
}
