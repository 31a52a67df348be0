import type { AccountHooks } from '../domains/accounts/hooks.ts';
import { deleteCustomer } from '../domains/billing/use-cases.ts';
import { removeMediaOfAccount } from '../domains/media/removal.ts';
import { deletePartnerDevices } from '../domains/partners/use-cases.ts';
import { revokeLinksOfAccount } from '../domains/share-links/use-cases.ts';
import { endSharesOfUser } from '../domains/vehicle-shares/use-cases.ts';
import { deleteAllVehicles } from '../domains/vehicles/commands.ts';
import { removeWebhooksOfUser } from '../domains/webhooks/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { createVehicleHooks } from './vehicle-hooks.ts';

/** Returns the work of the domains after the deletion of an account. */
export const createAccountHooks = (deps: Deps): AccountHooks => ({
  accessRevoked: [(account) => revokeLinksOfAccount(deps, account)],
  userDisabled: [
    (_account, userId) => endSharesOfUser(deps, userId),
    (account, userId) => removeWebhooksOfUser(deps, account, userId),
  ],
  ended: [(account) => deleteAllVehicles(deps, account, createVehicleHooks(deps))],
  filesRemoved: [(account) => removeMediaOfAccount(deps, account)],
  erased: [(account) => deleteCustomer(deps, account), (account) => deletePartnerDevices(deps, account)],
});
