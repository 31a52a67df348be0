import { deletePreferences as forgetVehiclePreferences } from '../domains/notifications/preferences.ts';
import { removePushTokens } from '../domains/notifications/push-tokens.ts';
import { deletePreferences } from '../domains/preferences/use-cases.ts';
import { endLinksOfUser } from '../domains/share-links/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { endSharesOfUser } from '../domains/vehicle-shares/use-cases.ts';
import { passVehicles } from '../domains/vehicles/use-cases.ts';
import { removeWebhooksOfUser } from '../domains/webhooks/use-cases.ts';
import type { Deps } from '../platform/deps.ts';

/** What a domain does with what a user owned who is being removed: the heir is the account's first owner. */
type UserDeletionHook = (deps: Deps, user: User, heir: User) => Promise<unknown>;

/** One line for each domain; each is one of its use-cases, and may run again where an earlier one failed. */
export const userDeletionHooks: readonly UserDeletionHook[] = [
  ({ records }, user, heir) => passVehicles(records, user, user._id, heir._id),
  (deps, user) => endSharesOfUser(deps, user._id),
  (deps, user) => endLinksOfUser(deps, user, user._id),
  (deps, user) => removeWebhooksOfUser(deps, user, user._id),
  (deps, { accountId, _id: userId }) => removePushTokens(deps, { accountId, userId }, null),
  (deps, user) => forgetVehiclePreferences(deps, { userId: user._id }),
  (deps, { accountId, _id: userId }) => deletePreferences(deps, { accountId, userId }),
];
