import { AppError, dayMs } from '@fleet/service-kit';
import type { Caller } from '../access/caller.ts';
import { findVisibleAccount, publishStatusChanged } from '../domains/accounts/commands.ts';
import type { Account } from '../domains/accounts/schema.ts';
import { childAccountIds, findDeleted, setDeletionStep, updateAccount } from '../domains/accounts/store.ts';
import { removeAccountUploads } from '../domains/accounts/uploads.ts';
import { revokeAllKeys } from '../domains/api-keys/use-cases.ts';
import { audit } from '../domains/audit/use-cases.ts';
import { deleteCustomer } from '../domains/billing/use-cases.ts';
import { removeMediaOfAccount } from '../domains/media/removal.ts';
import { deletePartnerDevices } from '../domains/partners/use-cases.ts';
import { revokeSessionsOfAccount } from '../domains/sessions/use-cases.ts';
import { revokeLinksOfAccount } from '../domains/share-links/use-cases.ts';
import { disableUsers } from '../domains/users/use-cases.ts';
import { endSharesOfUser } from '../domains/vehicle-shares/use-cases.ts';
import { deleteAllVehicles } from '../domains/vehicles/changes.ts';
import { removeWebhooksOfUser } from '../domains/webhooks/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { removeAccountData, removeUniqueValues } from '../store/retention-policies.ts';
import { createVehicleHooks } from './vehicle-hooks.ts';

/**
 * Deletes an account, for its owner or a caller above it. The account disappears immediately, and its sessions, keys
 * and links are revoked. Vehicles and their background activity end afterwards, personal fields are erased after
 * `ERASURE_DAYS`. Returns the account as it was before, or null.
 */
export async function deleteAccount(
  deps: Deps,
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
  await revokeAccountAccess(deps, id);
  void cleanUpAccount(deps, account).catch((error: unknown) =>
    deps.log.error({ err: error, accountId: id }, 'could not clean up a deleted account, a job retries'),
  );
  return account;
}

/** Revokes everything that grants access to the account. */
async function revokeAccountAccess(deps: Deps, accountId: number): Promise<void> {
  await revokeAllKeys(deps, { accountId });
  await revokeSessionsOfAccount(deps, { accountId });
  await revokeLinksOfAccount(deps, { accountId });
  await publishStatusChanged(deps, accountId);
}

/** Stops the background activity of the account. Every step is idempotent. */
async function cleanUpAccount(deps: Deps, { _id: accountId }: Account): Promise<void> {
  await revokeAccountAccess(deps, accountId);
  for (const userId of await disableUsers(deps.records, { accountId })) {
    await endSharesOfUser(deps, userId);
    await removeWebhooksOfUser(deps, { accountId }, userId);
  }
  await deleteAllVehicles(deps, { accountId }, createVehicleHooks(deps));
  await removeAccountData(deps.database, accountId, 'at once');
  await setDeletionStep(deps.records, accountId, { isEnded: true });
}

/**
 * Completes deletions that a crash interrupted, and erases personal fields of accounts deleted at least `ERASURE_DAYS`
 * ago.
 */
export async function processDeletedAccounts(deps: Deps, now = new Date()): Promise<void> {
  for (const account of await findDeleted(deps.records, 'not ended')) await cleanUpAccount(deps, account);
  const before = new Date(now.getTime() - deps.config.ERASURE_DAYS * dayMs);
  for (const account of await findDeleted(deps.records, { before })) await eraseAccount(deps, account, now);
}

async function eraseAccount(deps: Deps, { _id: id }: Account, now: Date): Promise<void> {
  const { database, records } = deps;
  const areDeleted = [await removeAccountUploads(deps, id), await removeMediaOfAccount(deps, { accountId: id })];
  await removeAccountData(database, id, 'in time');
  await deleteCustomer({ database }, { accountId: id });
  await deletePartnerDevices({ database }, { accountId: id });
  await removeUniqueValues(database, 'accounts', [id]);
  await setDeletionStep(records, id, { name: 'Deleted account', city: null, country: null });
  // The next run of the job retries files that could not be removed.
  if (areDeleted.every(Boolean)) await setDeletionStep(records, id, { erasedAt: now });
}
