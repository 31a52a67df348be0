import type { Deps } from '../deps.ts';
import { isVisible, noSuchUpload, type VisibleUpload } from '../domain/upload.ts';

/** An upload by its id; 404 where there is none, or none yet. */
export async function findUpload(deps: Pick<Deps, 'uploads'>, uploadId: string): Promise<VisibleUpload> {
  const record = await deps.uploads.find(uploadId);
  if (record === null || !isVisible(record)) throw noSuchUpload();
  return record;
}

/** Every upload that was requested for a device, or for one channel of it. */
export async function listUploads(
  deps: Pick<Deps, 'uploads'>,
  wanted: { readonly imei: string; readonly channel?: number | undefined },
): Promise<VisibleUpload[]> {
  return (await deps.uploads.listByDevice(wanted.imei, wanted.channel)).filter(isVisible);
}
