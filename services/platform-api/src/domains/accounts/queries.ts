import type { RecordStore } from '../../store/record-store.ts';
import type { Account } from './schema.ts';

export { isSingleAccount } from './store.ts';

const accountCollection = (records: RecordStore) => records.collection<Account>('accounts');

/** Returns the accounts of customers and sub-dealers that a dealer has created. */
export const listChildAccounts = (records: RecordStore, dealerAccountId: number): Promise<Account[]> =>
  accountCollection(records).find({ dealerAccountId, deletedAt: null }).sort({ _id: -1 }).toArray();
