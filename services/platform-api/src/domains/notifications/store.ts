import type { Page, Pagination, Sort } from '@fleet/service-kit';
import { AccountRepository, type Filter, toSortOrder } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { findUnionPage } from '../../store/union-page.ts';
import type { Notification, PushToken, VehiclePreferences } from './schema.ts';

const collectionName = 'notifications';

export const notificationCollection = (records: RecordStore): AccountRepository<Notification> =>
  new AccountRepository<Notification>(records, collectionName, { unique: { dedupeKey: 'system' } });

export const preferenceCollection = (records: RecordStore): AccountRepository<VehiclePreferences> =>
  new AccountRepository<VehiclePreferences>(records, 'notification_preferences', { unique: { pair: 'system' } });

export const pushTokenCollection = (records: RecordStore): AccountRepository<PushToken> =>
  new AccountRepository<PushToken>(records, 'push_tokens', { unique: { tokenSha256: 'system' } });

/**
 * Notifications that a user may see: those of the own account (or of some of its vehicles), and those of single
 * vehicles of other accounts.
 */
export interface VisibleNotifications {
  readonly accountId: number;
  /** Null for all vehicles of the account. */
  readonly ownVehicleIds: readonly number[] | null;
  readonly sharedVehicleIds: readonly number[];
}

/**
 * Returns the filters for what a user may see. They have no notification in common, because a disjunction of them has
 * no index.
 */
function disjointFilters({ accountId, ownVehicleIds, sharedVehicleIds }: VisibleNotifications): Filter[] {
  const shared = { vehicleId: { $in: [...sharedVehicleIds] } };
  if (ownVehicleIds === null)
    return sharedVehicleIds.length === 0
      ? [{ accountId }]
      : [{ accountId }, { ...shared, accountId: { $ne: accountId } }];
  const isShared = new Set(sharedVehicleIds);
  const own = { accountId, vehicleId: { $in: ownVehicleIds.filter((id) => !isShared.has(id)) } };
  return sharedVehicleIds.length === 0 ? [own] : [own, shared];
}

const visibilityFilter = ({ accountId, ownVehicleIds, sharedVehicleIds }: VisibleNotifications): Filter => {
  const own = ownVehicleIds === null ? { accountId } : { accountId, vehicleId: { $in: [...ownVehicleIds] } };
  return sharedVehicleIds.length === 0 ? own : { $or: [own, { vehicleId: { $in: [...sharedVehicleIds] } }] };
};

