import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { may } from '../../access/roles.ts';
import type { Deps } from '../../deps.ts';
import { given as asGiven } from '../../fields.ts';
import type { Records } from '../../store/records.ts';
import { recheckKeys } from '../api-keys/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { tellAccessChanged } from '../sessions/use-cases.ts';
import { hashPassword } from '../users/passwords.ts';
import { checkTimezone, readContact } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import type { Account } from './schema.ts';
import { maxDepth } from './standing.ts';
import { accountsMadeBy, findAccount, listAccounts, updateAccount } from './store.ts';
import { openAccount } from './use-cases.ts';

type Parts = Pick<Deps, 'records' | 'bus' | 'log'>;
type Who = Pick<Caller, 'accountId' | 'role'>;

/** Whether an account is one that a caller may see besides the own: all for superadmins, those below for dealers. */
export async function isBelow(records: Records, who: Who, account: Account): Promise<boolean> {
  if (who.role === 'superadmin') return true;
  if (who.role !== 'dealer') return false;
  let above: Account | null = account;
  for (let depth = 0; depth < maxDepth && above !== null && above.dealerAccountId !== null; depth += 1) {
    if (above.dealerAccountId === who.accountId) return true;
    above = await findAccount(records, above.dealerAccountId);
  }
  return false;
}

/** An account that the caller may see, or null. */
export async function visibleAccount(records: Records, caller: Caller, id: number): Promise<Account | null> {
  const account = await findAccount(records, id);
  if (account === null || id === caller.accountId) return account;
  return (await isBelow(records, caller, account)) ? account : null;
}

/** The accounts below the caller. */
export async function listBelow(
  records: Records,
  caller: Caller,
  part: Parameters<typeof listAccounts>[2],
): ReturnType<typeof listAccounts> {
  if (caller.role === 'superadmin') return listAccounts(records, null, part);
  return listAccounts(records, [caller.accountId, ...(await accountIdsBelow(records, caller.accountId))], part);
}

/** Ids of all accounts below a dealer's, those of sub-dealers and theirs included. */
async function accountIdsBelow(records: Records, accountId: number): Promise<number[]> {
  const below: number[] = [];
  let level: readonly number[] = [accountId];
  for (let depth = 0; depth < maxDepth && level.length > 0; depth += 1) {
    level = await accountsMadeBy(records, level);
    below.push(...level);
  }
  return below;
}

/** Makes everybody look again at whom an account and those below it let in. */
export async function tellStandingChanged(deps: Pick<Deps, 'records' | 'bus'>, accountId: number): Promise<void> {
  for (const id of [accountId, ...(await accountIdsBelow(deps.records, accountId))]) {
    tellAccessChanged(deps, { accountId: id });
    await recheckKeys(deps, { accountId: id });
  }
}

/** What a body says of an account's first owner. */
export interface GivenOwner {
  readonly name: string;
  readonly email?: string | null | undefined;
  readonly phone_number?: string | null | undefined;
  readonly password?: string | undefined;
  readonly role?: 'owner' | 'dealer' | undefined;
}

/** What a body says of an account itself. */
interface GivenAccount {
  readonly name?: string | undefined;
  readonly timezone?: string | undefined;
  readonly city?: string | null | undefined;
  readonly country?: string | null | undefined;
}

/** 409 `limit_reached` where an account below a dealer's would be out of sight from the top: who suspends a dealer suspends all below. */
async function checkDepth(records: Records, dealerAccountId: number): Promise<void> {
  let above = await findAccount(records, dealerAccountId);
  for (let depth = 1; above !== null && above.dealerAccountId !== null; depth += 1) {
    if (depth >= maxDepth) throw new AppError('limit_reached', `Accounts stand below ${maxDepth} dealers at most.`);
    above = await findAccount(records, above.dealerAccountId);
  }
}

/** Opens an account for a customer, or for a (sub-)dealer, below the caller. */
export async function openCustomerAccount(
  deps: Parts,
  caller: Caller,
  given: GivenAccount & { name: string; owner: GivenOwner },
): Promise<{ account: Account; user: User }> {
  checkTimezone(given.timezone);
  if (caller.role === 'dealer') await checkDepth(deps.records, caller.accountId);
  const { name, password, role = 'owner' } = given.owner;
  const owner = {
    name,
    role,
    ...readContact(given.owner),
    passwordHash: password === undefined ? null : await hashPassword(password),
  };
  const dealerAccountId = caller.role === 'dealer' ? caller.accountId : null;
  const fields = { ...fieldsOf(given), name: given.name, dealerAccountId };
  const opened = await openAccount(deps.records, fields, owner);
  await audit(deps, caller, 'accounts.create', { type: 'accounts', id: opened.account._id }, { name: given.name });
  return opened;
}

/** Changes an account: its status from above alone, the rest by its own administrators too. */
export async function editAccount(
  deps: Parts,
  caller: Caller,
  id: number,
  given: GivenAccount & { status?: Account['status'] | undefined },
  expectedVersion?: number,
): Promise<Account | null> {
  const account = await visibleAccount(deps.records, caller, id);
  if (account === null) return null;
  const isFromAbove = may(caller.role, 'accounts') && id !== caller.accountId;
  if (!isFromAbove && (given.status !== undefined || !may(caller.role, 'administration')))
    throw new AppError('permission_denied', `The role ${caller.role} does not allow this.`);
  checkTimezone(given.timezone);
  const { status } = given;
  const change = { ...fieldsOf(given), ...asGiven({ status }) };
  const changed = await updateAccount(deps.records, id, change, expectedVersion);
  if (changed === null) return null;
  if (status !== undefined && status !== account.status) await tellStandingChanged(deps, id);
  await audit(deps, { ...caller, accountId: id }, 'accounts.update', { type: 'accounts', id }, change);
  return changed;
}

const fieldsOf = ({ name, timezone, city, country }: GivenAccount) => asGiven({ name, timezone, city, country });
