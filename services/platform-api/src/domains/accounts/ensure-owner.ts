import type { Records } from '../../store/records.ts';
import { hashPassword } from '../users/passwords.ts';
import { newUser, normalEmail } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { findByEmail, recordFirstOwner } from '../users/use-cases.ts';
import { newAccount } from './rules.ts';
import { insertAccountOf } from './store.ts';

/** Makes an account and its owner unless the e-mail has a user already, whose password stays as it is. */
export async function ensureOwner(
  records: Records,
  owner: { email: string; password: string; accountName: string; role?: 'owner' | 'dealer' | 'superadmin' },
): Promise<{ user: User; created: boolean }> {
  const email = normalEmail(owner.email);
  const known = await findByEmail(records, email);
  if (known !== null) return { user: known, created: false };
  const account = await insertAccountOf(records, email, newAccount({ name: owner.accountName }));
  const { record, created } = await recordFirstOwner(records, account.record._id, {
    ...newUser({ name: email, email, role: owner.role ?? 'owner' }),
    passwordHash: await hashPassword(owner.password),
  });
  return { user: record, created };
}
