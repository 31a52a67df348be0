import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { AuditEntry } from './schema.ts';

export const entriesIn = (records: Records): AccountRecords<AuditEntry> => new AccountRecords(records, 'audit_log');

/** Removes entries of before a moment; the number of removed ones. */
export async function removeEntriesBefore(records: Records, moment: Date): Promise<number> {
  return (await records.collection<AuditEntry>('audit_log').deleteMany({ createdAt: { $lt: moment } })).deletedCount;
}
