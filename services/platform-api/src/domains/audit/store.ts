import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';
import { AccountRepository, type NewAccountRecord } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { AuditEntry } from './schema.ts';

const collectionName = 'audit_log';

/** Maps an event of another service to its entry, so that a redelivered event does not create a second one. */
interface DedupeEntry {
  /** The id of the event. */
  readonly _id: string;
  readonly recordId: number;
  readonly takenAt: Date;
}

export const dedupeCollection = (database: Database): Collection<DedupeEntry> =>
  database.collection<DedupeEntry>('audit_told');

export const auditEntryCollection = (records: RecordStore): AccountRepository<AuditEntry> =>
  new AccountRepository(records, collectionName);

export const entriesOfAllAccounts = (records: RecordStore): Collection<AuditEntry> =>
  records.collection<AuditEntry>(collectionName);

/** Inserts the entry of an event once. A repeated call after a crash completes what the first one started. */
export async function insertOnce(
  records: RecordStore,
  source: { readonly id: string; readonly accountId: number; readonly at: Date },
  fields: NewAccountRecord<AuditEntry>,
): Promise<void> {
  const { id, accountId, at } = source;
  const recordId = await claimRecordId(records, id);
  const times = { createdAt: at, updatedAt: at, version: 1 };
  try {
    await entriesOfAllAccounts(records).insertOne({ _id: recordId, ...fields, accountId, ...times });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

async function claimRecordId(records: RecordStore, id: string): Promise<number> {
  const dedupe = dedupeCollection(records.database);
  const recordId = await records.nextId(collectionName);
  try {
    await dedupe.insertOne({ _id: id, recordId, takenAt: new Date() });
    return recordId;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const existing = await dedupe.findOne({ _id: id });
  if (existing === null) throw new Error(`the dedupe record ${id} of the audit log was deleted during a redelivery`);
  return existing.recordId;
}
