import type { Records } from '../../store/records.ts';
import type { Account } from './schema.ts';
import { findAccount } from './store.ts';

/** The account of an id, or null. */
export const accountOf = (records: Records, id: number): Promise<Account | null> => findAccount(records, id);
