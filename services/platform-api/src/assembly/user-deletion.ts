import { deletePreferences as forgetVehiclePreferences } from '../domains/notifications/preferences.ts';
import { removePushTokens } from '../domains/notifications/push-tokens.ts';
import { deletePreferences } from '../domains/preferences/use-cases.ts';
import { endLinksOfUser } from '../domains/share-links/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { endSharesOfUser } from '../domains/vehicle-shares/use-cases.ts';
import { passVehicles } from '../domains/vehicles/use-cases.ts';
import { removeWebhooksOfUser } from '../domains/webhooks/use-cases.ts';
import type { Deps } from '../platform/deps.ts';

/** Removes or transfers what a removed user owned in one domain. The heir is the account's first owner. */
type UserDeletionHook = (deps: Deps, user: User, heir: User) => Promise<unknown>;

/** The hooks of all domains. Each is an idempotent use case, because a retry runs all of them again. */
export const userDeletionHooks: readonly UserDeletionHook[] = [
  ({ records }, user, heir) => passVehicles(records, user, user._id, heir._id),
  (deps, user) => endSharesOfUser(deps, user._id),
  (deps, user) => endLinksOfUser(deps, user, user._id),
  (deps, user) => removeWebhooksOfUser(deps, user, user._id),
  (deps, { accountId, _id: userId }) => removePushTokens(deps, { accountId, userId }, null),
  (deps, user) => forgetVehiclePreferences(deps, { userId: user._id }),
  (deps, { accountId, _id: userId }) => deletePreferences(deps, { accountId, userId }),
];
