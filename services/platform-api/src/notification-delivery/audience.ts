import { TtlCache } from '@fleet/service-kit';
import { isAccountActive } from '../domains/accounts/account-status.ts';
import type { WantedNotifications } from '../domains/notifications/preferences.ts';
import { pushTokensOf } from '../domains/notifications/push-tokens.ts';
import type { PushToken } from '../domains/notifications/schema.ts';
import type { GlobalConfig } from '../domains/preferences/schema.ts';
import { accountConfig, knownPreferences } from '../domains/preferences/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { findAnywhere, usersOfAccount } from '../domains/users/use-cases.ts';
import { usersSharing } from '../domains/vehicle-shares/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import type { KnownPreferences } from './rules.ts';

/** Time after which a user who lost access receives nothing any more. */
const maxAgeMs = 5_000;

/** The vehicle of a notification. */
export interface NotificationTarget {
  readonly accountId: number;
  readonly vehicleId: number;
  readonly ownerUserId: number;
}

/** A user who may receive notifications of a vehicle, with the preferences. */
export interface Listener {
  readonly user: User;
  readonly preferences: KnownPreferences;
  readonly vehiclePreference: WantedNotifications;
}

type AudienceDeps = Pick<Deps, 'records' | 'config'> & {
  readonly notifications: Pick<Deps['notifications'], 'preferenceCache'>;
};

/** Finds the recipients of vehicles with their preferences; cached for seconds. */
export class Audience {
  readonly #deps: AudienceDeps;
  readonly #configs = new TtlCache<GlobalConfig, number>({ ttlMs: maxAgeMs });
  readonly #letIn = new TtlCache<boolean, number>({ ttlMs: maxAgeMs });
  readonly #accounts = new TtlCache<readonly User[], number>({ ttlMs: maxAgeMs });
  readonly #shared = new TtlCache<readonly User[], number>({ ttlMs: maxAgeMs });
  readonly #preferences = new TtlCache<KnownPreferences, number>({ ttlMs: maxAgeMs });
  readonly #tokens = new TtlCache<readonly PushToken[], number>({ ttlMs: maxAgeMs });

  constructor(deps: AudienceDeps) {
    this.#deps = deps;
  }

  configOf(accountId: number): Promise<GlobalConfig> {
    return this.#configs.get(accountId, () => accountConfig(this.#deps, { accountId }));
  }

  tokensOf({ accountId, _id: userId }: User): Promise<readonly PushToken[]> {
    return this.#tokens.get(userId, () => pushTokensOf(this.#deps, { accountId, userId }));
  }

  /** Returns the users who see the vehicle, and those of its shares with notifications; only of active accounts. */
  async of({ accountId, vehicleId, ownerUserId }: NotificationTarget): Promise<Listener[]> {
    const [own, shared, wishes] = await Promise.all([
      this.#accounts.get(accountId, () => usersOfAccount(this.#deps.records, { accountId })),
      this.#shared.get(vehicleId, () => this.#readShared(accountId, vehicleId)),
      this.#deps.notifications.preferenceCache.ofVehicles([vehicleId]),
    ]);
    const seeing = own.filter(({ role, _id }) => role !== 'driver' || _id === ownerUserId);
    const users = new Map([...shared, ...seeing].filter(({ disabled }) => !disabled).map((user) => [user._id, user]));
    const listeners = await Promise.all(
      [...users.values()].map(async (user): Promise<Listener | null> => {
        const preference = wishes.get(vehicleId)?.of(user._id);
        if (preference === undefined || !(await this.#isLetIn(user.accountId))) return null;
        const preferences = await this.#preferences.get(user._id, () => knownPreferences(this.#deps, user));
        return { user, vehiclePreference: preference, preferences };
      }),
    );
    return listeners.filter((each) => each !== null);
  }

  #isLetIn(accountId: number): Promise<boolean> {
    return this.#letIn.get(accountId, () => isAccountActive(this.#deps.records, accountId));
  }

  async #readShared(accountId: number, vehicleId: number): Promise<User[]> {
    const ids = await usersSharing(this.#deps, { accountId }, vehicleId, 'notifications');
    const users = await Promise.all(ids.map((id) => findAnywhere(this.#deps.records, id)));
    return users.filter((user) => user !== null);
  }
}
