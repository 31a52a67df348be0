import { randomUUID } from 'node:crypto';
import type { Logger } from '@fleet/service-kit';
import { acquireLease, type Collection, type Database, type LeaseRecord, releaseLease } from '@fleet/storage';

interface PartitionLease extends LeaseRecord {
  /** Configured name of the holder's pod; leases of earlier releases have none. */
  readonly pod?: string | null;
}

/** Timings of the partition leases; shorter in tests. */
export interface AssignmentTimings {
  /** A replica without a heartbeat for this long has lost its partitions. */
  readonly leaseMs: number;
  readonly renewMs: number;
}

const defaultTimings: AssignmentTimings = { leaseMs: 10_000, renewMs: 2_000 };

/** Callbacks of a partition. */
interface PartitionOwner {
  /** The partition is assigned to this replica until `isHeld` returns false. */
  onAssigned(partition: number, isHeld: () => boolean): void;
  /** The partition is revoked; resolves once all work on it has ended. */
  onRevoked(partition: number): Promise<void>;
}

/** An assigned partition. */
interface Assignment {
  /** Its lease expired unnoticed. */
  isLost: boolean;
}

/**
 * Assigns partitions to replicas evenly: a lease for each partition in the database, and one for each replica, so that
 * all know their number. A lease only avoids duplicate work; writes are guarded where they happen.
 */
