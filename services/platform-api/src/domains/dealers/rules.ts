import type { Account } from '../accounts/schema.ts';
import type { User } from '../users/schema.ts';

/** Returns whether a text is part of a searchable field of a dealer: its account, or the contact of its first user. */
export function matchesQuery(account: Account, user: User | undefined, query: string | undefined): boolean {
  const part = query?.toLowerCase() ?? '';
  return [account.name, user?.phoneNumber, user?.email, account.city].some(
    (value) => value?.toLowerCase().includes(part) === true,
  );
}
