import type { Database } from '@fleet/storage';
import type { NewPoint } from '../domains/positions/schema.ts';
import { appendPositions, type LeftOut } from '../domains/positions/store.ts';
import type { PartitionPlace } from './states.ts';
import { storeHistoryPlace } from './states.ts';

/** Points gather for so long: a document of the history is then written once for several of them. */
const gatherMs = 2_000;
const retryMs = 1_000;
/** With so many points that wait the history is written as fast as it can be, and no longer lets others before. */
const urgentPoints = 10_000;
/** With so many the reports wait for the database. */
const maxPoints = 20_000;

/**
 * Writes the history of a partition's vehicles behind the reports, so that an alarm does not wait for it. How far it has come stands in MongoDB and is written after
 * the points: what a crash takes from memory is read again from the stream.
 */
export class HistoryWriter {
  readonly #database: Database;
  readonly #partition: number;
  readonly #onError: (error: unknown) => void;
  readonly #onLeftOut: (leftOut: LeftOut) => void;
  #points: NewPoint[] = [];
  /** Those that are being written. */
  #underWay: readonly NewPoint[] = [];
  #place: PartitionPlace | null = null;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    database: Database,
    partition: number,
    { onError, onLeftOut }: { onError: (error: unknown) => void; onLeftOut: (leftOut: LeftOut) => void },
  ) {
    this.#database = database;
    this.#partition = partition;
    this.#onError = onError;
    this.#onLeftOut = onLeftOut;
  }

  /** Takes the points of all messages up to a place; resolves at once unless far too many wait. */
  async take(points: readonly NewPoint[], place: PartitionPlace): Promise<void> {
    for (const point of points) this.#points.push(point);
    this.#place = place;
    this.#timer ??= setTimeout(() => void this.#begin(), gatherMs);
    while (this.#points.length > maxPoints && !this.#isStopped) await this.#begin();
  }

  /** Points that the history may not have yet, in lists that nothing is taken out of. */
  get waiting(): readonly (readonly NewPoint[])[] {
    return [this.#underWay, this.#points];
  }

  /** Nobody waits for the database any more: what it does not take is read again from the stream. */
  release(): void {
    this.#isStopped = true;
  }

  /** Writes what waits; false where that failed, and it waits for whoever comes next. */
  async stop(): Promise<boolean> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#writing;
    return this.#write();
  }

  #begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      if ((await this.#write()) || this.#isStopped) return;
      this.#timer ??= setTimeout(() => void this.#begin(), retryMs);
      await new Promise((resolve) => {
        setTimeout(resolve, retryMs);
      });
    });
    return this.#writing;
  }

  async #write(): Promise<boolean> {
    const points = this.#points;
    const place = this.#place;
    if (place === null) return true;
    this.#points = [];
    this.#underWay = points;
    this.#place = null;
    try {
      const isUrgent = (): boolean => this.#isStopped || this.#points.length > urgentPoints;
      const leftOut = await appendPositions(this.#database, points, { isUrgent });
      if (leftOut.points > 0 || leftOut.buckets.length > 0) this.#onLeftOut(leftOut);
      await storeHistoryPlace(this.#database, this.#partition, place);
      return true;
    } catch (error) {
      this.#onError(error);
      this.#points = [...points, ...this.#points];
      this.#place ??= place;
      return false;
    } finally {
      this.#underWay = [];
    }
  }
}
