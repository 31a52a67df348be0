import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookHealth, WebhookRepository } from '@fleet/storage';
import { applyDelta, emptyDelta, failureDelta, type HealthDelta, mergeDeltas, successDelta } from '../domain/health.ts';
import type { Subscribers } from './subscribers.ts';

/** Dependencies of the health writer. */
interface HealthWriterDeps {
  readonly records: WebhookRepository;
  readonly subscribers: Subscribers;
  readonly disableAfterMs: number;
  /** Called when a webhook was disabled. */
  readonly onDisabled: (health: WebhookHealth) => void;
  /** Called when there is a notice for the owner. */
  readonly onNotice: (health: WebhookHealth) => void;
  readonly onError: (error: unknown) => void;
}

const writeIntervalMs = 1_000;
/** Each dispatcher writes once a second: this many retries are enough. */
const maxTries = 50;
const maxRetryDelayMs = 20;

interface Entry {
  delta: HealthDelta;
  /** Writes of one webhook run one after another. */
  writing: Promise<void>;
  timer: NodeJS.Timeout | undefined;
}

/** Saves the health of webhooks, each at most once a second: results of many attempts are saved together. */
export class WebhookHealthWriter {
  readonly #deps: HealthWriterDeps;
  readonly #entries = new Map<number, Entry>();

  constructor(deps: HealthWriterDeps) {
    this.#deps = deps;
  }

  recordSuccess(webhookId: number, atMs = Date.now()): void {
    this.#record(webhookId, successDelta(atMs));
  }

  recordFailure(
    webhookId: number,
    { isGone, vehicleId }: { isGone: boolean; vehicleId: number },
    atMs = Date.now(),
  ): void {
    const entry = this.#record(webhookId, failureDelta(atMs, isGone, vehicleId));
    // Nothing more is sent after 410.
    if (isGone) this.#write(webhookId, entry);
  }

  /** Changes the stored health of a webhook, after earlier writes. */
  async update(webhookId: number, change: (health: WebhookHealth) => WebhookHealth): Promise<void> {
    const entry = this.#getEntry(webhookId);
    const updating = entry.writing.then(async () => {
      await this.#save(webhookId, change);
    });
    entry.writing = updating.catch(() => undefined);
    await updating;
  }

  /** Saves all unsaved results. */
  async stop(): Promise<void> {
    for (const [id, entry] of this.#entries) {
      clearTimeout(entry.timer);
      this.#write(id, entry);
    }
    await Promise.allSettled([...this.#entries.values()].map(({ writing }) => writing));
  }

  #getEntry(webhookId: number): Entry {
    const existing = this.#entries.get(webhookId);
    if (existing !== undefined) return existing;
    const entry: Entry = { delta: emptyDelta, writing: Promise.resolve(), timer: undefined };
    this.#entries.set(webhookId, entry);
    return entry;
  }

  #record(webhookId: number, delta: HealthDelta): Entry {
    const entry = this.#getEntry(webhookId);
    entry.delta = mergeDeltas(entry.delta, delta);
    // The first one immediately; results of the next second wait for its end.
    if (entry.timer === undefined) {
      this.#write(webhookId, entry);
      this.#scheduleWrite(webhookId, entry);
    }
    return entry;
  }

  #scheduleWrite(webhookId: number, entry: Entry): void {
    entry.timer = setTimeout(() => {
      entry.timer = undefined;
      if (entry.delta !== emptyDelta) {
        this.#write(webhookId, entry);
        this.#scheduleWrite(webhookId, entry);
        return;
      }
      void entry.writing.then(() => {
        if (entry.timer === undefined && entry.delta === emptyDelta) this.#entries.delete(webhookId);
      });
    }, writeIntervalMs);
  }

  #write(webhookId: number, entry: Entry): void {
    entry.writing = entry.writing.then(async () => {
      const { delta } = entry;
      if (delta === emptyDelta) return;
      entry.delta = emptyDelta;
      try {
        await this.#writeDelta(webhookId, delta);
      } catch (error) {
        // The next write, in a second, includes these too.
        entry.delta = mergeDeltas(delta, entry.delta);
        this.#deps.onError(error);
      }
    });
  }

  async #writeDelta(webhookId: number, delta: HealthDelta): Promise<void> {
    const { subscribers, disableAfterMs, onDisabled, onNotice } = this.#deps;
    const change = await this.#save(webhookId, (health) => applyDelta(health, delta, disableAfterMs));
    if (change === null) return;
    const { before, after } = change;
    if (after.disabledReason !== before.disabledReason) {
      subscribers.invalidate();
      onDisabled(after);
    }
    if (after.dueNotice !== null && before.dueNotice === null) onNotice(after);
  }

  /**
   * Saves the new health of a webhook, and retries if another dispatcher was first: each result counts once, and each
   * transition happens once. Returns null for a deleted webhook.
   */
  async #save(
    webhookId: number,
    change: (health: WebhookHealth) => WebhookHealth,
  ): Promise<{ readonly before: WebhookHealth; readonly after: WebhookHealth } | null> {
    const { records, subscribers } = this.#deps;
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const subscriber = await subscribers.readCurrent(webhookId);
      if (subscriber === null) return null;
      const before = subscriber.health;
      const after = change(before);
      if (after === before || (await records.saveHealth(after))) return { before, after };
      await delay(Math.random() * maxRetryDelayMs);
    }
    throw new Error(`conflicting writes of the health of webhook ${webhookId}`);
  }
}
