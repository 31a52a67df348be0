import type { Collection, Database, Redis } from '@fleet/storage';
import { writeBatchStates } from '../domains/vehicle-states/commands.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';

/** Offset up to which a partition has been processed. */
export interface PartitionOffset {
  /** Creation time of the stream. */
  readonly stream: string;
  readonly seq: number;
}

const offsetKey = (partition: number): string => `telemetry-place:${partition}`;
const historyId = (partition: number): string => `history:${partition}`;
const formatOffset = ({ stream, seq }: PartitionOffset): string => `${seq}@${stream}`;
const offsets = (database: Database): Collection<PartitionOffset & { readonly _id: string }> =>
  database.collection('telemetry_places');

/** Another replica has taken over the partition. */
export class PartitionLost extends Error {
  override readonly name = 'PartitionLost';
}

/** Returns the offset of a partition in Redis; null without one. */
export async function readOffset(redis: Redis, partition: number): Promise<PartitionOffset | null> {
  const text = await redis.get(offsetKey(partition));
  const [, seq, stream = ''] = /^(\d+)@(.*)$/.exec(text ?? '') ?? [];
  return seq === undefined ? null : { stream, seq: Number(seq) };
}

/**
 * Writes the states and last positions of a batch together with the offset; throws PartitionLost if another replica
 * has taken over. Returns `emptied` if Redis has lost its offset.
 */
export async function writeStates(
  redis: Redis,
  partition: number,
  expected: PartitionOffset | null,
  offset: PartitionOffset,
  states: ReadonlyMap<string, VehicleState>,
): Promise<'written' | 'emptied'> {
  const change = {
    key: offsetKey(partition),
    expected: expected === null ? '' : formatOffset(expected),
    next: formatOffset(offset),
  };
  const result = await writeBatchStates(redis, change, states);
  if (result === 'conflict') throw new PartitionLost(`partition ${partition} belongs to another replica`);
  return result;
}

/** Returns the offset of a partition when all of its states were last in MongoDB. */
export async function readStoredOffset(database: Database, partition: number): Promise<PartitionOffset | null> {
  return offsets(database).findOne({ _id: String(partition) });
}

/** Saves the offset of a partition. */
export async function storeOffset(
  database: Database,
  partition: number,
  { stream, seq }: PartitionOffset,
): Promise<void> {
  await offsets(database).updateOne({ _id: String(partition) }, { $set: { stream, seq } }, { upsert: true });
}

/** Returns the offset up to which the history has all points of a partition. */
export async function readHistoryOffset(database: Database, partition: number): Promise<PartitionOffset | null> {
  return offsets(database).findOne({ _id: historyId(partition) });
}

/** Saves the offset up to which the history has all points. */
export async function storeHistoryOffset(
  database: Database,
  partition: number,
  { stream, seq }: PartitionOffset,
): Promise<void> {
  const _id = historyId(partition);
  await offsets(database).updateOne({ _id }, { $set: { stream, seq } }, { upsert: true });
}
