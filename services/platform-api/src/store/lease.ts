import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

interface Held {
  readonly _id: string;
  readonly holder: string;
  readonly expiresAt: Date;
}

const leaseMs = 30_000;
const renewEveryMs = 10_000;
/** How often a waiting one looks, unless it says otherwise. */
const pollEveryMs = 500;

/** How a lease is waited for. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined;
  readonly pollEveryMs?: number;
}

/** What one replica at a time holds, and another takes over when it dies: a document with an end, prolonged while the holder lives. */
export class Lease {
  readonly #leases: Collection<Held>;
  readonly #name: string;
  readonly #holder = randomUUID();
  #renewal: NodeJS.Timeout | undefined;
  #validUntilMs = 0;

  private constructor(database: Database, name: string) {
    this.#leases = database.collection<Held>('leases');
    this.#name = name;
  }

  /** Waits until the lease is free, then holds it. */
  static async take(database: Database, name: string, { signal, ...waiting }: Waiting = {}): Promise<Lease> {
    const lease = new Lease(database, name);
    const pauseMs = waiting.pollEveryMs ?? pollEveryMs;
    while (!(await lease.#tryTake())) await delay(pauseMs, undefined, signal === undefined ? {} : { signal });
    lease.#renewal = setInterval(() => void lease.#renew(), renewEveryMs);
    return lease;
  }

  /** Throws where the lease has run out while its holder was not looking: another replica may be at it. */
  check(): void {
    if (performance.now() > this.#validUntilMs) throw new Error(`the lease ${this.#name} has run out`);
  }

  async giveBack(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#leases.deleteOne({ _id: this.#name, holder: this.#holder });
  }

  async #tryTake(): Promise<boolean> {
    const now = Date.now();
    const held = { holder: this.#holder, expiresAt: new Date(now + leaseMs) };
    const validUntilMs = performance.now() + leaseMs;
    const taken = await this.#leases.updateOne({ _id: this.#name, expiresAt: { $lt: new Date(now) } }, { $set: held });
    if (taken.modifiedCount === 0) {
      try {
        await this.#leases.insertOne({ _id: this.#name, ...held });
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    }
    this.#validUntilMs = validUntilMs;
    return true;
  }

  async #renew(): Promise<void> {
    const validUntilMs = performance.now() + leaseMs;
    const change = { $set: { expiresAt: new Date(Date.now() + leaseMs) } };
    try {
      const renewed = await this.#leases.updateOne({ _id: this.#name, holder: this.#holder }, change);
      if (renewed.modifiedCount === 1) this.#validUntilMs = validUntilMs;
    } catch {
      // The database is away: `check` says so once the time is over.
    }
  }
}
