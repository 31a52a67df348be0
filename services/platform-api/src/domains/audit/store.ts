import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';
import { AccountRecords, type NewAccountRecord } from '../../store/account-records.ts';
import { removeGently, writeGently } from '../../store/gentle-writes.ts';
import type { Records } from '../../store/records.ts';
import type { SweepTurn } from '../../store/sweep-turn.ts';
import type { AuditEntry } from './schema.ts';

const collectionName = 'audit_log';

/** Which entry something is that another service has told of: told again it is the same one. */
interface ToldEntry {
  /** By which it is told. */
  readonly _id: string;
  readonly recordId: number;
  readonly takenAt: Date;
}

const toldIn = (database: Database): Collection<ToldEntry> => database.collection<ToldEntry>('audit_told');

export const entriesIn = (records: Records): AccountRecords<AuditEntry> => new AccountRecords(records, collectionName);

/** Puts on record, once, what was told under an id: done again after a crash it completes what is there. */
export async function insertTold(
  records: Records,
  told: { readonly id: string; readonly accountId: number; readonly at: Date },
  fields: NewAccountRecord<AuditEntry>,
): Promise<void> {
  const { id, accountId, at } = told;
  const recordId = await claim(records, id);
  const times = { createdAt: at, updatedAt: at, version: 1 };
  try {
    await records.collection<AuditEntry>(collectionName).insertOne({ _id: recordId, ...fields, accountId, ...times });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

async function claim(records: Records, id: string): Promise<number> {
  const told = toldIn(records.database);
  const recordId = await records.nextId(collectionName);
  try {
    await told.insertOne({ _id: id, recordId, takenAt: new Date() });
    return recordId;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const known = await told.findOne({ _id: id });
  if (known === null) throw new Error(`the entry ${id} of the audit log was forgotten while it was told again`);
  return known.recordId;
}

/** Longer than the stream AUDIT keeps what may be told once more. */
const keepToldMs = 8 * 86_400_000;
const removedAtOnce = 1_000;

/** Forgets what can not be told again any more; answers where to go on, or null where all is done. */
export const sweepTold = (database: Database, turn: SweepTurn, nowMs = Date.now()): Promise<number | null> =>
  sweepOld(database, toldIn(database), { takenAt: { $lt: new Date(nowMs - keepToldMs) } }, turn);

const keepEntriesMs = 365 * 86_400_000;

/** Removes entries that are older than a year; answers where to go on, or null where all is done. */
export const sweepEntries = (records: Records, turn: SweepTurn, nowMs = Date.now()): Promise<number | null> =>
  sweepOld(
    records.database,
    records.collection<AuditEntry>(collectionName),
    { createdAt: { $lt: new Date(nowMs - keepEntriesMs) } },
    turn,
  );

/** What was removed is found no more: the next turn goes on by itself. */
async function sweepOld<T extends { readonly _id: string | number }>(
  database: Database,
  collection: Collection<T>,
  isOld: object,
  { from, isOver }: SweepTurn,
): Promise<number | null> {
  const find = () =>
    collection
      .find(isOld, { projection: { _id: 1 } })
      .limit(removedAtOnce)
      .toArray();
  const remove = (some: Awaited<ReturnType<typeof find>>): Promise<void> => {
    const removals = some.map(({ _id }) => {
      const filter: object = { _id };
      return { deleteOne: { filter } };
    });
    return writeGently(database, collection, removals, () => false);
  };
  return (await removeGently(find, (some) => remove([...some]), isOver)) ? null : from;
}
