import type { LiveEvent } from '@fleet/bus';

/** Streams that are remembered; what has been overtaken is late by moments, not by so many others. */
const maxStreams = 2_000;

/** Leaves out what a newer change of the same stream has overtaken: replicas of platform-api take turns in telling them on. */
export class ToldInOrder {
  /** The newest change of each stream, that of the one which changed last at the end. */
  readonly #newest = new Map<string, NonNullable<LiveEvent['order']>>();

  /** False for a change that is older than one which has been told. Those of different processes can not be compared, and are all told. */
  admit({ vehicleId, data, order }: LiveEvent): boolean {
    if (order === undefined) return true;
    const stream = `${vehicleId}:${String(data['channel_id'])}`;
    const newest = this.#newest.get(stream);
    if (newest?.by === order.by && newest.sequence >= order.sequence) return false;
    this.#newest.delete(stream);
    this.#newest.set(stream, order);
    const [oldest] = this.#newest.keys();
    if (this.#newest.size > maxStreams && oldest !== undefined) this.#newest.delete(oldest);
    return true;
  }
}
