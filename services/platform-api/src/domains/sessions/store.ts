import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Session, SpentToken } from './schema.ts';

export const sessionCollection = (records: RecordStore): AccountRepository<Session> =>
  new AccountRepository<Session>(records, 'sessions');

/** Finds a session of any account: a refresh token names only its session. */
export const findSessionById = (records: RecordStore, id: number): Promise<Session | null> =>
  records.collection<Session>('sessions').findOne({ _id: id });

/** Records a use without changing the version of the record. */
export async function markUsed(records: RecordStore, id: number, now: Date): Promise<void> {
  await records.collection<Session>('sessions').updateOne({ _id: id }, { $set: { lastUsedAt: now } });
}

/** Replaces the current refresh token by the next one; returns false if it was spent before. */
export async function rotateRefreshToken(
  records: RecordStore,
  id: number,
  spentSha256: string,
  next: { currentSha256: string; expiresAt: Date; lastUsedAt: Date; ip: string; spent?: SpentToken },
): Promise<boolean> {
  const result = await records
    .collection<Session>('sessions')
    .updateOne({ _id: id, currentSha256: spentSha256, revokedAt: null }, { $set: { ...next } });
  return result.modifiedCount === 1;
}

/** Removes sessions that ended before a time; returns their number. */
export async function removeSessionsBefore(records: RecordStore, moment: Date): Promise<number> {
  const ended = { $or: [{ expiresAt: { $lt: moment } }, { revokedAt: { $lt: moment } }] };
  return (await records.collection<Session>('sessions').deleteMany(ended)).deletedCount;
}
