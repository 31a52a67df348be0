import { announce, type Bus, keyRevoked } from '@fleet/bus';
import {
  AppError,
  invalid,
  isNetwork,
  type PageItems,
  type Paging,
  requireVersion,
  type Sorting,
} from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import type { Scope as AccountScope } from '../../store/account-records.ts';
import { insertWithin } from '../../store/limits.ts';
import type { Records } from '../../store/records.ts';
import { audit } from '../audit/use-cases.ts';
import { defaultScopes, isValid, keyHash, newKey } from './rules.ts';
import type { ApiKey, Scope } from './schema.ts';
import { findDashboardKeys, findKey, insertKey, keysIn, listOwnKeys, markRevoked } from './store.ts';

/** Keys that an account may have beside that of the dashboard. */
const keyLimit = 20;

type KeyOptions = Pick<ApiKey, 'accountId' | 'name'> &
  Partial<Pick<ApiKey, 'scopes' | 'ipAllowlist' | 'expiresAt' | 'userId' | 'canMintTokens' | 'sealedDashboardKey'>>;

/** Puts a key on record by its hash, unless it is there: a revoked one stays revoked. */
export const recordKey = (
  records: Records,
  key: string,
  options: KeyOptions,
): Promise<{ record: ApiKey; created: boolean }> =>
  insertKey(records, {
    scopes: defaultScopes,
    ipAllowlist: [],
    expiresAt: null,
    userId: null,
    canMintTokens: false,
    sealedDashboardKey: null,
    ...options,
    keySha256: keyHash(key),
    hint: key.slice(-4),
    revokedAt: null,
  });

/** Makes a key; the answer is the only place where it is ever seen. */
export async function createKey(records: Records, options: KeyOptions): Promise<string> {
  const key = newKey();
  await recordKey(records, key, options);
  return key;
}

/** Makes a key as a caller asks for it. */
export async function makeKey(
  deps: Pick<Deps, 'records' | 'database' | 'log'>,
  caller: Caller,
  given: {
    name: string;
    scopes?: readonly Scope[] | undefined;
    ip_allowlist?: readonly string[] | undefined;
    expires_at?: string | null | undefined;
    can_mint_tokens?: boolean | undefined;
  },
): Promise<{ key: string; record: ApiKey }> {
  const expiresAt = given.expires_at === undefined || given.expires_at === null ? null : new Date(given.expires_at);
  if (expiresAt !== null && !(expiresAt.getTime() > Date.now()))
    throw invalid([{ path: '/expires_at', message: 'must be in the future' }]);
  const faults = (given.ip_allowlist ?? []).flatMap((network, at) =>
    isNetwork(network) ? [] : [{ path: `/ip_allowlist/${at}`, message: 'must be an address or a network' }],
  );
  if (faults.length > 0) throw invalid(faults);
  const scopes = given.scopes ?? defaultScopes.filter((scope) => caller.scopes.includes(scope));
  const more = scopes.find((scope) => !caller.scopes.includes(scope));
  if (more !== undefined)
    throw new AppError('permission_denied', `The API key that minted the token has no scope ${more} to give.`);
  const key = newKey();
  const options = {
    accountId: caller.accountId,
    userId: caller.userId,
    name: given.name,
    scopes,
    ipAllowlist: given.ip_allowlist ?? [],
    expiresAt,
    canMintTokens: given.can_mint_tokens ?? false,
  };
  const { record } = await insertWithin(
    deps.database,
    {
      name: `keys of account ${caller.accountId}`,
      limit: keyLimit,
      message: `An account may have ${keyLimit} API keys.`,
    },
    async () => (await listOwnKeys(deps.records, caller, { paging: { limit: 1, offset: 0, page: 1 } })).total,
    () => recordKey(deps.records, key, options),
  );
  await audit(deps, caller, 'api-keys.create', { type: 'api_keys', id: record._id }, { name: record.name });
  return { key, record };
}

/** The keys of an account that are not revoked, without that of the dashboard. */
export const listKeys = (
  records: Records,
  scope: AccountScope,
  part: { sorting: Sorting; paging: Paging },
): Promise<PageItems<ApiKey>> => listOwnKeys(records, scope, part);

/** The key with this hash when it may be used now, else null. */
export async function verifyKey(records: Records, keySha256: string, now = new Date()): Promise<ApiKey | null> {
  const key = await findKey(records, keySha256);
  return key !== null && isValid(key, keySha256, now) ? key : null;
}

/** Ends a key for good, everywhere; false when there is no such key. Revoking again is no fault. */
export async function revokeKey(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  keySha256: string,
  now = new Date(),
): Promise<boolean> {
  const key = await findKey(records, keySha256);
  if (key === null) return false;
  await markRevoked(records, key._id, now);
  tellRevoked(bus, key);
  return true;
}

/** Ends a key of an account, everywhere within five seconds; the key as it was, or null. */
export async function endKey(
  deps: Pick<Deps, 'records' | 'bus' | 'log'>,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<ApiKey | null> {
  const key = await keysIn(deps.records).find(caller, id);
  if (key === null || key.sealedDashboardKey !== null || key.revokedAt !== null) return null;
  // Nothing but its end changes a key.
  requireVersion(key, expectedVersion);
  if (!(await markRevoked(deps.records, id, new Date()))) return null;
  tellRevoked(deps.bus, key);
  await audit(deps, caller, 'api-keys.revoke', { type: 'api_keys', id }, { name: key.name });
  return key;
}

const tellRevoked = (bus: Bus, { keySha256, _id: keyId }: ApiKey): void =>
  announce(bus, keyRevoked, { keySha256, keyId });

/** Makes everybody look again at the keys of an account: it was suspended, or let in again. */
export async function recheckKeys({ records, bus }: Pick<Deps, 'records' | 'bus'>, scope: AccountScope): Promise<void> {
  for (const key of await keysIn(records).all(scope, { revokedAt: null })) tellRevoked(bus, key);
}

/** Ends all keys of an account that is deleted, that of its dashboard too. */
export async function endKeysOf({ records, bus }: Pick<Deps, 'records' | 'bus'>, scope: AccountScope): Promise<void> {
  for (const key of await keysIn(records).all(scope, { revokedAt: null })) {
    await markRevoked(records, key._id, new Date());
    tellRevoked(bus, key);
  }
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

/** The key of the account's dashboard; made on first use. */
export async function dashboardKey(
  { records, encryption }: Pick<Deps, 'records' | 'encryption'>,
  { accountId }: AccountScope,
): Promise<string> {
  const purpose = `dashboard key of account ${accountId}`;
  const open = async (): Promise<string | null> => {
    for (const { sealedDashboardKey } of await findDashboardKeys(records, { accountId })) {
      const key = encryption.tryOpen(sealedDashboardKey ?? '', purpose);
      if (key !== null) return key;
    }
    return null;
  };
  const known = await open();
  if (known !== null) return known;
  const key = newKey();
  const sealedDashboardKey = encryption.seal(key, purpose);
  await recordKey(records, key, { accountId, name: 'dashboard', sealedDashboardKey });
  return (await open()) ?? key;
}
