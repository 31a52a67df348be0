import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type Database, isDuplicateKey } from './mongo.ts';

/** A lock document that expires unless renewed. */
export interface LeaseRecord {
  readonly _id: string;
  readonly holder: string;
  readonly expiresAt: Date;
}

/** Who holds a lease, and for how long. */
interface LeaseClaim {
  readonly name: string;
  readonly holder: string;
  readonly ttlMs: number;
  /** Stored beside the claim. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Acquires a lease that is free or expired, or renews one of the same holder; returns false if another holder has it. */
export async function acquireLease<T extends LeaseRecord>(
  leases: Collection<T>,
  { name, holder, ttlMs, fields }: LeaseClaim,
): Promise<boolean> {
  const now = Date.now();
  const claim = { ...fields, holder, expiresAt: new Date(now + ttlMs) };
  const available = { _id: name, $or: [{ holder }, { expiresAt: { $lt: new Date(now) } }] };
  const updated = await leases.updateOne(available as object, { $set: claim } as object);
  if (updated.matchedCount === 1) return true;
  try {
    await leases.insertOne({ _id: name, ...claim } as never);
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/** Releases a lease, so that another holder need not wait until it expires. */
export async function releaseLease<T extends LeaseRecord>(
  leases: Collection<T>,
  { name, holder }: Pick<LeaseClaim, 'name' | 'holder'>,
): Promise<void> {
  await leases.deleteOne({ _id: name, holder } as object);
}

const ttlMs = 30_000;
const renewIntervalMs = 10_000;
const defaultPollIntervalMs = 500;

/** How to wait for a lease. */
interface AcquireOptions {
  readonly signal?: AbortSignal | undefined;
  readonly pollIntervalMs?: number;
}

/**
 * Holds a lease of one replica, renewed until it is released. Another replica takes over 30 s after its holder died.
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

  /** Waits until the lease is free, then holds it; throws the signal's reason when it is aborted. */
  static async acquire(database: Database, name: string, { signal, ...options }: AcquireOptions = {}): Promise<Lease> {
    const lease = new Lease(database, name);
    const delayMs = options.pollIntervalMs ?? defaultPollIntervalMs;
    while (!(await lease.#tryAcquire())) await delay(delayMs, undefined, signal === undefined ? {} : { signal });
    lease.#renewal = setInterval(() => void lease.#renew(), renewIntervalMs);
    return lease;
  }

  /** Throws if the lease has expired: another replica may hold it. */
  assertHeld(): void {
    if (performance.now() > this.#validUntilMs) throw new Error(`the lease ${this.#name} has expired`);
  }

  async release(): Promise<void> {
    clearInterval(this.#renewal);
    await releaseLease(this.#leases, { name: this.#name, holder: this.#holder });
  }

  async #tryAcquire(): Promise<boolean> {
    const validUntilMs = performance.now() + ttlMs;
    if (!(await acquireLease(this.#leases, { name: this.#name, holder: this.#holder, ttlMs }))) return false;
    this.#validUntilMs = validUntilMs;
    return true;
  }

  async #renew(): Promise<void> {
    const validUntilMs = performance.now() + ttlMs;
    const change = { $set: { expiresAt: new Date(Date.now() + ttlMs) } };
    try {
      const renewed = await this.#leases.updateOne({ _id: this.#name, holder: this.#holder }, change);
      if (renewed.modifiedCount === 1) this.#validUntilMs = validUntilMs;
    } catch {
      // The database is unavailable: assertHeld throws once the lease has expired.
    }
  }
}
