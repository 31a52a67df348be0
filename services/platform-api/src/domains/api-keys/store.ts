import { AccountRecords } from '../../store/account-records.ts';
import type { NewRecord, Records } from '../../store/records.ts';
import type { ApiKey } from './schema.ts';

export const keysIn = (records: Records): AccountRecords<ApiKey> => new AccountRecords<ApiKey>(records, 'api_keys');

export const findKey = (records: Records, keySha256: string): Promise<ApiKey | null> =>
  records.findByUnique<ApiKey>('api_keys', 'key', keySha256);

export const insertKey = (records: Records, key: NewRecord<ApiKey>) =>
  records.insertUnique<ApiKey>('api_keys', 'key', key.keySha256, key);

/** False when the key was revoked before. */
export async function markRevoked(records: Records, id: number, now: Date): Promise<boolean> {
  const result = await records
    .collection<ApiKey>('api_keys')
    .updateOne({ _id: id, revokedAt: null }, { $set: { revokedAt: now, updatedAt: now }, $inc: { version: 1 } });
  return result.modifiedCount === 1;
}
