import type { NewAccountRecord } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { newUser } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { recordUser } from '../users/use-cases.ts';
import { createAccountFields } from './rules.ts';
import type { Account } from './schema.ts';
import { findAccount, insertAccount, removeAccount } from './store.ts';

export { isErased } from './store.ts';

/** The account of an id, or null. */
export const getAccount = (records: RecordStore, id: number): Promise<Account | null> => findAccount(records, id);

/** Opens an account with its first owner; 409 `duplicate` for a taken e-mail or phone number, and then there is no account. */
export async function createAccount(
  records: RecordStore,
  account: Parameters<typeof createAccountFields>[0],
  owner: Partial<NewAccountRecord<User>> & Pick<User, 'name'>,
): Promise<{ account: Account; user: User }> {
  const created = await insertAccount(records, createAccountFields(account));
  try {
    const user = newUser({ role: 'owner', timezone: created.timezone, ...owner });
    return { account: created, user: await recordUser(records, { accountId: created._id }, user) };
  } catch (error) {
    await removeAccount(records, created._id);
    throw error;
  }
}
