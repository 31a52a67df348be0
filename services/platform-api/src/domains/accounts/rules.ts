import type { NewRecord } from '../../store/records.ts';
import type { Account } from './schema.ts';

/** A new account as it is stored. */
export const newAccount = (fields: Partial<NewRecord<Account>> & { name: string }): NewRecord<Account> => ({
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
