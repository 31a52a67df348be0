import { AppError } from '@fleet/service-kit';
import { findVisibleAccount } from '../domains/accounts/commands.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Caller } from './caller.ts';

/**
 * Returns the caller in the account that `X-Account-Id` names. The operator's staff act in any account, dealers in the
 * accounts below theirs. For all other callers no other account exists: 404.
 */
export async function actInAccount(records: RecordStore, caller: Caller, accountId: string): Promise<Caller> {
  const account = /^[1-9]\d{0,14}$/.test(accountId)
    ? await findVisibleAccount(records, caller, Number(accountId))
    : null;
  if (account === null) throw new AppError('not_found', 'There is no such account.');
  return { ...caller, accountId: account._id };
}
