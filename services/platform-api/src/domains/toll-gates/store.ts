import type { Page, Pagination, Sort } from '@fleet/service-kit';
import type { Collection } from '@fleet/storage';
import type { Bounds } from '../../geometry/bounds.ts';
import { type Filter, toSortOrder } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { keyOf } from './rules.ts';
import type { TollGate, TollGateFields } from './schema.ts';

const collectionName = 'toll_gates';
const writtenAtOnce = 500;

const gatesIn = (records: RecordStore): Collection<TollGate> => records.collection<TollGate>(collectionName);

/** A page of gates. */
export async function pageOfGates(
  records: RecordStore,
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<TollGate>> {
  // All ids are positive: without another condition the gates are counted from the keys of this index.
  const filter: object = { $and: [{ _id: { $gt: 0 } }, where] };
  const found = gatesIn(records).find(filter).sort(toSortOrder(sorting)).skip(paging.offset).limit(paging.limit);
  const [items, total] = await Promise.all([found.toArray(), gatesIn(records).countDocuments(filter)]);
  return { items, total };
}

/** All gates that meet a condition. */
export const allGates = (records: RecordStore, where: Filter): Promise<TollGate[]> =>
  gatesIn(records)
    .find(where as object)
    .toArray();

/** Gates within a rectangle, as a condition. */
export const within = ({ minLat, minLng, maxLat, maxLng }: Bounds): Filter => ({
  latitude: { $gte: minLat, $lte: maxLat },
  $or: [-360, 0, 360].map((turn) => ({ longitude: { $gte: minLng + turn, $lte: maxLng + turn } })),
});

/** Makes the stored gates those of a file: the same gate keeps its id. What is written when it breaks off is right, and the rest follows the next time. */
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
      await gatesIn(records).updateOne(
        { _id: before._id },
        { $set: { ...gate, updatedAt: now }, $inc: { version: 1 } },
      );
      changed += 1;
    }
  }
  for (let at = 0; at < added.length; at += writtenAtOnce) {
    check();
    await gatesIn(records).insertMany(added.slice(at, at + writtenAtOnce));
  }
  if (gone.length > 0) await gatesIn(records).deleteMany({ _id: { $in: gone } });
  return { added: added.length, changed, removed: gone.length };
}

const differs = (before: TollGate, gate: TollGateFields): boolean =>
  Object.entries(gate).some(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof TollGateFields]),
  );
