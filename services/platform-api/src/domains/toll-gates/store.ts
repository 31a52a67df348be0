import type { Page, Pagination, Sort } from '@fleet/service-kit';
import type { Collection } from '@fleet/storage';
import type { Bounds } from '../../geometry/bounds.ts';
import { type Filter, toSortOrder } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { keyOf } from './rules.ts';
import type { TollGate, TollGateFields } from './schema.ts';

const collectionName = 'toll_gates';
const writtenAtOnce = 500;

const gateCollection = (records: RecordStore): Collection<TollGate> => records.collection<TollGate>(collectionName);

/** Returns a page of gates. */
export async function pageOfGates(
  records: RecordStore,
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<TollGate>> {
  // Matches all ids. Without other conditions the gates are then counted from the keys of the index.
  const filter: object = { $and: [{ _id: { $gt: 0 } }, where] };
  const found = gateCollection(records).find(filter).sort(toSortOrder(sorting)).skip(paging.offset).limit(paging.limit);
  const [items, total] = await Promise.all([found.toArray(), gateCollection(records).countDocuments(filter)]);
  return { items, total };
}

/** Returns all gates that match a condition. */
export const allGates = (records: RecordStore, where: Filter): Promise<TollGate[]> =>
  gateCollection(records)
    .find(where as object)
    .toArray();

/** Returns the condition for gates within a rectangle. */
export const within = ({ minLat, minLng, maxLat, maxLng }: Bounds): Filter => ({
  latitude: { $gte: minLat, $lte: maxLat },
  $or: [-360, 0, 360].map((turn) => ({ longitude: { $gte: minLng + turn, $lte: maxLng + turn } })),
});

/**
 * Replaces the stored gates by those of a file; an unchanged key preserves the id. After an interruption the written
 * part is valid, and the next run completes the rest.
 */
export async function replaceGates(
  records: RecordStore,
  gates: readonly TollGateFields[],
  check: () => void,
): Promise<{ readonly added: number; readonly changed: number; readonly removed: number }> {
  const wanted = new Map(gates.map((gate) => [keyOf(gate), gate]));
  const known = new Map((await allGates(records, {})).map((gate) => [gate.key, gate]));
  const gone = [...known.values()].filter(({ key }) => !wanted.has(key)).map(({ _id }) => _id);
  const added: TollGate[] = [];
  let changed = 0;
  for (const [key, gate] of wanted) {
    const before = known.get(key);
    const now = new Date();
    if (before === undefined) {
      const _id = await records.nextId(collectionName);
      added.push({ ...gate, key, _id, createdAt: now, updatedAt: now, version: 1 });
    } else if (differs(before, gate)) {
      await gateCollection(records).updateOne(
        { _id: before._id },
        { $set: { ...gate, updatedAt: now }, $inc: { version: 1 } },
      );
      changed += 1;
    }
  }
  for (let at = 0; at < added.length; at += writtenAtOnce) {
    check();
    await gateCollection(records).insertMany(added.slice(at, at + writtenAtOnce));
  }
  if (gone.length > 0) await gateCollection(records).deleteMany({ _id: { $in: gone } });
  return { added: added.length, changed, removed: gone.length };
}

const differs = (before: TollGate, gate: TollGateFields): boolean =>
  Object.entries(gate).some(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof TollGateFields]),
  );
