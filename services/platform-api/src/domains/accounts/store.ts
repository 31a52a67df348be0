import type { NewRecord, Records } from '../../store/records.ts';
import type { Account } from './schema.ts';

/** The account is tied to its first owner's e-mail or phone number, so that a repeated or interrupted creation makes one account. */
export const insertAccountOf = (records: Records, firstOwner: string, account: NewRecord<Account>) =>
  records.insertUnique<Account>('accounts', 'first_owner', firstOwner, account);

export const findAccount = (records: Records, id: number): Promise<Account | null> =>
  records.collection<Account>('accounts').findOne({ _id: id });
