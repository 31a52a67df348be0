import type { Database } from '@fleet/storage';
import { appendPositions, type DroppedPoints } from '../domains/positions/commands.ts';
import type { NewPoint } from '../domains/positions/schema.ts';
import type { OffsetStore, PartitionOffset } from './offset-store.ts';

/** Debounce time of points: a document of the history is then written once for several of them. */
const debounceMs = 2_000;
const retryMs = 1_000;
/** With this many waiting points the history is written as fast as possible, without yielding to others. */
const urgentPoints = 10_000;
/** With this many waiting points the reports wait for the database. */
const maxPoints = 20_000;

/**
 * Writes the history of a partition's vehicles after the reports, so that an alarm does not wait for it. Its offset is
 * in MongoDB and written after the points: points lost in a crash are read from the stream again.
 */
export class HistoryWriter {
  readonly #database: Database;
  readonly #offsets: OffsetStore;
  readonly #onError: (error: unknown) => void;
  readonly #onDropped: (dropped: DroppedPoints) => void;
  #points: NewPoint[] = [];
  /** Points that are being written. */
  #inFlight: readonly NewPoint[] = [];
  /** Offset up to which the history had all points at the start. */
  #startSeq = 0;
  /** Offset of the newest waiting points; null if none wait. */
  #offset: PartitionOffset | null = null;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    database: Database,
    offsets: OffsetStore,
    { onError, onDropped }: { onError: (error: unknown) => void; onDropped: (dropped: DroppedPoints) => void },
  ) {
    this.#database = database;
    this.#offsets = offsets;
    this.#onError = onError;
    this.#onDropped = onDropped;
  }

  /** Ignores points up to an offset, which the history has already. */
  startAt(offset: PartitionOffset): void {
    this.#startSeq = offset.seq;
  }

  /** Adds the points of all messages up to an offset; resolves immediately unless far too many wait. */
  async add(points: readonly NewPoint[], offset: PartitionOffset): Promise<void> {
    // Messages may be read again for the states only.
    if (offset.seq <= this.#startSeq) return;
    for (const point of points) this.#points.push(point);
    this.#offset = offset;
    this.#timer ??= setTimeout(() => void this.#writeNow(), debounceMs);
    while (this.#points.length > maxPoints && !this.#isStopped) await this.#writeNow();
  }

  /** Points that may be missing in the history, in append-only lists. */
  get pending(): readonly (readonly NewPoint[])[] {
    return [this.#inFlight, this.#points];
  }

  /** Stops waiting for the database: unwritten points are read from the stream again. */
  abandon(): void {
    this.#isStopped = true;
  }

  /** Writes waiting points; returns false after a failure, and keeps them for the next call. */
  async stop(): Promise<boolean> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#writing;
    return this.#write();
  }

  #writeNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      if ((await this.#write()) || this.#isStopped) return;
      this.#timer ??= setTimeout(() => void this.#writeNow(), retryMs);
      await new Promise((resolve) => {
        setTimeout(resolve, retryMs);
      });
    });
    return this.#writing;
  }

  async #write(): Promise<boolean> {
    const points = this.#points;
    const offset = this.#offset;
    if (offset === null) return true;
    this.#points = [];
    this.#inFlight = points;
    this.#offset = null;
    try {
      const isUrgent = (): boolean => this.#isStopped || this.#points.length > urgentPoints;
      const dropped = await appendPositions(this.#database, points, { isUrgent });
      if (dropped.points > 0 || dropped.buckets.length > 0) this.#onDropped(dropped);
      await this.#offsets.saveHistory(offset);
      return true;
    } catch (error) {
      this.#onError(error);
      this.#points = [...points, ...this.#points];
      this.#offset ??= offset;
      return false;
    } finally {
      this.#inFlight = [];
    }
  }
}
