import type { DueDelivery, WebhookRecords } from '@fleet/storage';
import type { Lane, Lanes } from '../net/lane.ts';
import type { Attempts } from './attempts.ts';

/** What later attempts are looked for with. */
export interface SweepParts {
  readonly records: Pick<WebhookRecords, 'due' | 'takeReplays' | 'renew' | 'schedule' | 'endReplay'>;
  readonly attempts: Pick<Attempts, 'later' | 'leaseUntilMs'>;
  readonly lanes: Lanes;
  readonly replayPerSecond: number;
  readonly onError: (error: unknown) => void;
}

/** Attempts that are read at once, and those of one webhook that wait in memory for its slots. */
const readLimit = 2_000;
const queueLimit = 200;

/** Begins the attempts that are due, by the free slots of each webhook: what waits behind them stays in the database, and costs others nothing. */
export class Sweep {
  readonly #parts: SweepParts;
  readonly #underWay = new Set<Promise<void>>();
  /** By webhook. */
  readonly #queues = new Map<number, DueDelivery[]>();
  /** In a queue, or under way. */
  readonly #known = new Set<string>();
  /** When the next second of each webhook's replays begins, by this process's clock: parts that are late, as behind an outage, follow one another all the same. */
  readonly #nextReplayMs = new Map<number, number>();
  #isStopped = false;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  /** Looks at all webhooks once. */
  async run(): Promise<void> {
    const { records, lanes } = this.#parts;
    await this.#replay();
    this.#goOn();
    for (let isMore = true; isMore && !this.#isStopped; ) {
      const except = new Set([...lanes.withoutSlots, ...this.#queues.keys()]);
      const due = await records.due([...except], readLimit);
      const added = due.filter((each) => this.#queue(each));
      for (const webhookId of new Set(added.map((each) => each.webhookId))) this.drain(lanes.of(webhookId));
      isMore = due.length === readLimit && added.length > 0;
    }
    lanes.forgetIdle();
  }

  /** Begins an attempt as soon as there is a slot, without waiting for the next look. */
  begin(due: DueDelivery): void {
    if (this.#queue(due)) this.drain(this.#parts.lanes.of(due.webhookId));
  }

  /** Begins what waits for the slots of one webhook, as far as there are any. */
  drain(lane: Lane): void {
    const queue = this.#queues.get(lane.webhookId) ?? [];
    while (!this.#isStopped && lane.freeSlots > 0) {
      const due = queue.shift();
      if (due === undefined) break;
      this.#attempt(lane, due);
    }
    if (queue.length === 0) this.#queues.delete(lane.webhookId);
  }

  /** Begins nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#underWay);
  }

  #queue(due: DueDelivery): boolean {
    const queue = this.#queues.get(due.webhookId) ?? [];
    if (this.#known.has(due._id) || queue.length >= queueLimit) return false;
    this.#queues.set(due.webhookId, queue);
    this.#known.add(due._id);
    queue.push(due);
    return true;
  }

  /** What waits for a webhook that gets nothing now is found again when it does; one that may be tried again is. */
  #goOn(): void {
    for (const [webhookId, queue] of this.#queues) {
      const lane = this.#parts.lanes.of(webhookId);
      if (lane.closedUntilMs === null) {
        this.drain(lane);
        continue;
      }
      for (const { _id } of queue) this.#known.delete(_id);
      this.#queues.delete(webhookId);
    }
  }

  #attempt(lane: Lane, due: DueDelivery): void {
    const work = this.#parts.attempts
      .later(lane, due)
      .catch((error: unknown) => this.#parts.onError(error))
      .finally(() => {
        this.#known.delete(due._id);
        this.#underWay.delete(work);
      });
    this.#underWay.add(work);
  }

  /** Spreads those of a replay's second over it. Begun again after a crash, it finds most of them renewed already. */
  async #replay(): Promise<void> {
    const { records, attempts, replayPerSecond } = this.#parts;
    for (const { _id, webhookId, deliveryIds } of await records.takeReplays(attempts.leaseUntilMs())) {
      const beginMs = Date.now() + this.#takeSecond(webhookId);
      for (const [at, id] of deliveryIds.entries()) {
        const dueAtMs = beginMs + Math.floor((at * 1_000) / replayPerSecond);
        // Pending before it is due, as with a retry: the sweep of another replica may come upon it at once.
        await records.renew(id, ['failed', 'skipped'], 'replay', dueAtMs);
        await records.schedule({ _id: id, webhookId, dueAtMs });
      }
      await records.endReplay(_id);
    }
  }

  /** How long until a second that no other part of the webhook's replays has, of those that this process takes. */
  #takeSecond(webhookId: number): number {
    const nowMs = performance.now();
    for (const [id, nextMs] of this.#nextReplayMs) if (nextMs <= nowMs) this.#nextReplayMs.delete(id);
    const beginMs = this.#nextReplayMs.get(webhookId) ?? nowMs;
    this.#nextReplayMs.set(webhookId, beginMs + 1_000);
    return Math.round(beginMs - nowMs);
  }
}
