import { isPermitted } from '../access/roles.ts';
import { eraseIpAddresses } from '../domains/audit/use-cases.ts';
import { eraseUser } from '../domains/messaging/use-cases.ts';
import { deletePreferences as deleteVehiclePreferences } from '../domains/notifications/preferences.ts';
import { removePushTokens } from '../domains/notifications/push-tokens.ts';
import { deletePreferences } from '../domains/preferences/use-cases.ts';
import { revokeLinksOfUser } from '../domains/share-links/use-cases.ts';
import type { UserEraser, UserHooks } from '../domains/users/hooks.ts';
import { endSharesOfUser } from '../domains/vehicle-shares/use-cases.ts';
import { transferVehicles } from '../domains/vehicles/use-cases.ts';
import { disableWebhooksOfUser, removeWebhooksOfUser } from '../domains/webhooks/use-cases.ts';
import type { Deps } from '../platform/deps.ts';

/** Returns the work of the domains after changes of users. */
export const createUserHooks = (deps: Deps): UserHooks => ({
  changed: [
    async (user) => {
      if (user.disabled || !isPermitted(user.role, 'webhooks')) await disableWebhooksOfUser(deps, user, user._id);
    },
    async (user) => {
      if (user.disabled || !isPermitted(user.role, 'sharing')) await revokeLinksOfUser(deps, user, user._id);
    },
  ],
  deleted: [
    (user, heir) => transferVehicles(deps.records, user, user._id, heir._id),
    (user) => endSharesOfUser(deps, user._id),
    (user) => revokeLinksOfUser(deps, user, user._id),
    (user) => removeWebhooksOfUser(deps, user, user._id),
    ({ accountId, _id: userId }) => removePushTokens(deps, { accountId, userId }, null),
    (user) => deleteVehiclePreferences(deps, { userId: user._id }),
    ({ accountId, _id: userId }) => deletePreferences(deps, { accountId, userId }),
  ],
});

/** Returns the functions that erase personal data of deleted users, one for each domain that stores some. */
export const createUserErasers = ({ records }: Pick<Deps, 'records'>): readonly UserEraser[] => [
  ({ accountId, userId }) => eraseUser({ records }, { accountId }, userId),
  ({ accountId, userId }) => eraseIpAddresses(records, { accountId }, userId),
];
