import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Session } from './schema.ts';

export const sessionsIn = (records: RecordStore): AccountRepository<Session> =>
  new AccountRepository<Session>(records, 'sessions');

/** Of all accounts: a refresh token knows its session alone. */
export const findSessionById = (records: RecordStore, id: number): Promise<Session | null> =>
  records.collection<Session>('sessions').findOne({ _id: id });

/** Notes a use, without counting it as a change of the record. */
export async function markUsed(records: RecordStore, id: number, now: Date): Promise<void> {
  await records.collection<Session>('sessions').updateOne({ _id: id }, { $set: { lastUsedAt: now } });
}

/** Spends the refresh token in force for the next one; false when it was spent before. */
export async function replaceRefresh(
  records: RecordStore,
  id: number,
  spentSha256: string,
  next: { currentSha256: string; expiresAt: Date; lastUsedAt: Date; ip: string },
): Promise<boolean> {
  const result = await records
    .collection<Session>('sessions')
    .updateOne({ _id: id, currentSha256: spentSha256, revokedAt: null }, { $set: { ...next } });
  return result.modifiedCount === 1;
}

/** Removes sessions that ended before a moment; the number of removed ones. */
export async function removeSessionsBefore(records: RecordStore, moment: Date): Promise<number> {
  const ended = { $or: [{ expiresAt: { $lt: moment } }, { revokedAt: { $lt: moment } }] };
  return (await records.collection<Session>('sessions').deleteMany(ended)).deletedCount;
}
