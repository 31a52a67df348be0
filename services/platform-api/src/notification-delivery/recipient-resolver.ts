import { TtlCache } from '@fleet/service-kit';
import { isAccountActive } from '../domains/accounts/account-status.ts';
import type { WantedNotifications } from '../domains/notifications/preferences.ts';
import { pushTokensOf } from '../domains/notifications/push-tokens.ts';
import type { PushToken } from '../domains/notifications/schema.ts';
import type { GlobalConfig } from '../domains/preferences/schema.ts';
import { accountConfig, knownPreferences } from '../domains/preferences/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { findUserById, usersOfAccount } from '../domains/users/use-cases.ts';
import { usersSharing } from '../domains/vehicle-shares/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import type { RecipientPreferences } from './should-notify.ts';

/** Time after which a user who lost access receives nothing any more. */
const cacheTtlMs = 5_000;

/** The vehicle of a notification. */
interface VehicleRef {
  readonly accountId: number;
  readonly vehicleId: number;
  readonly ownerUserId: number;
}

/** A user who may receive notifications of a vehicle, with the preferences. */
export interface Recipient {
  readonly user: User;
  readonly preferences: RecipientPreferences;
  readonly vehiclePreference: WantedNotifications;
}

type ResolverDeps = Pick<Deps, 'records' | 'config'> & {
  readonly notifications: Pick<Deps['notifications'], 'preferenceCache'>;
};

/** Finds the recipients of vehicles with their preferences; cached for seconds. */
export class RecipientResolver {
  readonly #deps: ResolverDeps;
  readonly #configs = new TtlCache<GlobalConfig, number>({ ttlMs: cacheTtlMs });
  readonly #activeAccounts = new TtlCache<boolean, number>({ ttlMs: cacheTtlMs });
  readonly #accounts = new TtlCache<readonly User[], number>({ ttlMs: cacheTtlMs });
  readonly #shared = new TtlCache<readonly User[], number>({ ttlMs: cacheTtlMs });
  readonly #preferences = new TtlCache<RecipientPreferences, number>({ ttlMs: cacheTtlMs });
  readonly #tokens = new TtlCache<readonly PushToken[], number>({ ttlMs: cacheTtlMs });

  constructor(deps: ResolverDeps) {
    this.#deps = deps;
  }

  accountConfig(accountId: number): Promise<GlobalConfig> {
    return this.#configs.get(accountId, () => accountConfig(this.#deps, { accountId }));
  }

  pushTokens({ accountId, _id: userId }: User): Promise<readonly PushToken[]> {
    return this.#tokens.get(userId, () => pushTokensOf(this.#deps, { accountId, userId }));
  }

  /** Returns the users who see the vehicle, and those of its shares with notifications; only of active accounts. */
  async findRecipients({ accountId, vehicleId, ownerUserId }: VehicleRef): Promise<Recipient[]> {
    const [own, shared, vehiclePreferences] = await Promise.all([
      this.#accounts.get(accountId, () => usersOfAccount(this.#deps.records, { accountId })),
      this.#shared.get(vehicleId, () => this.#findSharingUsers(accountId, vehicleId)),
      this.#deps.notifications.preferenceCache.ofVehicles([vehicleId]),
    ]);
    const accountUsers = own.filter(({ role, _id }) => role !== 'driver' || _id === ownerUserId);
    const users = new Map(
      [...shared, ...accountUsers].filter(({ disabled }) => !disabled).map((user) => [user._id, user]),
    );
    const recipients = await Promise.all(
      [...users.values()].map(async (user): Promise<Recipient | null> => {
        const preference = vehiclePreferences.get(vehicleId)?.forUser(user._id);
        if (preference === undefined || !(await this.#isAccountActive(user.accountId))) return null;
        const preferences = await this.#preferences.get(user._id, () => knownPreferences(this.#deps, user));
        return { user, vehiclePreference: preference, preferences };
      }),
    );
    return recipients.filter((each) => each !== null);
  }

  #isAccountActive(accountId: number): Promise<boolean> {
    return this.#activeAccounts.get(accountId, () => isAccountActive(this.#deps.records, accountId));
  }

  async #findSharingUsers(accountId: number, vehicleId: number): Promise<User[]> {
    const ids = await usersSharing(this.#deps, { accountId }, vehicleId, 'notifications');
    const users = await Promise.all(ids.map((id) => findUserById(this.#deps.records, id)));
    return users.filter((user) => user !== null);
  }
}
