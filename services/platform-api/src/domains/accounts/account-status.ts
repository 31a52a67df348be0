import type { RecordStore } from '../../store/record-store.ts';
import type { Account } from './schema.ts';
import { findAccount } from './store.ts';

/** An account and whether its users and keys are admitted. */
interface AccountStatus {
  readonly account: Account;
  /** True if the account itself or a dealer above it is suspended. */
  readonly isSuspended: boolean;
}

/** Largest number of dealers above an account; limits the walk up the hierarchy. */
export const maxAccountDepth = 16;

/**
 * Returns the current status of an account; null if it does not exist or was deleted. A suspended dealer suspends all
 * accounts below it until the dealer is active again.
 */
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

/** Returns whether an account exists and is not suspended. */
export const isAccountActive = async (records: RecordStore, accountId: number): Promise<boolean> =>
  (await getAccountStatus(records, accountId))?.isSuspended === false;
