import type { Scope as AccountScope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import { defaultScopes, isValid, keyHash, newKey } from './rules.ts';
import type { ApiKey } from './schema.ts';
import { findKey, insertKey, keysIn, markRevoked } from './store.ts';

/** Puts a key on record by its hash, unless it is there: a revoked one stays revoked. */
export const recordKey = (
  records: Records,
  key: string,
  options: { accountId: number; name: string },
): Promise<{ record: ApiKey; created: boolean }> =>
  insertKey(records, {
    ...options,
    keySha256: keyHash(key),
    hint: key.slice(-4),
    scopes: defaultScopes,
    ipAllowlist: [],
    expiresAt: null,
    revokedAt: null,
    userId: null,
    canMintTokens: false,
    sealedDashboardKey: null,
  });

/** Makes a key; the answer is the only place where it is ever seen. */
export async function createKey(records: Records, options: { accountId: number; name: string }): Promise<string> {
  const key = newKey();
  await recordKey(records, key, options);
  return key;
}

/** The key with this hash when it may be used now, else null. */
export async function verifyKey(records: Records, keySha256: string, now = new Date()): Promise<ApiKey | null> {
  const key = await findKey(records, keySha256);
  return key !== null && isValid(key, keySha256, now) ? key : null;
}

/** Ends a key for good; false when there is no such key. Revoking again is no fault. */
export async function revokeKey(records: Records, keySha256: string, now = new Date()): Promise<boolean> {
  const key = await findKey(records, keySha256);
  if (key === null) return false;
  await markRevoked(records, key._id, now);
  return true;
}

/** The key of an account by id when it may be used now, else null. */
export async function findKeyById(
  records: Records,
  scope: AccountScope,
  id: number,
  now = new Date(),
): Promise<ApiKey | null> {
  const key = await keysIn(records).find(scope, id);
  return key !== null && isValid(key, key.keySha256, now) ? key : null;
}
