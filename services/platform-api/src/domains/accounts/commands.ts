import { AppError, roleNotPermittedError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { omitUndefined as asGiven } from '../../platform/fields.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { invalidateKeys } from '../api-keys/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { publishAccessChanged } from '../sessions/use-cases.ts';
import { hashPassword } from '../users/passwords.ts';
import { checkTimezone, readContact } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { maxAccountDepth } from './account-status.ts';
import type { Account } from './schema.ts';
import { childAccountIds, findAccount, listAccounts, updateAccount } from './store.ts';
import { createAccount } from './use-cases.ts';

type AccountCommandDeps = Pick<Deps, 'records' | 'bus' | 'log'>;
type AccountViewer = Pick<Caller, 'accountId' | 'role'>;

/**
 * Returns whether a caller may see an account besides its own: any account for superadmins, accounts below them for
 * dealers.
 */
async function canAccessAccount(records: RecordStore, viewer: AccountViewer, account: Account): Promise<boolean> {
  if (viewer.role === 'superadmin') return true;
  if (viewer.role !== 'dealer') return false;
  let parent: Account | null = account;
  for (let depth = 0; depth < maxAccountDepth && parent !== null && parent.dealerAccountId !== null; depth += 1) {
    if (parent.dealerAccountId === viewer.accountId) return true;
    parent = await findAccount(records, parent.dealerAccountId);
  }
  return false;
}

/** Returns an account that the caller may see, or null. */
export async function findVisibleAccount(
  records: RecordStore,
  caller: AccountViewer,
  id: number,
): Promise<Account | null> {
  const account = await findAccount(records, id);
  if (account === null || id === caller.accountId) return account;
  return (await canAccessAccount(records, caller, account)) ? account : null;
}

/** Lists the accounts below the caller. */
export async function listAccessibleAccounts(
  records: RecordStore,
  caller: Caller,
  listOptions: Parameters<typeof listAccounts>[2],
): ReturnType<typeof listAccounts> {
  if (caller.role === 'superadmin') return listAccounts(records, null, listOptions);
  return listAccounts(
    records,
    [caller.accountId, ...(await descendantAccountIds(records, caller.accountId))],
    listOptions,
  );
}

/** Returns the ids of all accounts below a dealer's account, at any depth. */
async function descendantAccountIds(records: RecordStore, accountId: number): Promise<number[]> {
  const descendants: number[] = [];
  let level: readonly number[] = [accountId];
  for (let depth = 0; depth < maxAccountDepth && level.length > 0; depth += 1) {
    level = await childAccountIds(records, level);
    descendants.push(...level);
  }
  return descendants;
}

/** Publishes that the status of an account changed, so that all services check it and the accounts below it again. */
export async function publishStatusChanged(deps: Pick<Deps, 'records' | 'bus'>, accountId: number): Promise<void> {
  for (const id of [accountId, ...(await descendantAccountIds(deps.records, accountId))]) {
    publishAccessChanged(deps, { accountId: id });
    await invalidateKeys(deps, { accountId: id });
  }
}

/** The first owner of an account in a request body. */
interface OwnerInput {
  readonly name: string;
  readonly email?: string | null | undefined;
  readonly phone_number?: string | null | undefined;
  readonly password?: string | undefined;
  readonly role?: 'owner' | 'dealer' | undefined;
}

/** The fields of an account in a request body. */
interface AccountInput {
  readonly name?: string | undefined;
  readonly timezone?: string | undefined;
  readonly city?: string | null | undefined;
  readonly country?: string | null | undefined;
  readonly max_streams?: number | null | undefined;
}

/**
 * Throws 409 `limit_reached` if an account below the dealer's would be too deep for the suspension check, which must
 * reach every account below a suspended dealer.
 */
async function assertDepthAllowed(records: RecordStore, dealerAccountId: number): Promise<void> {
  let parent = await findAccount(records, dealerAccountId);
  for (let depth = 1; parent !== null && parent.dealerAccountId !== null; depth += 1) {
    if (depth >= maxAccountDepth)
      throw new AppError('limit_reached', `An account may be below at most ${maxAccountDepth} dealers.`);
    parent = await findAccount(records, parent.dealerAccountId);
  }
}

/** Creates an account of a customer or a (sub-)dealer below the caller. */
export async function createCustomerAccount(
  deps: AccountCommandDeps,
  caller: Caller,
  input: AccountInput & { name: string; owner: OwnerInput },
): Promise<{ account: Account; user: User }> {
  checkTimezone(input.timezone);
  if (caller.role === 'dealer') await assertDepthAllowed(deps.records, caller.accountId);
  const { name, password, role = 'owner' } = input.owner;
  const owner = {
    name,
    role,
    ...readContact(input.owner),
    passwordHash: password === undefined ? null : await hashPassword(password),
  };
  const dealerAccountId = caller.role === 'dealer' ? caller.accountId : null;
  const fields = { ...toAccountFields(input), name: input.name, dealerAccountId };
  const created = await createAccount(deps.records, fields, owner);
  await audit(deps, caller, 'accounts.create', { type: 'accounts', id: created.account._id }, { name: input.name });
  return created;
}

/**
 * Changes an account. Only an account above it may change its status and its limit on streams; its own administrators may
 * change the rest too.
 */
export async function updateAccountAsCaller(
  deps: AccountCommandDeps,
  caller: Caller,
  id: number,
  input: AccountInput & { status?: Account['status'] | undefined },
  expectedVersion?: number,
): Promise<Account | null> {
  const account = await findVisibleAccount(deps.records, caller, id);
  if (account === null) return null;
  const isManager = isPermitted(caller.role, 'accounts') && id !== caller.accountId;
  const isReserved = input.status !== undefined || input.max_streams !== undefined;
  if (!isManager && (isReserved || !isPermitted(caller.role, 'administration')))
    throw roleNotPermittedError(caller.role);
  checkTimezone(input.timezone);
  const { status } = input;
  const change = { ...toAccountFields(input), ...asGiven({ status }) };
  const changed = await updateAccount(deps.records, id, change, expectedVersion);
  if (changed === null) return null;
  if (status !== undefined && status !== account.status) await publishStatusChanged(deps, id);
  await audit(deps, { ...caller, accountId: id }, 'accounts.update', { type: 'accounts', id }, change);
  return changed;
}

const toAccountFields = ({ name, timezone, city, country, max_streams: maxStreams }: AccountInput) =>
  asGiven({ name, timezone, city, country, maxStreams });