export class PartitionAssigner {
  readonly #leases: Collection<PartitionLease>;
  readonly #name: string;
  readonly #pod: string | null;
  readonly #count: number;
  readonly #owner: PartitionOwner;
  readonly #log: Logger;
  readonly #timings: AssignmentTimings;
  readonly #holder = randomUUID();
  readonly #assigned = new Map<number, Assignment>();
  /** Partitions that are being released: that may take longer than a lease. */
  readonly #releasing = new Map<number, Promise<void>>();
  readonly #running: Promise<void>;
  readonly #stopped = new AbortController();
  #heldUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(
    database: Database,
    options: {
      name: string;
      pod: string | null;
      count: number;
      owner: PartitionOwner;
      log: Logger;
      timings?: AssignmentTimings;
    },
  ) {
    this.#leases = database.collection<PartitionLease>('telemetry_leases');
    this.#name = options.name;
    this.#pod = options.pod;
    this.#count = options.count;
    this.#owner = options.owner;
    this.#log = options.log;
    this.#timings = options.timings ?? defaultTimings;
    this.#running = this.#run();
  }

  /** Partitions of this replica. */
  get assigned(): ReadonlySet<number> {
    return new Set(this.#assigned.keys());
  }

  /** Releases all, so that another replica need not wait. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    this.#wake?.();
    await this.#running;
    for (const partition of this.#assigned.keys()) this.#release(partition);
    await Promise.all(this.#releasing.values());
    try {
      await this.#leases.deleteMany({ holder: this.#holder });
    } catch (error) {
      // They expire by themselves.
      this.#log.info({ err: error }, 'could not release partitions');
    }
  }

  readonly #isHeld = (): boolean => performance.now() < this.#heldUntilMs;

  async #run(): Promise<void> {
    let isFirst = true;
    while (!this.#stopped.signal.aborted) {
      try {
        if (isFirst) await this.#replacePredecessor();
        isFirst = false;
        await this.#rebalance();
      } catch (error) {
        this.#log.warn({ err: error }, 'could not assign partitions of telemetry');
        if (!this.#isHeld()) this.#revoke(() => true);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#timer = setTimeout(resolve, this.#timings.renewMs);
        if (this.#stopped.signal.aborted) resolve();
      });
    }
  }

  /** Deletes the leases of an earlier process of this pod: it was killed, and no replica has to wait for its leases. */
  async #replacePredecessor(): Promise<void> {
    if (this.#pod === null) return;
    await this.#leases.deleteMany({
      _id: { $gte: `${this.#name}:`, $lt: `${this.#name};` },
      pod: this.#pod,
      holder: { $ne: this.#holder },
    });
  }

  async #rebalance(): Promise<void> {
    const startedMs = performance.now();
    const now = new Date();
    const expiresAt = new Date(now.getTime() + this.#timings.leaseMs);
    await this.#leases.updateOne(
      { _id: this.#memberId(this.#holder) },
      { $set: { holder: this.#holder, pod: this.#pod, expiresAt } },
      { upsert: true },
    );
    await this.#leases.updateMany({ holder: this.#holder }, { $set: { expiresAt } });
    const all = await this.#leases.find({ _id: { $gte: `${this.#name}:`, $lt: `${this.#name};` } }).toArray();
    const mine = new Set(all.filter(({ holder }) => holder === this.#holder).map(({ _id }) => _id));
    // Leases that expired unnoticed belong to another replica.
    this.#revoke((partition) => !mine.has(this.#partitionId(partition)));
    this.#heldUntilMs = startedMs + this.#timings.leaseMs;
    await this.#releaseStale(mine);
    const members = all.filter(({ _id, expiresAt: end }) => _id.startsWith(this.#memberId('')) && end > now).length;
    const fair = Math.ceil(this.#count / Math.max(1, members));
    for (const partition of [...this.#assigned.keys()].slice(fair)) this.#release(partition);
    const others = all.filter(({ holder, expiresAt: end }) => holder !== this.#holder && end > now);
    await this.#acquireFree(fair, new Set(others.map(({ _id }) => _id)));
    await this.#leases.deleteMany({
      _id: { $gte: this.#memberId(''), $lt: `${this.#name}:member;` },
      expiresAt: { $lt: new Date(now.getTime() - 60_000) },
    });
  }

  async #acquireFree(fair: number, taken: ReadonlySet<string>): Promise<void> {
    for (let partition = 0; partition < this.#count && this.#assigned.size < fair; partition += 1) {
      if (this.#assigned.has(partition) || this.#releasing.has(partition)) continue;
      if (!taken.has(this.#partitionId(partition))) await this.#acquire(partition);
    }
  }

  async #acquire(partition: number): Promise<void> {
    const claim = { name: this.#partitionId(partition), holder: this.#holder, ttlMs: this.#timings.leaseMs };
    if (!(await acquireLease(this.#leases, { ...claim, fields: { pod: this.#pod } }))) return;
    const own: Assignment = { isLost: false };
    this.#assigned.set(partition, own);
    this.#owner.onAssigned(partition, () => !own.isLost && this.#isHeld());
  }

  /**
   * Releases leases of this replica without work, which would otherwise be renewed with the others: of partitions that
   * were dropped during a database outage, that could not be released, or whose acquisition was not confirmed.
   */
  async #releaseStale(mine: ReadonlySet<string>): Promise<void> {
    for (let partition = 0; partition < this.#count; partition += 1) {
      const isAtWork = this.#assigned.has(partition) || this.#releasing.has(partition);
      if (!isAtWork && mine.has(this.#partitionId(partition))) await this.#releaseLease(partition);
    }
  }

  async #releaseLease(partition: number): Promise<void> {
    await releaseLease(this.#leases, { name: this.#partitionId(partition), holder: this.#holder });
  }

  #revoke(isLost: (partition: number) => boolean): void {
    for (const [partition, own] of this.#assigned) {
      if (!isLost(partition)) continue;
      own.isLost = true;
      this.#release(partition);
    }
  }

  /** Releases a partition, and then its lease. The others are renewed in the meantime. */
  #release(partition: number): void {
    this.#assigned.delete(partition);
    const left = this.#owner
      .onRevoked(partition)
      .then(() => this.#releaseLease(partition))
      .catch((error: unknown) => this.#log.warn({ err: error, partition }, 'could not release a partition yet'))
      .finally(() => this.#releasing.delete(partition));
    this.#releasing.set(partition, left);
  }

  #partitionId(partition: number): string {
    return `${this.#name}:partition:${partition}`;
  }

  #memberId(holder: string): string {
    return `${this.#name}:member:${holder}`;
  }
}
