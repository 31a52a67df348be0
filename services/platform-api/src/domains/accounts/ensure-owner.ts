import type { Records } from '../../store/records.ts';
import { hashPassword, normalEmail } from './rules.ts';
import type { User } from './schema.ts';
import { findUserByEmail, insertAccountOf, insertUser } from './store.ts';

/** Makes an account and its owner unless the e-mail has a user already, whose password stays as it is. */
export async function ensureOwner(
  records: Records,
  owner: { email: string; password: string; accountName: string },
): Promise<{ user: User; created: boolean }> {
  const email = normalEmail(owner.email);
  const known = await findUserByEmail(records, email);
  if (known !== null) return { user: known, created: false };
  const account = await insertAccountOf(records, email, { name: owner.accountName });
  const { record, created } = await insertUser(records, {
    accountId: account.record._id,
    name: email,
    email,
    role: 'owner',
    passwordHash: await hashPassword(owner.password),
  });
  return { user: record, created };
}
