import type { NewAccountRecord } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { newUser } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { recordUser } from '../users/use-cases.ts';
import { createAccountFields } from './rules.ts';
import type { Account } from './schema.ts';
import { findAccount, insertAccount, removeAccount } from './store.ts';

export { isErased } from './store.ts';

/** Returns an account by id, or null. */
export const getAccount = (records: RecordStore, id: number): Promise<Account | null> => findAccount(records, id);

/**
 * Creates an account with its first owner. Throws 409 `duplicate` for a taken e-mail or phone number, without creating
 * the account.
 */
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
