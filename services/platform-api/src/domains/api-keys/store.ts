import type { Page, Pagination, Sort } from '@fleet/service-kit';
import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { NewRecord, RecordStore } from '../../store/record-store.ts';
import type { ApiKey } from './schema.ts';

export const apiKeyCollection = (records: RecordStore): AccountRepository<ApiKey> =>
  new AccountRepository<ApiKey>(records, 'api_keys');

export const findKey = (records: RecordStore, keySha256: string): Promise<ApiKey | null> =>
  records.findByUnique<ApiKey>('api_keys', 'key', keySha256);

export const insertKey = (records: RecordStore, key: NewRecord<ApiKey>) =>
  records.insertUnique<ApiKey>('api_keys', 'key', key.keySha256, key);

/** Marks a key as revoked; returns false if it was already revoked. */
export async function markRevoked(records: RecordStore, id: number, now: Date): Promise<boolean> {
  const result = await records
    .collection<ApiKey>('api_keys')
    .updateOne({ _id: id, revokedAt: null }, { $set: { revokedAt: now, updatedAt: now }, $inc: { version: 1 } });
  return result.modifiedCount === 1;
}

/** Lists keys created by users that are not revoked. */
export const listOwnKeys = (
  records: RecordStore,
  scope: Scope,
  listOptions: { sorting?: Sort; paging?: Pagination },
): Promise<Page<ApiKey>> =>
  apiKeyCollection(records).list(scope, { where: { revokedAt: null, sealedDashboardKey: null }, ...listOptions });

/**
 * Returns the dashboard keys of an account, oldest first. There is more than one only if replicas created one
 * concurrently.
 */
export const findDashboardKeys = async (records: RecordStore, scope: Scope): Promise<ApiKey[]> => {
  const keys = await apiKeyCollection(records).all(scope, { revokedAt: null, sealedDashboardKey: { $ne: null } });
  return keys.toSorted((a, b) => a._id - b._id);
};
