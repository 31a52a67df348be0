import { AppError, type Page, type Pagination } from '@fleet/service-kit';
import { type ListedUpload, UploadList, type UploadScope } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { mayViewVideo } from '../media/access.ts';
import { findByKey, findByKeys } from '../media/queries.ts';
import { clipKey } from '../media/record.ts';
import { vehicleCollection } from '../vehicles/queries.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { findVisibility, type Visibility } from '../vehicles/visibility.ts';
import type { Download } from './responses.ts';
import type { ListDownloadsQuery } from './schema.ts';

type DownloadDeps = Pick<Deps, 'database' | 'records'>;

/** Returns a page of the uploads of all vehicles whose recordings the caller may see, in any status. */
export async function listDownloads(
  deps: DownloadDeps,
  caller: Caller,
  query: ListDownloadsQuery,
  paging: Pagination,
): Promise<Page<Download>> {
  const visibility = await findVisibility(deps, caller);
  const condition = {
    status: query.status,
    vehicleId: query.vehicle_id,
    fromMs: parseTimestamp(query.from, 'from')?.getTime(),
    toMs: parseTimestamp(query.to, 'to')?.getTime(),
  };
  const scopes = uploadScopes(caller, visibility);
  const { direction } = toSorting(query.sort);
  const { items, total } = await new UploadList(deps.database).listPage(scopes, condition, { ...paging, direction });
  return { items: await joinDownloads(deps, visibility, items), total };
}

/**
 * Returns the uploads that a caller may see: those of the account, and those of shared vehicles. Throws 403 if there can
 * be none.
 */
function uploadScopes(caller: Caller, { shares }: Visibility): UploadScope[] {
  const { accountId } = caller;
  const seesOwn = mayViewVideo(caller);
  const sharedIds = [...shares.values()]
    .filter((share) => !(seesOwn && share.accountId === accountId) && share.permissions.includes('history_video'))
    .map(({ vehicleId }) => vehicleId);
  const scopes: UploadScope[] = seesOwn ? [{ accountId }] : [];
  if (sharedIds.length > 0) scopes.push({ vehicleIds: sharedIds });
  if (scopes.length > 0) return scopes;
  throw new AppError('permission_denied', 'The permission history_video is missing on every visible vehicle.');
}

/** Joins an upload with its file. */
export const joinDownload = async (
  { records }: Pick<DownloadDeps, 'records'>,
  vehicle: Vehicle,
  upload: ListedUpload,
): Promise<Download> => ({
  upload,
  vehicle,
  media: upload.status === 'completed' ? await findByKey(records, clipKey(upload._id)) : null,
});

/** Joins uploads with their vehicles and files. An upload whose vehicle was removed concurrently is left out. */
async function joinDownloads(
  { records }: DownloadDeps,
  { scope }: Pick<Visibility, 'scope'>,
  uploads: readonly ListedUpload[],
): Promise<Download[]> {
  const vehicleIds = [...new Set(uploads.flatMap(({ vehicleId }) => vehicleId ?? []))];
  const found = await vehicleCollection(records).findMany(scope, vehicleIds);
  const vehicles = new Map(found.map((vehicle) => [vehicle._id, vehicle]));
  const completed = uploads.filter(({ status }) => status === 'completed');
  const files = await findByKeys(
    records,
    completed.map(({ _id }) => clipKey(_id)),
  );
  return uploads.flatMap((upload) => {
    const vehicle = vehicles.get(upload.vehicleId ?? 0);
    return vehicle === undefined ? [] : [{ upload, vehicle, media: files.get(clipKey(upload._id)) ?? null }];
  });
}
