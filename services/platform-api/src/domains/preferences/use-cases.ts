import { AppError, versionMismatch } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound } from '../../platform/fields.ts';
import type { Scope } from '../../store/account-repository.ts';
import { audit } from '../audit/use-cases.ts';
import { requireKnownTypes } from '../notifications/rules.ts';
import { findUser } from '../users/use-cases.ts';
import { ownGroupIds } from '../vehicle-groups/queries.ts';
import {
  checkPreferences,
  defaultConfig,
  defaultPreferences,
  merged,
  type Providers,
  requireProviders,
} from './rules.ts';
import type {
  ConfigBody,
  GlobalConfig,
  Preferences,
  PreferencesBody,
  StoredConfig,
  StoredPreferences,
} from './schema.ts';
import {
  configOf,
  findConfig,
  findPreferences,
  preferencesOf,
  removePreferences,
  updateConfig,
  updatePreferences,
} from './store.ts';

type Store = Pick<Deps, 'records'>;
type UserOf = Pick<Caller, 'accountId' | 'userId'>;

/** The preferences of a user, with their record. */
interface UserPreferences {
  readonly record: StoredPreferences;
  readonly values: Preferences;
}

/** The configuration of an account, with its record. */
interface AccountConfig {
  readonly record: StoredConfig;
  readonly values: GlobalConfig;
}

export async function readPreferences({ records }: Store, user: UserOf): Promise<UserPreferences> {
  const record = await preferencesOf(records, user, user.userId);
  const values = merged(await defaultsOf({ records }, user), parsed(record));
  const { default_group_id: group } = values;
  // A deleted group is no longer a default.
  const isGone = group !== null && (await ownGroupIds({ records }, user, [group])).length === 0;
  return { record, values: isGone ? { ...values, default_group_id: null } : values };
}

/** Returns the language of a user; English for a deleted one. */
export async function languageOf({ records }: Store, user: UserOf): Promise<string> {
  const [stored, found] = await Promise.all([
    findPreferences(records, user.userId),
    findUser(records, user, user.userId),
  ]);
  const { language } = stored === null ? {} : (parsed(stored) as { readonly language?: string });
  return language ?? found?.language ?? 'en';
}

/**
 * Returns the preferences of a user, and the notification preferences that the user has set. Does not create a record.
 */
export async function knownPreferences(
  { records }: Store,
  user: { readonly _id: number; readonly language: string; readonly timezone: string },
): Promise<{ values: Preferences; explicit: Partial<Preferences['notifications']> }> {
  const stored = await findPreferences(records, user._id);
  const given = (stored === null ? {} : parsed(stored)) as Partial<Preferences>;
  return { values: merged(defaultPreferences(user), given), explicit: given.notifications ?? {} };
}

/** Returns the video preferences of a user. Does not create a record. */
export async function findVideoPreferences({ records }: Store, userId: number): Promise<Preferences['video']> {
  const stored = await findPreferences(records, userId);
  const { video } = defaultPreferences({ language: 'en', timezone: 'UTC' });
  return { ...video, ...(stored === null ? {} : (parsed(stored) as Partial<Preferences>).video) };
}

/** Updates a user's preferences. Absent fields do not change, also within nested objects. */
export async function writePreferences(
  deps: Pick<Deps, 'records' | 'log'>,
  caller: Caller,
  body: PreferencesBody,
  expectedVersion: number | undefined,
): Promise<UserPreferences> {
  const group = body.default_group_id ?? null;
  if (group !== null) assertAllFound('group', [group], await ownGroupIds(deps, caller, [group]));
  const defaults = await defaultsOf(deps, caller);
  const write = async ({ record }: UserPreferences, version: number | undefined): Promise<UserPreferences | null> => {
    const stored = merged(parsed(record), body);
    const values = merged(defaults, stored);
    checkPreferences(body, values);
    const changed = await updatePreferences(deps.records, record, JSON.stringify(stored), version);
    return changed && { record: changed, values };
  };
  const written = await withLatest(() => readPreferences(deps, caller), write, expectedVersion);
  const target = { type: 'user_preferences', id: written.record._id };
  await audit(deps, caller, 'user_preferences.update', target, { parts: Object.keys(body) });
  return written;
}

