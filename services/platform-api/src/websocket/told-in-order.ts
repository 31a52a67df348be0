import type { LiveEvent } from '@fleet/bus';

/** Streams that are remembered; what has been overtaken is late by moments, not by so many others. */
const maxStreams = 2_000;

/** The newest change of a stream that has been told. */
type Newest = Pick<LiveEvent, 'order' | 'startId'>;

/**
 * Leaves out what a newer change of the same stream has overtaken: replicas of platform-api take turns in telling them on, and that a stream starts is told by another process than
 * what becomes of it.
 */
export class ToldInOrder {
  /** That of the stream which changed last at the end. */
  readonly #newest = new Map<string, Newest>();

  /** False for a change that is older than one which has been told. Those of different processes can not be compared, and are all told, but for the start of what has started. */
  admit({ vehicleId, data, order, startId }: LiveEvent): boolean {
    const stream = `${vehicleId}:${String(data['channel_id'])}`;
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