/** Returns a page of notifications. */
export async function listNotifications(
  records: RecordStore,
  visible: VisibleNotifications,
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Notification>> {
  const collection = records.collection<Notification>(collectionName);
  const [filter = {}, shared] = disjointFilters(visible).map((each): object => ({ $and: [each, where] }));
  if (shared !== undefined) return findUnionPage(collection, [filter, shared], sorting, paging);
  const [items, total] = await Promise.all([
    collection.find(filter).sort(toSortOrder(sorting)).skip(paging.offset).limit(paging.limit).toArray(),
    collection.countDocuments(filter),
  ]);
  return { items, total };
}

/** Returns the number of notifications. */
export async function countNotifications(
  records: RecordStore,
  visible: VisibleNotifications,
  where: Filter,
): Promise<number> {
  const collection = records.collection<Notification>(collectionName);
  const counts = disjointFilters(visible).map((each) => collection.countDocuments({ $and: [each, where] }));
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
}

/** Returns the types that occur, in alphabetical order. */
export async function listTypes(records: RecordStore, visible: VisibleNotifications, where: Filter): Promise<string[]> {
  const collection = records.collection<Notification>(collectionName);
  const found = disjointFilters(visible).map((each) => collection.distinct('type', { $and: [each, where] } as object));
  return [...new Set((await Promise.all(found)).flat())].toSorted();
}

/**
 * Largest difference of ids that are recorded out of order. Ids are assigned in order, but notifications that are
 * created concurrently may be written in reverse order.
 */
const maxOvertaking = 1_000;

/**
 * Returns what was recorded after a notification, the newest first: records with a greater id, or with a smaller id and
 * a later time, but not older than `notBefore`.
 */
export async function findAfter(
  records: RecordStore,
  visible: VisibleNotifications,
  after: { readonly id: number; readonly notBefore: Date; readonly limit: number },
): Promise<Notification[]> {
  const collection = records.collection<Notification>(collectionName);
  const known = await collection.findOne({ _id: after.id });
  const isLater = known === null ? { _id: { $gt: after.id } } : laterThan(known);
  const filter: object = {
    $and: [
      { _id: { $gt: after.id - maxOvertaking }, createdAt: { $gte: after.notBefore } },
      isLater,
      visibilityFilter(visible),
    ],
  };
  return collection.find(filter).sort({ _id: -1 }).limit(after.limit).toArray();
}

/** Returns the notifications of an account that were recorded since a time, the newest first. */
export const findSince = (
  records: RecordStore,
  { accountId }: Pick<VisibleNotifications, 'accountId'>,
  since: Date,
  limit: number,
): Promise<Notification[]> => {
  const filter: object = { accountId, createdAt: { $gte: since } };
  return records.collection<Notification>(collectionName).find(filter).sort({ _id: -1 }).limit(limit).toArray();
};

/** Largest number of open events that are read. */
const maxOpen = 20_000;

/** Returns the vehicles of the newest events of an account without acknowledgement. */
export const findOpen = (
  records: RecordStore,
  { accountId, vehicleIds }: { readonly accountId: number; readonly vehicleIds?: readonly number[] },
  severity: Notification['severity'],
  since: Date,
): Promise<Pick<Notification, 'vehicleId'>[]> => {
  const ofVehicles = vehicleIds === undefined ? {} : { vehicleId: { $in: [...vehicleIds] } };
  const filter: object = { accountId, createdAt: { $gte: since }, severity, acknowledgedAt: null, ...ofVehicles };
  return records
    .collection<Notification>(collectionName)
    .find(filter, { projection: { vehicleId: 1 } })
    .sort({ createdAt: -1 })
    .limit(maxOpen)
    .toArray();
};

const laterThan = ({ _id, createdAt }: Notification): Filter => ({
  $or: [{ _id: { $gt: _id } }, { _id: { $lt: _id }, createdAt: { $gt: createdAt } }],
});

/** Returns a notification of any account; the caller checks whether its vehicle is visible. */
export const findNotification = (records: RecordStore, id: number): Promise<Notification | null> =>
  records.collection<Notification>(collectionName).findOne({ _id: id });

export const findPreferences = (records: RecordStore, pair: string): Promise<VehiclePreferences | null> =>
  records.findByUnique<VehiclePreferences>('notification_preferences', 'pair', pair);

/** Returns the record of a token of any user. */
export const findPushToken = (records: RecordStore, tokenSha256: string): Promise<PushToken | null> =>
  records.findByUnique<PushToken>('push_tokens', 'tokenSha256', tokenSha256);

/** Returns all preferences of a user, or all for a vehicle, including those of users of other accounts. */
export const findPreferencesOf = (
  records: RecordStore,
  of: { readonly userId: number } | { readonly vehicleId: number },
): Promise<VehiclePreferences[]> =>
  records.collection<VehiclePreferences>('notification_preferences').find(of).toArray();

/** Returns the preferences of all users for some vehicles. */
export const findPreferencesOfVehicles = (
  records: RecordStore,
  vehicleIds: readonly number[],
): Promise<VehiclePreferences[]> =>
  records
    .collection<VehiclePreferences>('notification_preferences')
    .find({ vehicleId: { $in: [...vehicleIds] } })
    .toArray();

/** Changes a notification unless it has changed since it was read; returns null if it has. */
export async function updateIfUnchanged(
  records: RecordStore,
  before: Notification,
  change: Partial<Pick<Notification, 'attributes' | 'acknowledgedAt' | 'acknowledgedBy' | 'media'>>,
): Promise<Notification | null> {
  const filter = { _id: before._id, version: before.version };
  const update = { $set: { ...change, updatedAt: new Date() }, $inc: { version: 1 } } as object;
  return records.collection<Notification>(collectionName).findOneAndUpdate(filter, update, { returnDocument: 'after' });
}
