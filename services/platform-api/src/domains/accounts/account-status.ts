import type { RecordStore } from '../../store/record-store.ts';
import type { Account } from './schema.ts';
import { findAccount } from './store.ts';

/** An account, and whether its users and keys are let in. */
export interface AccountStatus {
  readonly account: Account;
  /** True where the account itself or a dealer above it is suspended. */
  readonly isSuspended: boolean;
}

/** Accounts stand below dealers, these below others: so many steps are looked up. */
export const maxAccountDepth = 16;

/** How an account stands now; null for one that is not there (any more). A dealer that is suspended takes all below along, until it is let in again. */
export async function getAccountStatus(records: RecordStore, accountId: number): Promise<AccountStatus | null> {
  const account = await findAccount(records, accountId);
  if (account === null) return null;
  let parent: Account | null = account;
  for (let step = 0; parent !== null && step <= maxAccountDepth; step += 1) {
    if (parent.status === 'suspended') return { account, isSuspended: true };
    parent = parent.dealerAccountId === null ? null : await findAccount(records, parent.dealerAccountId);
  }
  return { account, isSuspended: false };
}

/** True for an account that is there and let in. */
export const isAccountActive = async (records: RecordStore, accountId: number): Promise<boolean> =>
  (await getAccountStatus(records, accountId))?.isSuspended === false;
