import type { NewAccountRecord } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import { newUser } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { recordUser } from '../users/use-cases.ts';
import { newAccount } from './rules.ts';
import type { Account } from './schema.ts';
import { findAccount, insertAccount, removeAccount } from './store.ts';

export { isErased } from './store.ts';

/** The account of an id, or null. */
export const accountOf = (records: Records, id: number): Promise<Account | null> => findAccount(records, id);

/** Opens an account with its first owner; 409 `duplicate` for a taken e-mail or phone number, and then there is no account. */
export async function openAccount(
  records: Records,
  account: Parameters<typeof newAccount>[0],
  owner: Partial<NewAccountRecord<User>> & Pick<User, 'name'>,
): Promise<{ account: Account; user: User }> {
  const made = await insertAccount(records, newAccount(account));
  try {
    const user = newUser({ role: 'owner', timezone: made.timezone, ...owner });
    return { account: made, user: await recordUser(records, { accountId: made._id }, user) };
  } catch (error) {
    await removeAccount(records, made._id);
    throw error;
  }
}
