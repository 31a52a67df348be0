import type { Deps } from './deps.ts';
import type { User } from './domains/users/schema.ts';
import { passVehicles } from './domains/vehicles/use-cases.ts';

/** What a domain does with what a user owned who is being removed: the heir is the account's first owner. */
type UserRemoval = (deps: Deps, user: User, heir: User) => Promise<unknown>;

/** One line for each domain; each is one of its use-cases, and may run again where an earlier one failed. */
export const userRemovals: readonly UserRemoval[] = [
  ({ records }, user, heir) => passVehicles(records, user, user._id, heir._id),
];
