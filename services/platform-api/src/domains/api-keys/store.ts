import type { PageItems, Paging, Sorting } from '@fleet/service-kit';
import { AccountRecords, type Scope } from '../../store/account-records.ts';
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

/** Keys that people have made, and that are not revoked. */
export const listOwnKeys = (
  records: Records,
  scope: Scope,
  part: { sorting?: Sorting; paging?: Paging },
): Promise<PageItems<ApiKey>> =>
  keysIn(records).list(scope, { where: { revokedAt: null, sealedDashboardKey: null }, ...part });

/** The keys of the account's dashboard, the first one first: there is one, but for replicas that made one at the same time. */
export const findDashboardKeys = async (records: Records, scope: Scope): Promise<ApiKey[]> => {
  const keys = await keysIn(records).all(scope, { revokedAt: null, sealedDashboardKey: { $ne: null } });
  return keys.toSorted((a, b) => a._id - b._id);
};
