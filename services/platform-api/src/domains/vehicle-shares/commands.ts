import { accessChanged, publish } from '@fleet/bus';
import { AppError, type Page, type Pagination, validationError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { sortItems, toSorting } from '../../platform/fields.ts';
import { parsePhoneNumber } from '../../platform/phone.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import { audit } from '../audit/use-cases.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import type { User } from '../users/schema.ts';
import { findByPhone, findUser, findUserById, findUsers } from '../users/use-cases.ts';
import type { Vehicle, VehicleResponse } from '../vehicles/schema.ts';
import { toVehicleResponses } from '../vehicles/use-cases.ts';
import { assertOwnVehicles, type VisibleVehicle, visibleVehicles } from '../vehicles/visibility.ts';
import { maskedName, maskedPhone, readExpiry, storedPermissions } from './rules.ts';
import type {
  Share,
  ShareBody,
  SharedUser,
  SharedUsersQuery,
  SharedVehiclesQuery,
  ShareResponse,
  UnshareBody,
} from './schema.ts';
import { findSharedBy, findSharedWith, putShare, removeShare } from './store.ts';

type Parts = Pick<Deps, 'records' | 'log' | 'bus' | 'redis' | 'config' | 'thresholds'>;

/** Finds the user with exactly this number in any account. Returns only what a stranger may see. */
export async function searchUser({ records }: Pick<Deps, 'records'>, caller: Caller, phoneNumber: string) {
  const phone = parsePhoneNumber(phoneNumber);
  const user = await findByPhone(records, phone);
  if (user?._id === caller.userId)
    throw validationError([{ path: '/phone_number', message: "must not be the caller's own number" }]);
  if (user === null || user.disabled) throw userNotFound();
  return { id: user._id, name: maskedName(user.name), phone_number: maskedPhone(phone), avatar_url: null };
}

/** Shares vehicles of the caller's account with a user. Replaces permissions and expiry of existing shares. */
export async function shareVehicles(
  deps: Parts,
  caller: Caller,
  body: ShareBody,
  now = new Date(),
): Promise<ShareResponse[]> {
  const { secondary_user: secondaryUserId } = body;
  if (secondaryUserId === caller.userId)
    throw validationError([{ path: '/secondary_user', message: 'must not be the caller' }]);
  const expiresAt = readExpiry(body.expires_at, now);
  const permissions = storedPermissions(body.permissions);
  const user = await findUserById(deps.records, secondaryUserId);
  if (user === null || user.disabled) throw userNotFound();
  const vehicles = await assertOwnVehicles(deps, caller, [...new Set(body.vehicles)]);
  await assertSubscriptions(
    deps,
    caller,
    vehicles.map(({ _id }) => _id),
  );
  const shares: ShareResponse[] = [];
  for (const vehicle of vehicles) {
    const share = await putShare(deps.records, caller, {
      pair: `${vehicle._id}:${secondaryUserId}`,
      sharedByUserId: caller.userId,
      secondaryUserId,
      secondaryAccountId: user.accountId,
      vehicleId: vehicle._id,
      permissions,
      expiresAt,
    });
    shares.push(toShareResponse(share, vehicle));
  }
  await noteChange(deps, caller, 'vehicles.share', user, {
    vehicles: vehicles.map(({ _id }) => _id),
    permissions,
    expires_at: formatTime(expiresAt),
  });
  return shares;
}

/** Stops sharing vehicles of the caller's account with a user; returns the ids of those that were shared. */
export async function unshareVehicles(deps: Parts, caller: Caller, body: UnshareBody): Promise<number[]> {
  const { secondary_user: secondaryUserId, vehicles } = body;
  const shares = await findSharedBy(deps.records, caller, { secondaryUserId }, new Date());
  const wanted = shares.filter(({ vehicleId }) => vehicles === undefined || vehicles.includes(vehicleId));
  const removed: number[] = [];
  for (const { _id, vehicleId } of wanted)
    if ((await removeShare(deps.records, caller, _id)) !== null) removed.push(vehicleId);
  const [share] = wanted;
  if (share !== undefined && removed.length > 0) {
    const user = { _id: secondaryUserId, accountId: share.secondaryAccountId };
    await noteChange(deps, caller, 'vehicles.unshare', user, { vehicles: removed });
  }
  return removed;
}

/** Returns a page of the users with whom the caller's vehicles are shared. */
export async function listSharedUsers(
  deps: Parts,
  caller: Caller,
  { vehicle_id: vehicleId, sort }: SharedUsersQuery,
  paging: Pagination,
): Promise<Page<SharedUser>> {
  const shares = await findSharedBy(deps.records, caller, vehicleId === undefined ? {} : { vehicleId }, new Date());
  const vehicles = await ownOf(deps, caller, shares);
  const byUser = new Map<number, { readonly share: Share; readonly vehicle: Vehicle }[]>();
  for (const share of shares) {
    const vehicle = vehicles.get(share.vehicleId);
    if (vehicle === undefined) continue;
    byUser.set(share.secondaryUserId, [...(byUser.get(share.secondaryUserId) ?? []), { share, vehicle }]);
  }
  const sorting = toSorting(sort);
  const all = [...byUser];
  const sharesOf = (users: typeof all): Share[] =>
    users.flatMap(([, ofUser]) => ofUser.slice(0, 1).map(({ share }) => share));
  // Sorts by the names that are returned: the order of masked names must not reveal the full ones. Only sorting by name
  // looks up all of them.
  const named = sorting.field === 'name' ? await knownOf(deps, caller, sharesOf(all)) : null;
  const users = sortItems(all, sorting, ([id]) => id, { name: ([id]) => (named?.get(id) ?? unknown).name });
  const page = users.slice(paging.offset, paging.offset + paging.limit);
  const known = named ?? (await knownOf(deps, caller, sharesOf(page)));
  const items = page.map(([id, ofUser]): SharedUser => {
    const vehicles = ofUser.map(({ share, vehicle }) => toShareResponse(share, vehicle));
    return { id, ...(known.get(id) ?? unknown), vehicles };
  });
  return { items, total: users.length };
}

/**
 * Returns the caller's vehicles that are shared with a user. With the caller's own id, returns the vehicles that others
 * share with the caller.
 */
export async function listSharedVehicles(
  deps: Parts,
  caller: Caller,
  userId: number,
  { sort }: SharedVehiclesQuery,
  paging: Pagination,
): Promise<Page<VehicleResponse>> {
  const isSelf = userId === caller.userId;
  const now = new Date();
  const shares = isSelf
    ? await findSharedWith(deps.records, userId, { now })
    : await findSharedBy(deps.records, caller, { secondaryUserId: userId }, now);
  if (shares.length === 0 && !isSelf && (await findUser(deps.records, caller, userId)) === null) throw userNotFound();
  const ids = shares.map(({ vehicleId }) => vehicleId);
  const found = (await visibleVehicles(deps, caller, ids)).filter(({ access }) => isSelf || access === 'owner');
  const sorted = sortItems(found, toSorting(sort), ({ vehicle }) => vehicle._id, sortValues);
  const page = sorted.slice(paging.offset, paging.offset + paging.limit);
  return { items: await toVehicleResponses(deps, page), total: found.length };
}

/** Values of the fields by which vehicles are sorted. */
const sortValues = {
  vehicle_no: ({ vehicle }: VisibleVehicle) => vehicle.vehicleNo,
  name: ({ vehicle }: VisibleVehicle) => vehicle.name,
  created_at: ({ vehicle }: VisibleVehicle) => vehicle.createdAt,
  updated_at: ({ vehicle }: VisibleVehicle) => vehicle.updatedAt,
};

/** Returns those of the shared vehicles that the caller may see as vehicles of the account. */
async function ownOf(deps: Parts, caller: Caller, shares: readonly Share[]): Promise<Map<number, Vehicle>> {
  const ids = [...new Set(shares.map(({ vehicleId }) => vehicleId))];
  const own = (await visibleVehicles(deps, caller, ids)).filter(({ access }) => access === 'owner');
  return new Map(own.map(({ vehicle }) => [vehicle._id, vehicle]));
}

type Known = Pick<SharedUser, 'name' | 'phone_number'>;

const unknown: Known = { name: '***', phone_number: null };

/** Returns what the caller may see of shared users, by id, with one lookup per account. */
async function knownOf(
  { records }: Pick<Deps, 'records'>,
  caller: Caller,
  shares: readonly Share[],
): Promise<Map<number, Known>> {
  const idsByAccount = new Map<number, number[]>();
  for (const { secondaryAccountId, secondaryUserId } of shares) {
    const ids = idsByAccount.get(secondaryAccountId);
    if (ids === undefined) idsByAccount.set(secondaryAccountId, [secondaryUserId]);
    else ids.push(secondaryUserId);
  }
  const known = new Map<number, Known>();
  for (const [accountId, ids] of idsByAccount)
    for (const user of await findUsers(records, { accountId }, ids)) known.set(user._id, toKnownUser(caller, user));
  return known;
}

// Ids can be guessed, so names and numbers of other accounts are masked.
const toKnownUser = (caller: Caller, { accountId, name, phoneNumber }: User): Known =>
  accountId === caller.accountId
    ? { name, phone_number: phoneNumber }
    : { name: maskedName(name), phone_number: phoneNumber && maskedPhone(phoneNumber) };

/** Returns the current owning user: a vehicle may have passed to another user since it was shared. */
const toShareResponse = (share: Share, { ownerUserId, vehicleNo }: Vehicle): ShareResponse => ({
  ...toRecordResponse(share),
  owner_user_id: ownerUserId,
  secondary_user_id: share.secondaryUserId,
  vehicle_id: share.vehicleId,
  vehicle_no: vehicleNo,
  permissions: [...share.permissions],
  expires_at: formatTime(share.expiresAt),
});

/**
 * Publishes the change, so that open streams and sockets of the user check access again, and records it in the audit
 * log.
 */
async function noteChange(
  deps: Parts,
  caller: Caller,
  action: string,
  user: Pick<User, '_id' | 'accountId'>,
  detail: Record<string, unknown>,
): Promise<void> {
  publish(deps.bus, accessChanged, { userId: user._id });
  await audit(deps, caller, action, { type: 'users', id: user._id }, detail);
}

const userNotFound = (): AppError => new AppError('user_not_found', 'There is no such user.');
