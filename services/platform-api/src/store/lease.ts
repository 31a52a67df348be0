import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

interface LeaseRecord {
  readonly _id: string;
  readonly holder: string;
  readonly expiresAt: Date;
}

const leaseMs = 30_000;
const renewIntervalMs = 10_000;
/** Default interval at which a waiting replica polls. */
const defaultPollIntervalMs = 500;

/** Options of waiting for a lease. */
export interface AcquireOptions {
  readonly signal?: AbortSignal | undefined;
  readonly pollIntervalMs?: number;
}

/**
 * A lock in the database that one replica holds at a time: a document with an expiry time, which the holder renews.
 * Another replica takes it over after a crash.
 */
export class Lease {
  readonly #leases: Collection<LeaseRecord>;
  readonly #name: string;
  readonly #holder = randomUUID();
  #renewal: NodeJS.Timeout | undefined;
  #validUntilMs = 0;

  private constructor(database: Database, name: string) {
    this.#leases = database.collection<LeaseRecord>('leases');
    this.#name = name;
  }

  /** Waits until the lease is free and acquires it. */
  static async acquire(database: Database, name: string, { signal, ...options }: AcquireOptions = {}): Promise<Lease> {
    const lease = new Lease(database, name);
    const delayMs = options.pollIntervalMs ?? defaultPollIntervalMs;
    while (!(await lease.#tryAcquire())) await delay(delayMs, undefined, signal === undefined ? {} : { signal });
    lease.#renewal = setInterval(() => void lease.#renew(), renewIntervalMs);
    return lease;
  }

  /** Throws if the lease has expired without renewal, so that another replica may hold it. */
  assertHeld(): void {
    if (performance.now() > this.#validUntilMs) throw new Error(`the lease ${this.#name} has expired`);
  }

  async release(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#leases.deleteOne({ _id: this.#name, holder: this.#holder });
  }

  async #tryAcquire(): Promise<boolean> {
    const now = Date.now();
    const held = { holder: this.#holder, expiresAt: new Date(now + leaseMs) };
    const validUntilMs = performance.now() + leaseMs;
    const updated = await this.#leases.updateOne(
      { _id: this.#name, expiresAt: { $lt: new Date(now) } },
      { $set: held },
    );
    if (updated.modifiedCount === 0) {
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
      // The database is unavailable: `assertHeld` throws once the lease has expired.
    }
  }
}
