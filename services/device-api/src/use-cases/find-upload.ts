import type { Deps } from '../deps.ts';
import { isVisible, uploadNotFoundError, type VisibleUpload } from '../domain/upload.ts';

/** Returns an upload by its id; throws 404 without one, and for a reservation. */
export async function findUpload(deps: Pick<Deps, 'uploads'>, uploadId: string): Promise<VisibleUpload> {
  const record = await deps.uploads.find(uploadId);
  if (record === null || !isVisible(record)) throw uploadNotFoundError();
  return record;
}

/** Returns every upload of a device, or of one channel. */
export async function listUploads(
  deps: Pick<Deps, 'uploads'>,
  filter: { readonly imei: string; readonly channel?: number | undefined },
): Promise<VisibleUpload[]> {
  return (await deps.uploads.listByDevice(filter.imei, filter.channel)).filter(isVisible);
}
