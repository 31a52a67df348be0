import type { Database } from '@fleet/storage';

/** What a bucket of the history gets. */
export interface BucketFields {
  readonly head: Readonly<Record<string, unknown>>;
  /** By the name of the field. */
  readonly points: Record<string, string>;
}

/** A bucket of ten minutes has room for three in each second: more come only from a clock that stands still, and each would make the next one slower to write. */
export const maxBucketPoints = 2_000;

const maxKnown = 100_000;

/** How many points buckets have, as far as this process has written them: a bound, not a count. */
export class BucketBounds {
  static readonly #known = new WeakMap<Database, BucketBounds>();
  readonly #counts = new Map<string, number>();

  /** Of a database; all that write to it in this process share them. */
  static of(database: Database): BucketBounds {
    const bounds = BucketBounds.#known.get(database) ?? new BucketBounds();
    BucketBounds.#known.set(database, bounds);
    return bounds;
  }

  /** Without the points for which there is no room. */
  fitting(
    given: ReadonlyMap<string, BucketFields>,
    maxPoints: number,
  ): { buckets: Map<string, BucketFields>; leftOut: number } {
    let leftOut = 0;
    const buckets = new Map<string, BucketFields>();
    for (const [id, { head, points }] of given) {
      const room = Math.max(0, maxPoints - (this.#counts.get(id) ?? 0));
      const all = Object.entries(points);
      leftOut += Math.max(0, all.length - room);
      if (room > 0)
        buckets.set(id, { head, points: all.length <= room ? points : Object.fromEntries(all.slice(0, room)) });
    }
    return { buckets, leftOut };
  }

  /** Only what was written counts: what failed is tried again. Answers the buckets that are full by it. */
  written(buckets: ReadonlyMap<string, BucketFields>, maxPoints: number): string[] {
    const full: string[] = [];
    for (const [id, { points }] of buckets) {
      const count = (this.#counts.get(id) ?? 0) + Object.keys(points).length;
      this.#keep(id, count);
      if (count >= maxPoints) full.push(id);
    }
    return full;
  }

  /** The database takes no more. */
  fill(id: string): void {
    this.#keep(id, Number.POSITIVE_INFINITY);
  }

  /** Those that were written last stay known. */
  #keep(id: string, count: number): void {
    this.#counts.delete(id);
    this.#counts.set(id, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > maxKnown && oldest !== undefined) this.#counts.delete(oldest);
  }
}
