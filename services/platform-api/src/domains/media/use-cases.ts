import { AppError, assertVersion, type Page, type Pagination, versionMismatch } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import type { Filter, Scope } from '../../store/account-repository.ts';
import { audit } from '../audit/use-cases.ts';
import { sharedVehicle } from '../vehicle-shares/use-cases.ts';
import { vehicleCollection } from '../vehicles/queries.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { publishMedia } from './record.ts';
import { removeMedia } from './removal.ts';
import type { RemovalDeps } from './removal-states.ts';
import type { ListMediaQuery, Media, MediaBody } from './schema.ts';
import { deleteUsage, findMedia, listMediaOfVehicle, unprotectAll, updateMedia } from './store.ts';

type MediaDeps = Pick<Deps, 'records'>;

/** Returns a page of the files of a vehicle. */
export async function listMedia(
  deps: MediaDeps,
  caller: Caller,
  vehicleId: number,
  query: ListMediaQuery,
  paging: Pagination,
): Promise<Page<Media>> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'history_video');
  const sorting = toSorting(query.sort, { taken_at: 'takenAt', received_at: 'receivedAt' });
  return listMediaOfVehicle(deps.records, vehicle, { where: createFilter(query), sorting, paging });
}

function createFilter({ channel_id: channelId, kind, ...query }: ListMediaQuery): Filter {
  const [from, to] = [parseTimestamp(query.from, 'from'), parseTimestamp(query.to, 'to')];
  const between = { ...(from === undefined ? {} : { $gte: from }), ...(to === undefined ? {} : { $lt: to }) };
  return {
    ...(channelId === undefined ? {} : { channelId }),
    ...(kind === undefined ? {} : { kind }),
    ...(from === undefined && to === undefined ? {} : { takenAt: between }),
  };
}

/** Protects a file from removal, or ends its protection. */
export async function changeProtection(
  deps: Pick<Deps, 'records' | 'log' | 'bus'>,
  caller: Caller,
  id: number,
  body: MediaBody,
  expectedVersion: number | undefined,
): Promise<Media> {
  const { vehicleId } = await findOwnMedia(deps, caller, id);
  // Files of a deleted vehicle cannot be protected, because none of them stays forever.
  if (body.protected === true && (await vehicleCollection(deps.records).find(caller, vehicleId)) === null)
    throw mediaNotFoundError(id);
  const changed = await updateMedia(deps.records, caller, id, body, expectedVersion);
  if (changed === null) throw mediaNotFoundError(id);
  if (body.protected !== undefined)
    await audit(deps, caller, 'media.protect', { type: 'media', id }, { ...body, vehicle_id: vehicleId });
  publishMedia(deps.bus, changed);
  return changed;
}

/**
 * Ends the protection of the files of a deleted vehicle, because no user can find them. They are removed at the end of
 * their retention.
 */
export async function unprotectMediaOfVehicle(
  { database, records }: Pick<RemovalDeps, 'database' | 'records'>,
  { accountId }: Scope,
  vehicleId: number,
): Promise<void> {
  await unprotectAll(records, { accountId }, vehicleId);
  await deleteUsage(database, vehicleId);
}

/** Deletes a file permanently; the upload of a clip is deleted with it. */
export async function deleteMedia(
  deps: RemovalDeps,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<Media> {
  const media = await findOwnMedia(deps, caller, id);
  assertVersion(media, expectedVersion);
  if (media.protected) throw protectedError(id);
  // A file that was protected concurrently stays. A file that was removed concurrently is not removed here.
  if ((await removeMedia(deps, media, { sparesProtected: true })) === null) {
    const now = await findMedia(deps.records, id);
    if (now === null) throw mediaNotFoundError(id);
    throw expectedVersion === undefined ? protectedError(id) : versionMismatch(now.version);
  }
  const { vehicleId, kind, channelId } = media;
  const detail = { vehicle_id: vehicleId, channel_id: channelId, kind };
  await audit(deps, caller, 'media.delete', { type: 'media', id }, detail);
  return media;
}

const protectedError = (id: number): AppError =>
  new AppError('state_conflict', `File ${id} is protected. Unprotect it first.`);

/** Returns a file of the caller's own account; throws 404 if it is not visible, and 403 if it is only shared. */
async function findOwnMedia(deps: MediaDeps, caller: Caller, id: number): Promise<Media> {
  const media = await findMedia(deps.records, id);
  if (media === null) throw mediaNotFoundError(id);
  if (media.accountId === caller.accountId) return media;
  const share = await sharedVehicle(deps, caller, media.vehicleId);
  if (share?.accountId !== media.accountId || !share.permissions.includes('history_video'))
    throw mediaNotFoundError(id);
  throw new AppError('permission_denied', `File ${id} belongs to a vehicle that is only shared with the caller.`);
}

export const mediaNotFoundError = (id: number): AppError => new AppError('not_found', `There is no file ${id}.`);
