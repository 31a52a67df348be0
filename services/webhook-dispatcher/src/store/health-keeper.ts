import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookHealth, WebhookRecords } from '@fleet/storage';
import { type Findings, foundFailure, foundSuccess, healthAfter, merged, noFindings } from '../domain/health.ts';
import type { Subscribers } from './subscribers.ts';

/** What the health of webhooks is kept with. */
export interface HealthParts {
  readonly records: WebhookRecords;
  readonly subscribers: Subscribers;
  readonly disableAfterMs: number;
  /** Called when a webhook has just been disabled. */
  readonly onDisabled: (health: WebhookHealth) => void;
  /** Called when there is something to tell the owner. */
  readonly onNotice: (health: WebhookHealth) => void;
  readonly onError: (error: unknown) => void;
}

const writeEveryMs = 1_000;
/** Each dispatcher writes once a second: so many of them are never faster one after the other. */
const maxTries = 50;
const longestPauseMs = 20;

interface Entry {
  findings: Findings;
  /** Writes of a webhook follow one another. */
  writing: Promise<void>;
  timer: NodeJS.Timeout | undefined;
}

/** Writes down how webhooks do, each once a second at most: what many attempts have found goes into one write. */
export class HealthKeeper {
  readonly #parts: HealthParts;
  readonly #entries = new Map<number, Entry>();

  constructor(parts: HealthParts) {
    this.#parts = parts;
  }

  noteSuccess(webhookId: number, atMs = Date.now()): void {
    this.#note(webhookId, foundSuccess(atMs));
  }

  noteFailure(
    webhookId: number,
    { isGone, vehicleId }: { isGone: boolean; vehicleId: number },
    atMs = Date.now(),
  ): void {
    const entry = this.#note(webhookId, foundFailure(atMs, isGone, vehicleId));
    // What is gone gets nothing more.
    if (isGone) this.#write(webhookId, entry);
  }

  /** Changes what is stored of a webhook's health, in its turn. */
  async change(webhookId: number, change: (health: WebhookHealth) => WebhookHealth): Promise<void> {
    const entry = this.#entryOf(webhookId);
    const changing = entry.writing.then(async () => {
      await this.#save(webhookId, change);
    });
    entry.writing = changing.catch(() => undefined);
    await changing;
  }

  /** Writes everything that has not been written. */
  async stop(): Promise<void> {
    for (const [id, entry] of this.#entries) {
      clearTimeout(entry.timer);
      this.#write(id, entry);
    }
    await Promise.allSettled([...this.#entries.values()].map(({ writing }) => writing));
  }

  #entryOf(webhookId: number): Entry {
    const known = this.#entries.get(webhookId);
    if (known !== undefined) return known;
    const entry: Entry = { findings: noFindings, writing: Promise.resolve(), timer: undefined };
    this.#entries.set(webhookId, entry);
    return entry;
  }

  #note(webhookId: number, found: Findings): Entry {
    const entry = this.#entryOf(webhookId);
    entry.findings = merged(entry.findings, found);
    // The first at once; what comes within the next second waits for its end.
    if (entry.timer === undefined) {
      this.#write(webhookId, entry);
      this.#wait(webhookId, entry);
    }
    return entry;
  }

  #wait(webhookId: number, entry: Entry): void {
    entry.timer = setTimeout(() => {
      entry.timer = undefined;
      if (entry.findings !== noFindings) {
        this.#write(webhookId, entry);
        this.#wait(webhookId, entry);
        return;
      }
      void entry.writing.then(() => {
        if (entry.timer === undefined && entry.findings === noFindings) this.#entries.delete(webhookId);
      });
    }, writeEveryMs);
  }

  #write(webhookId: number, entry: Entry): void {
    entry.writing = entry.writing.then(async () => {
      const { findings } = entry;
      if (findings === noFindings) return;
      entry.findings = noFindings;
      try {
        await this.#writeFindings(webhookId, findings);
      } catch (error) {
        // The next write, in a second, tells of these too.
        entry.findings = merged(findings, entry.findings);
        this.#parts.onError(error);
      }
    });
  }

  async #writeFindings(webhookId: number, findings: Findings): Promise<void> {
    const { subscribers, disableAfterMs, onDisabled, onNotice } = this.#parts;
    const saved = await this.#save(webhookId, (health) => healthAfter(health, findings, disableAfterMs));
    if (saved === null) return;
    const { before, after } = saved;
    if (after.disabledReason !== before.disabledReason) {
      subscribers.forget();
      onDisabled(after);
    }
    if (after.dueNotice !== null && before.dueNotice === null) onNotice(after);
  }

  /** Writes what becomes of a webhook's health, again where another dispatcher has been faster: each finding counts once, and what turns is turned by one. Null for a webhook that is gone. */
  async #save(
    webhookId: number,
    change: (health: WebhookHealth) => WebhookHealth,
  ): Promise<{ readonly before: WebhookHealth; readonly after: WebhookHealth } | null> {
    const { records, subscribers } = this.#parts;
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const known = await subscribers.read(webhookId);
      if (known === null) return null;
      const before = known.health;
      const after = change(before);
      if (after === before || (await records.saveHealth(after))) return { before, after };
      await delay(Math.random() * longestPauseMs);
    }
    throw new Error(`others have changed the health of webhook ${webhookId} all the time`);
  }
}
