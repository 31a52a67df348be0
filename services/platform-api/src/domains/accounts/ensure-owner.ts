import type { RecordStore } from '../../store/record-store.ts';
import { hashPassword } from '../users/passwords.ts';
import { newUser, normalEmail } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { findByEmail, recordFirstOwner } from '../users/use-cases.ts';
import { createAccountFields } from './rules.ts';
import { insertAccountForOwner } from './store.ts';

/**
 * Creates an account and its owner, unless the e-mail already has a user. The password of an existing user is
 * unchanged.
 */
export async function ensureOwner(
  records: RecordStore,
  owner: { email: string; password: string; accountName: string; role?: 'owner' | 'dealer' | 'superadmin' },
): Promise<{ user: User; created: boolean }> {
  const email = normalEmail(owner.email);
  const existing = await findByEmail(records, email);
  if (existing !== null) return { user: existing, created: false };
  const account = await insertAccountForOwner(records, email, createAccountFields({ name: owner.accountName }));
  const { record, created } = await recordFirstOwner(records, account.record._id, {
    ...newUser({ name: email, email, role: owner.role ?? 'owner' }),
    passwordHash: await hashPassword(owner.password),
  });
  return { user: record, created };
}
