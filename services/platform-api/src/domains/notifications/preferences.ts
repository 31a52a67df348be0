import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { defaultTypes, requireKnownTypes } from './rules.ts';
import { type NotifyChannel, notifyChannels, type PreferencesBody } from './schema.ts';
import { findPreferences, findPreferencesOf, preferenceCollection } from './store.ts';

type Store = Pick<Deps, 'records'>;

/** Notification types and channels of a user for a vehicle. */
export interface WantedNotifications {
  readonly notificationTypes: readonly string[];
  readonly channels: readonly NotifyChannel[];
  /** True if the user has not set any preferences. */
  readonly isDefault: boolean;
}

const pairOf = (userId: number, vehicleId: number): string => `${userId}:${vehicleId}`;

/** Returns the preferences of a user for a vehicle: the stored ones, or the default. */
export async function wantedNotifications(
  { records }: Store,
  userId: number,
  vehicleId: number,
): Promise<WantedNotifications> {
  const stored = await findPreferences(records, pairOf(userId, vehicleId));
  if (stored === null || stored.userId !== userId)
    return { notificationTypes: defaultTypes, channels: ['push'], isDefault: true };
  return { notificationTypes: stored.notificationTypes, channels: stored.channels, isDefault: false };
}

/**
 * Returns a function that checks whether a user wants a type of notification for a vehicle. It covers all vehicles, for
 * callers that check often.
 */
export async function notificationChoices(
  { records }: Store,
  userId: number,
): Promise<(vehicleId: number, type: string) => boolean> {
  const stored = await findPreferencesOf(records, { userId });
  const choices = new Map(stored.map(({ vehicleId, notificationTypes }) => [vehicleId, new Set(notificationTypes)]));
  return (vehicleId, type) => (choices.get(vehicleId) ?? defaultTypeSet).has(type);
}

const defaultTypeSet: ReadonlySet<string> = new Set(defaultTypes);

/** Returns the caller's preferences for a vehicle whose notifications the caller may see. */
export async function readPreferences(deps: Store, caller: Caller, vehicleId: number): Promise<WantedNotifications> {
  await visibleVehicle(deps, caller, vehicleId, 'notifications');
  return wantedNotifications(deps, caller.userId, vehicleId);
}

/** Sets the caller's preferences for a vehicle, which are the complete set. */
export async function writePreferences(
  deps: Pick<Deps, 'records' | 'log'>,
  caller: Caller,
  vehicleId: number,
  body: PreferencesBody,
): Promise<WantedNotifications> {
  await visibleVehicle(deps, caller, vehicleId, 'notifications');
  requireKnownTypes(body.notification_types, '/notification_types');
  const pair = pairOf(caller.userId, vehicleId);
  const before = await wantedNotifications(deps, caller.userId, vehicleId);
  const wanted = {
    notificationTypes: [...new Set(body.notification_types)],
    channels: notifyChannels.filter((channel) => (body.channels ?? before.channels).includes(channel)),
  };
  await put(deps, caller, { pair, userId: caller.userId, vehicleId, ...wanted });
  const target = { type: 'vehicles', id: vehicleId };
  await audit(deps, caller, 'notification_preferences.update', target, { fields: Object.keys(body) });
  return { ...wanted, isDefault: false };
}

/** Two concurrent writers need two attempts. More are needed only if a crash has left a unique value. */
const maxAttempts = 5;

async function put(
  { records }: Store,
  caller: Caller,
  fields: { pair: string; userId: number; vehicleId: number; notificationTypes: string[]; channels: NotifyChannel[] },
): Promise<void> {
  const preferences = preferenceCollection(records);
  for (let attempt = 1; ; attempt += 1) {
    const known = await findPreferences(records, fields.pair);
    if (known !== null && (await preferences.update(known, known._id, fields)) !== null) return;
    try {
      await preferences.insert(caller, fields);
      return;
    } catch (error) {
      // Another request of the user created the record first; the next attempt changes it.
      if (!(error instanceof AppError && error.code === 'duplicate') || attempt === maxAttempts) throw error;
    }
  }
}

/** Deletes the preferences of a deleted user, or those of all users for a deleted vehicle. */
export async function deletePreferences(
  { records }: Store,
  of: { readonly userId: number } | { readonly vehicleId: number },
): Promise<void> {
  for (const stored of await findPreferencesOf(records, of))
    await preferenceCollection(records).remove(stored, stored._id);
}
