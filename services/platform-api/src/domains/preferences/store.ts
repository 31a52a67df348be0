import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { StoredConfig, StoredPreferences } from './schema.ts';

const preferenceCollection = (records: RecordStore): AccountRepository<StoredPreferences> =>
  new AccountRepository<StoredPreferences>(records, 'user_preferences');

const configIn = (records: RecordStore): AccountRepository<StoredConfig> =>
  new AccountRepository<StoredConfig>(records, 'global_config');

/** Returns a user's record; creates it if it does not exist. */
export async function preferencesOf(records: RecordStore, scope: Scope, userId: number): Promise<StoredPreferences> {
  const fields = { accountId: scope.accountId, userId, json: '{}' };
  return (await records.insertUnique<StoredPreferences>('user_preferences', 'user', String(userId), fields)).record;
}

/** Returns a user's record, or null if it does not exist yet. */
export const findPreferences = (records: RecordStore, userId: number): Promise<StoredPreferences | null> =>
  records.findByUnique<StoredPreferences>('user_preferences', 'user', String(userId));

export const updatePreferences = (
  records: RecordStore,
  before: StoredPreferences,
  json: string,
  expectedVersion: number | undefined,
): Promise<StoredPreferences | null> =>
  preferenceCollection(records).update(before, before._id, { json }, expectedVersion);

/** Returns an account's record, or null if it does not exist yet. */
export const findConfig = (records: RecordStore, { accountId }: Scope): Promise<StoredConfig | null> =>
  records.findByUnique<StoredConfig>('global_config', 'account', String(accountId));

/** Returns an account's record; creates it if it does not exist. */
export async function configOf(records: RecordStore, { accountId }: Scope): Promise<StoredConfig> {
  const fields = { accountId, json: '{}' };
  return (await records.insertUnique<StoredConfig>('global_config', 'account', String(accountId), fields)).record;
}

export const updateConfig = (
  records: RecordStore,
  before: StoredConfig,
  json: string,
  expectedVersion: number | undefined,
): Promise<StoredConfig | null> => configIn(records).update(before, before._id, { json }, expectedVersion);

/** Removes a user's record. A later request of the user would create another one. */
export async function removePreferences(records: RecordStore, scope: Scope, userId: number): Promise<void> {
  const preferences = preferenceCollection(records);
  const record = await findPreferences(records, userId);
  if (record !== null) await preferences.remove(scope, record._id);
}
