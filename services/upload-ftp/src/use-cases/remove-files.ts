import type { UploadRepository } from '@fleet/storage';
import type { UploadRef } from '../store/clip-directory.ts';
import type { ActiveUploads } from '../uploads/active-uploads.ts';

export interface RemoveFilesDeps {
  readonly records: UploadRepository;
  readonly uploads: ActiveUploads;
  /** Removes all stored files of an upload, all or nothing. */
  readonly remove: (ref: UploadRef) => Promise<void>;
}

/** Removes all files that an upload has here, all or nothing. Throws if that fails. */
export async function removeFiles({ records, uploads, remove }: RemoveFilesDeps, uploadId: string): Promise<void> {
  const record = await records.find(uploadId);
  await uploads.end(uploadId);
  // Without a record, the path of its directory is unknown. The search for orphans finds it later.
  if (record !== null) await remove({ imei: record.clip.imei, id: uploadId });
}

/** Closes an upload that has ended elsewhere: disconnects its camera, and removes the files of a cancelled upload. */
export async function closeRevoked(
  deps: RemoveFilesDeps & { readonly onCompleted?: (ref: UploadRef) => Promise<void> },
  uploadId: string,
): Promise<void> {
  await deps.uploads.end(uploadId);
  const record = await deps.records.find(uploadId);
  if (record === null) return;
  const ref = { imei: record.clip.imei, id: uploadId };
  if (record.status === 'cancelled') await deps.remove(ref);
  if (record.status === 'completed') await deps.onCompleted?.(ref);
}
