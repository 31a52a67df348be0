import type { NewRecord } from '../../store/record-store.ts';
import type { Account } from './schema.ts';

/** A new account as it is stored. */
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
