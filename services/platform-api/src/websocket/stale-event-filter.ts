import type { LiveEvent } from '@fleet/bus';

/** Number of streams whose last change is stored; overtaken events are late by moments only. */
const maxStreams = 2_000;

/** Newest delivered change of a stream. */
type NewestChange = Pick<LiveEvent, 'order' | 'startId'>;

/**
 * Drops stream events older than one already delivered. Events can arrive out of order because several replicas forward
 * them and `starting` has another publisher.
 */
export class StaleEventFilter {
  /** The stream that changed last is at the end. */
  readonly #newest = new Map<string, NewestChange>();

  /**
   * Returns false for a change older than a delivered one. Changes of different publishers cannot be compared and are
   * delivered, except the start of a started stream.
   */
  admit({ vehicleId, data, order, startId }: LiveEvent): boolean {
    const stream = `${vehicleId}:${String(data['channel_id'])}:${String(data['kind'])}`;
    const newest = this.#newest.get(stream) ?? {};
    if (data['status'] === 'starting') return startId === undefined || startId !== newest.startId;
    if (order === undefined && startId === undefined) return true;
    if (order !== undefined && newest.order?.by === order.by && newest.order.sequence >= order.sequence) return false;
    this.#newest.delete(stream);
    this.#newest.set(stream, {
      ...newest,
      ...(order === undefined ? {} : { order }),
      ...(startId === undefined ? {} : { startId }),
    });
    const [oldest] = this.#newest.keys();
    if (this.#newest.size > maxStreams && oldest !== undefined) this.#newest.delete(oldest);
    return true;
  }
}
