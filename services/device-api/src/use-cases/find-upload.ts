import type { Deps } from '../deps.ts';
import { isVisible, noSuchUpload, type VisibleUpload } from '../domain/upload.ts';

/** Returns an upload by its id; throws 404 without one, and for a reservation. */
export async function findUpload(deps: Pick<Deps, 'uploads'>, uploadId: string): Promise<VisibleUpload> {
  const record = await deps.uploads.find(uploadId);
  if (record === null || !isVisible(record)) throw noSuchUpload();
  return record;
}

/** Returns every upload of a device, or of one channel. */
export async function listUploads(
  deps: Pick<Deps, 'uploads'>,
  wanted: { readonly imei: string; readonly channel?: number | undefined },
): Promise<VisibleUpload[]> {
  return (await deps.uploads.listByDevice(wanted.imei, wanted.channel)).filter(isVisible);
}
