import type { Records } from '../../store/records.ts';
import type { Account } from './schema.ts';
import { findAccount } from './store.ts';

/** An account, and whether its users and keys are let in. */
export interface Standing {
  readonly account: Account;
  /** True where the account itself or a dealer above it is suspended. */
  readonly isSuspended: boolean;
}

/** Accounts stand below dealers, these below others: so many steps are looked up. */
export const maxDepth = 16;

/** How an account stands now; null for one that is not there (any more). A dealer that is suspended takes all below along, until it is let in again. */
export async function standingOf(records: Records, accountId: number): Promise<Standing | null> {
  const account = await findAccount(records, accountId);
  if (account === null) return null;
  let above: Account | null = account;
  for (let step = 0; above !== null && step <= maxDepth; step += 1) {
    if (above.status === 'suspended') return { account, isSuspended: true };
    above = above.dealerAccountId === null ? null : await findAccount(records, above.dealerAccountId);
  }
  return { account, isSuspended: false };
}

/** True for an account that is there and let in. */
export const isLetIn = async (records: Records, accountId: number): Promise<boolean> =>
  (await standingOf(records, accountId))?.isSuspended === false;
