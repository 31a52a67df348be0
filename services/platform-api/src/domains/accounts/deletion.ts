import { AppError, dayMs } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { removeAccountData, removeUniqueValues } from '../../store/retention-policies.ts';
import { revokeAllKeys } from '../api-keys/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { revokeSessionsOfAccount } from '../sessions/use-cases.ts';
import { disableUsers } from '../users/use-cases.ts';
import { findVisibleAccount, publishStatusChanged } from './commands.ts';
import type { AccountHooks } from './hooks.ts';
import type { Account } from './schema.ts';
import { childAccountIds, findDeleted, setDeletionStep, updateAccount } from './store.ts';
import { removeAccountUploads } from './uploads.ts';

type DeletionDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'records'>;

/**
 * Deletes an account, for its owner or a caller above it. The account disappears immediately, and its sessions, keys
 * and links are revoked. Vehicles and their background activity end afterwards, personal fields are erased after
 * `ERASURE_DAYS`. Returns the account as it was before, or null.
 */
export async function deleteAccount(
  deps: DeletionDeps,
  hooks: AccountHooks,
  caller: Caller,
  id: number,
  expectedVersion?: number,
): Promise<Account | null> {
  const account = await findVisibleAccount(deps.records, caller, id);
  if (account === null) return null;
  if (id === caller.accountId && caller.role !== 'owner')
    throw new AppError('permission_denied', 'An account can be deleted only by its owner, its dealer or the operator.');
  if ((await childAccountIds(deps.records, [id])).length > 0)
    throw new AppError('in_use', 'The account has accounts below it. Delete those first.');
  if ((await updateAccount(deps.records, id, { deletedAt: new Date() }, expectedVersion)) === null) return null;
  for (const accountId of new Set([caller.accountId, id]))
    await audit(deps, { ...caller, accountId }, 'accounts.delete', { type: 'accounts', id });
  await revokeAccountAccess(deps, hooks, id);
  void cleanUpAccount(deps, hooks, account).catch((error: unknown) =>
    deps.log.error({ err: error, accountId: id }, 'could not clean up a deleted account, a job retries'),
  );
  return account;
}

/** Revokes everything that grants access to the account. */
async function revokeAccountAccess(deps: DeletionDeps, hooks: AccountHooks, accountId: number): Promise<void> {
  await revokeAllKeys(deps, { accountId });
  await revokeSessionsOfAccount(deps, { accountId });
  for (const revoke of hooks.accessRevoked) await revoke({ accountId });
  await publishStatusChanged(deps, accountId);
}

/** Stops the background activity of the account. Every step is idempotent. */
async function cleanUpAccount(deps: DeletionDeps, hooks: AccountHooks, { _id: accountId }: Account): Promise<void> {
  await revokeAccountAccess(deps, hooks, accountId);
  for (const userId of await disableUsers(deps.records, { accountId }))
    for (const end of hooks.userDisabled) await end({ accountId }, userId);
  for (const end of hooks.ended) await end({ accountId });
  await removeAccountData(deps.database, accountId, 'at once');
  await setDeletionStep(deps.records, accountId, { isEnded: true });
}

/**
 * Completes deletions that a crash interrupted, and erases personal fields of accounts deleted at least `ERASURE_DAYS`
 * ago.
 */
export async function processDeletedAccounts(deps: DeletionDeps, hooks: AccountHooks, now = new Date()): Promise<void> {
  for (const account of await findDeleted(deps.records, 'not ended')) await cleanUpAccount(deps, hooks, account);
  const before = new Date(now.getTime() - deps.config.ERASURE_DAYS * dayMs);
  for (const account of await findDeleted(deps.records, { before })) await eraseAccount(deps, hooks, account, now);
}

async function eraseAccount(
  deps: DeletionDeps,
  hooks: AccountHooks,
  { _id: accountId }: Account,
  now: Date,
): Promise<void> {
  const { database, records } = deps;
  const areRemoved = [await removeAccountUploads(deps, accountId)];
  for (const remove of hooks.filesRemoved) areRemoved.push(await remove({ accountId }));
  await removeAccountData(database, accountId, 'in time');
  for (const erase of hooks.erased) await erase({ accountId });
  await removeUniqueValues(database, 'accounts', [accountId]);
  await setDeletionStep(records, accountId, { name: 'Deleted account', city: null, country: null });
  // The next run of the job retries files that could not be removed.
  if (areRemoved.every(Boolean)) await setDeletionStep(records, accountId, { erasedAt: now });
}
