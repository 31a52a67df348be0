import type { RecordStore } from '../../store/record-store.ts';
import type { Account } from './schema.ts';

export { isSingleAccount } from './store.ts';

const accountCollection = (records: RecordStore) => records.collection<Account>('accounts');

/** Accounts that a dealer has made, of customers and of sub-dealers. */
export const listChildAccounts = (records: RecordStore, dealerAccountId: number): Promise<Account[]> =>
  accountCollection(records).find({ dealerAccountId, deletedAt: null }).sort({ _id: -1 }).toArray();
