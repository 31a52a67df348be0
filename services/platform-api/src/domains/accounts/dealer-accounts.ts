import type { Records } from '../../store/records.ts';
import type { Account } from './schema.ts';

const accountsIn = (records: Records) => records.collection<Account>('accounts');

/** Accounts that a dealer has made, of customers and of sub-dealers. */
export const accountsBelow = (records: Records, dealerAccountId: number): Promise<Account[]> =>
  accountsIn(records).find({ dealerAccountId, deletedAt: null }).sort({ _id: -1 }).toArray();
