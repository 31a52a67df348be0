import { type Bus, keyRevoked, publish } from '@fleet/bus';
import {
  AppError,
  assertVersion,
  isCidr,
  type Page,
  type Pagination,
  type Sort,
  validationError,
} from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope as AccountScope } from '../../store/account-repository.ts';
import { insertWithinQuota } from '../../store/quota.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { audit } from '../audit/use-cases.ts';
import { dashboardKeyPurpose, defaultScopes, generateKey, hashKey, isKeyValid } from './rules.ts';
import type { ApiKey, Scope } from './schema.ts';
import { apiKeyCollection, findDashboardKeys, findKey, insertKey, listOwnKeys, markRevoked } from './store.ts';

/** Largest number of keys per account, besides the dashboard key. */
const maxKeys = 20;

type KeyOptions = Pick<ApiKey, 'accountId' | 'name'> &
  Partial<Pick<ApiKey, 'scopes' | 'ipAllowlist' | 'expiresAt' | 'userId' | 'canMintTokens' | 'sealedDashboardKey'>>;

/** Stores a key by its hash unless it exists. A revoked key stays revoked. */
export const ensureKey = (
  records: RecordStore,
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
    keySha256: hashKey(key),
    hint: key.slice(-4),
    revokedAt: null,
  });

/** Creates and returns a key. Only its hash is stored. */
export async function createKey(records: RecordStore, options: KeyOptions): Promise<string> {
  const key = generateKey();
  await ensureKey(records, key, options);
  return key;
}

/** Creates a key with the options of a caller. */
export async function createKeyAsCaller(
  deps: Pick<Deps, 'records' | 'database' | 'log'>,
  caller: Caller,
  input: {
    name: string;
    scopes?: readonly Scope[] | undefined;
    ip_allowlist?: readonly string[] | undefined;
    expires_at?: string | null | undefined;
    can_mint_tokens?: boolean | undefined;
  },
): Promise<{ key: string; record: ApiKey }> {
  const expiresAt = input.expires_at === undefined || input.expires_at === null ? null : new Date(input.expires_at);
  if (expiresAt !== null && !(expiresAt.getTime() > Date.now()))
    throw validationError([{ path: '/expires_at', message: 'must be in the future' }]);
  const faults = (input.ip_allowlist ?? []).flatMap((network, at) =>
    isCidr(network)
      ? []
      : [{ path: `/ip_allowlist/${at}`, message: 'must be an IP address or a network in CIDR notation' }],
  );
  if (faults.length > 0) throw validationError(faults);
  const scopes = input.scopes ?? defaultScopes.filter((scope) => caller.scopes.includes(scope));
  const missingScope = scopes.find((scope) => !caller.scopes.includes(scope));
  if (missingScope !== undefined)
    throw new AppError(
      'permission_denied',
      `The API key that minted the token lacks the scope ${missingScope} and cannot grant it.`,
    );
  const key = generateKey();
  const options = {
    accountId: caller.accountId,
    userId: caller.userId,
    name: input.name,
    scopes,
    ipAllowlist: input.ip_allowlist ?? [],
    expiresAt,
    canMintTokens: input.can_mint_tokens ?? false,
  };
  const { record } = await insertWithinQuota(
    deps.database,
    {
      name: `keys of account ${caller.accountId}`,
      limit: maxKeys,
      message: `An account may have ${maxKeys} API keys.`,
    },
    async () => (await listOwnKeys(deps.records, caller, { paging: { limit: 1, offset: 0, page: 1 } })).total,
    () => ensureKey(deps.records, key, options),
  );
  await audit(deps, caller, 'api-keys.create', { type: 'api_keys', id: record._id }, { name: record.name });
  return { key, record };
}

/** Lists the keys of an account that are not revoked, without the dashboard key. */
export const listKeys = (
  records: RecordStore,
  scope: AccountScope,
  listOptions: { sorting: Sort; paging: Pagination },
): Promise<Page<ApiKey>> => listOwnKeys(records, scope, listOptions);

/** Returns the key with this hash if it is valid now, else null. */
export async function verifyKey(records: RecordStore, keySha256: string, now = new Date()): Promise<ApiKey | null> {
  const key = await findKey(records, keySha256);
  return key !== null && isKeyValid(key, keySha256, now) ? key : null;
}

/** Revokes a key permanently for all services; returns false if it does not exist. Revoking a key twice is allowed. */
export async function revokeKey(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  keySha256: string,
  now = new Date(),
): Promise<boolean> {
  const key = await findKey(records, keySha256);
  if (key === null) return false;
  await markRevoked(records, key._id, now);
  publishRevoked(bus, key);
  return true;
}

/** Revokes a key of an account for all services within five seconds. Returns the key before the change, or null. */
export async function revokeKeyById(
  deps: Pick<Deps, 'records' | 'bus' | 'log'>,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<ApiKey | null> {
  const key = await apiKeyCollection(deps.records).find(caller, id);
  if (key === null || key.sealedDashboardKey !== null || key.revokedAt !== null) return null;
  // A revocation is the only change of a key.
  assertVersion(key, expectedVersion);
  if (!(await markRevoked(deps.records, id, new Date()))) return null;
  publishRevoked(deps.bus, key);
  await audit(deps, caller, 'api-keys.revoke', { type: 'api_keys', id }, { name: key.name });
  return key;
}

const publishRevoked = (bus: Bus, { keySha256, _id: keyId }: ApiKey): void =>
  publish(bus, keyRevoked, { keySha256, keyId });

/** Publishes that the keys of an account must be verified again because it was suspended or activated. */
export async function invalidateKeys(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  scope: AccountScope,
): Promise<void> {
  for (const key of await apiKeyCollection(records).all(scope, { revokedAt: null })) publishRevoked(bus, key);
}

/** Revokes all keys of a deleted account, including its dashboard key. */
export async function revokeAllKeys(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  scope: AccountScope,
): Promise<void> {
  for (const key of await apiKeyCollection(records).all(scope, { revokedAt: null })) {
    await markRevoked(records, key._id, new Date());
    publishRevoked(bus, key);
  }
}

/** Returns a key of the account by id if it is valid now, else null. */
export async function findKeyById(
  records: RecordStore,
  scope: AccountScope,
  id: number,
  now = new Date(),
): Promise<ApiKey | null> {
  const key = await apiKeyCollection(records).find(scope, id);
  return key !== null && isKeyValid(key, key.keySha256, now) ? key : null;
}

/** Returns the dashboard key of an account; creates it on first use. */
export async function getDashboardKey(
  { records, encryption }: Pick<Deps, 'records' | 'encryption'>,
  { accountId }: AccountScope,
): Promise<string> {
  const purpose = dashboardKeyPurpose(accountId);
  const findUsable = async (): Promise<string | null> => {
    for (const { sealedDashboardKey } of await findDashboardKeys(records, { accountId })) {
      const key = encryption.tryOpen(sealedDashboardKey ?? '', purpose);
      if (key !== null) return key;
    }
    return null;
  };
  const existing = await findUsable();
  if (existing !== null) return existing;
  const key = generateKey();
  const sealedDashboardKey = encryption.seal(key, purpose);
  await ensureKey(records, key, { accountId, name: 'dashboard', sealedDashboardKey });
  return (await findUsable()) ?? key;
}
