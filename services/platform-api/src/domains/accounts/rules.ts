import type { NewRecord } from '../../store/record-store.ts';
import type { Account } from './schema.ts';

/** Returns the fields of a new account as stored. */
export const createAccountFields = (fields: Partial<NewRecord<Account>> & { name: string }): NewRecord<Account> => ({
  status: 'active',
  dealerAccountId: null,
  timezone: 'UTC',
  city: null,
  country: null,
  deletedAt: null,
  isEnded: false,
  erasedAt: null,
  ...fields,
});
