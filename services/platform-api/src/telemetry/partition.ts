import { telemetryPartition } from '@fleet/bus';

/** Thrown when another replica has taken over the partition. */
export class PartitionLost extends Error {
  override readonly name = 'PartitionLost';
}

/** Represents a partition that is assigned to this replica until its lease expires. */
export class Partition {
  readonly number: number;
  /** Returns false once the lease has expired or the partition was revoked. */
  readonly isHeld: () => boolean;
  readonly #count: number;

  constructor(number: number, isHeld: () => boolean, count: number) {
    this.number = number;
    this.isHeld = isHeld;
    this.#count = count;
  }

  /** Throws PartitionLost once the lease has expired. */
  assertHeld(): void {
    if (!this.isHeld()) throw new PartitionLost(`the lease of partition ${this.number} has expired`);
  }

  /** Returns whether the reports of a terminal are in this partition. */
  contains(imei: string): boolean {
    return telemetryPartition(imei, this.#count) === this.number;
  }
}
