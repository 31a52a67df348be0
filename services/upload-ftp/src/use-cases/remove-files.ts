import type { UploadRepository } from '@fleet/storage';
import type { UploadRef } from '../store/clip-directory.ts';
import type { ActiveUploads } from '../uploads/active-uploads.ts';

export interface RemoveFilesDeps {
  readonly records: UploadRepository;
  readonly uploads: ActiveUploads;
  /** Removes everything that is stored of an upload, all or nothing. */
  readonly remove: (ref: UploadRef) => Promise<void>;
}

/** Removes everything that an upload has here, all or nothing; throws when it cannot. */
export async function removeFiles({ records, uploads, remove }: RemoveFilesDeps, uploadId: string): Promise<void> {
  const record = await records.find(uploadId);
  await uploads.end(uploadId);
  // Without a record there is no way to its directory: the search for orphans finds that.
  if (record !== null) await remove({ imei: record.clip.imei, id: uploadId });
}

/** An upload has ended somewhere: its camera has nothing to do here any more, and nothing is kept of a cancelled one. */
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