export async function readConfig(deps: Pick<Deps, 'records' | 'config'>, scope: Scope): Promise<AccountConfig> {
  const record = await configOf(deps.records, scope);
  return { record, values: configValues(deps, parsed(record)) };
}

/** Returns the configuration of an account without creating a record. */
export async function accountConfig(deps: Pick<Deps, 'records' | 'config'>, scope: Scope): Promise<GlobalConfig> {
  const stored = await findConfig(deps.records, scope);
  return configValues(deps, stored === null ? {} : parsed(stored));
}

/**
 * Returns the configuration. A provider that the installation no longer configures is replaced by the current one, so
 * that messages are still sent.
 */
function configValues(deps: Pick<Deps, 'config'>, stored: object): GlobalConfig {
  const [defaults, providers] = [configDefaults(deps), configuredProviders(deps)];
  const values = merged(defaults, stored);
  const known = (kind: 'sms' | 'push'): string =>
    providers[kind].includes(values[kind].provider) ? values[kind].provider : defaults[kind].provider;
  return merged(values, { sms: { provider: known('sms') }, push: { provider: known('push') } });
}

/** Returns the defaults: the providers of the installation, and its retention of files. */
const configDefaults = ({ config }: Pick<Deps, 'config'>): GlobalConfig =>
  merged(defaultConfig(), {
    sms: { provider: config.SMS_PROVIDER },
    push: { provider: config.PUSH_PROVIDER },
    retention: { media_days: config.MEDIA_TTL_DAYS },
  });

/** Updates the configuration of an account. Absent fields do not change, also within nested objects. */
export async function writeConfig(
  deps: Pick<Deps, 'records' | 'log' | 'config'>,
  caller: Caller,
  body: ConfigBody,
  expectedVersion: number | undefined,
): Promise<AccountConfig> {
  requireProviders(body, configuredProviders(deps));
  for (const part of ['sms', 'push', 'email'] as const)
    requireKnownTypes(body[part]?.notification_types ?? [], `/${part}/notification_types`);
  const write = async ({ record }: AccountConfig, version: number | undefined): Promise<AccountConfig | null> => {
    const stored = merged(parsed(record), body);
    const changed = await updateConfig(deps.records, record, JSON.stringify(stored), version);
    return changed && { record: changed, values: configValues(deps, stored) };
  };
  const written = await withLatest(() => readConfig(deps, caller), write, expectedVersion);
  const target = { type: 'global_config', id: written.record._id };
  await audit(deps, caller, 'global_config.update', target, { parts: Object.keys(body) });
  return written;
}

/** Returns the available providers: `log` needs no settings, others are those that the environment configures. */
const configuredProviders = ({ config }: Pick<Deps, 'config'>): Providers => ({
  sms: ['log', config.SMS_PROVIDER],
  push: ['log', config.PUSH_PROVIDER],
});

const maxAttempts = 10;

/**
 * Merges into the current record, so that concurrent changes of different fields are all applied. With `If-Match` the
 * version must match.
 */
async function withLatest<T extends { readonly record: { readonly version: number } }>(
  read: () => Promise<T>,
  write: (before: T, version: number | undefined) => Promise<T | null>,
  expectedVersion: number | undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await read();
    const { version } = before.record;
    if (expectedVersion !== undefined && version !== expectedVersion) throw versionMismatch(version);
    try {
      const written = await write(before, version);
      if (written !== null) return written;
    } catch (error) {
      const isLate = error instanceof AppError && error.code === 'version_mismatch';
      if (!isLate || expectedVersion !== undefined || attempt === maxAttempts) throw error;
    }
    if (attempt === maxAttempts)
      throw new AppError('state_conflict', 'The record is being modified concurrently. Retry.');
  }
}

async function defaultsOf({ records }: Store, user: UserOf): Promise<Preferences> {
  const found = await findUser(records, user, user.userId);
  return defaultPreferences(found ?? { language: 'en', timezone: 'UTC' });
}

const parsed = ({ json }: { readonly json: string }): object => JSON.parse(json) as object;

/** Deletes the preferences of a removed user. */
export const deletePreferences = async ({ records }: Store, user: UserOf): Promise<void> => {
  await removePreferences(records, user, user.userId);
};
