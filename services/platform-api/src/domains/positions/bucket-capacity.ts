import type { Database } from '@fleet/storage';

/** The fields to write to a bucket of the history. */
export interface BucketFields {
  readonly head: Readonly<Record<string, unknown>>;
  /** Keys are field names. */
  readonly points: Record<string, string>;
}

/**
 * Limit of points in a bucket of ten minutes, enough for three per second. Only a terminal with a stopped clock sends
 * more, and each of those would slow down the next write.
 */
export const maxBucketPoints = 2_000;

const maxKnown = 100_000;

/** Records the number of points that this process has written to each bucket: a lower bound, not the exact count. */
export class BucketCapacity {
  static readonly #known = new WeakMap<Database, BucketCapacity>();
  readonly #counts = new Map<string, number>();

  /** Returns the bounds of a database, shared by all writers of this process. */
  static of(database: Database): BucketCapacity {
    const bounds = BucketCapacity.#known.get(database) ?? new BucketCapacity();
    BucketCapacity.#known.set(database, bounds);
    return bounds;
  }

  /** Drops the points that exceed the limit. */
  trim(
    given: ReadonlyMap<string, BucketFields>,
    maxPoints: number,
  ): { buckets: Map<string, BucketFields>; dropped: number } {
    let dropped = 0;
    const buckets = new Map<string, BucketFields>();
    for (const [id, { head, points }] of given) {
      const room = Math.max(0, maxPoints - (this.#counts.get(id) ?? 0));
      const all = Object.entries(points);
      dropped += Math.max(0, all.length - room);
      if (room > 0)
        buckets.set(id, { head, points: all.length <= room ? points : Object.fromEntries(all.slice(0, room)) });
    }
    return { buckets, dropped };
  }

  /** Counts written points; failed writes are retried and not counted. Returns the buckets that are now full. */
  recordWrite(buckets: ReadonlyMap<string, BucketFields>, maxPoints: number): string[] {
    const full: string[] = [];
    for (const [id, { points }] of buckets) {
      const count = (this.#counts.get(id) ?? 0) + Object.keys(points).length;
      this.#keep(id, count);
      if (count >= maxPoints) full.push(id);
    }
    return full;
  }

  /** Marks a bucket that the database no longer extends. */
  markFull(id: string): void {
    this.#keep(id, Number.POSITIVE_INFINITY);
  }

  /** Retains the most recently written buckets. */
  #keep(id: string, count: number): void {
    this.#counts.delete(id);
    this.#counts.set(id, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > maxKnown && oldest !== undefined) this.#counts.delete(oldest);
  }
}
