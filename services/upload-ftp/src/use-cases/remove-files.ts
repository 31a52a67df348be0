import type { UploadRecords } from '@fleet/storage';
import type { OpenUploads } from '../receiving/open-uploads.ts';
import type { UploadPlace } from '../store/clip-directory.ts';

export interface RemoveParts {
  readonly records: UploadRecords;
  readonly uploads: OpenUploads;
  /** Removes everything that is stored of an upload, all or nothing. */
  readonly remove: (place: UploadPlace) => Promise<void>;
}

/** Removes everything that an upload has here, all or nothing; throws when it can not. */
export async function removeFiles({ records, uploads, remove }: RemoveParts, uploadId: string): Promise<void> {
  const record = await records.find(uploadId);
  await uploads.end(uploadId);
  // Without a record there is no way to its directory: the search for orphans finds that.
  if (record !== null) await remove({ imei: record.clip.imei, id: uploadId });
}

/** An upload has ended somewhere: its camera has nothing to do here any more, and nothing is kept of a cancelled one. */
export async function closeRevoked(
  parts: RemoveParts & { readonly onCompleted?: (place: UploadPlace) => Promise<void> },
  uploadId: string,
): Promise<void> {
  await parts.uploads.end(uploadId);
  const record = await parts.records.find(uploadId);
  if (record === null) return;
  const place = { imei: record.clip.imei, id: uploadId };
  if (record.status === 'cancelled') await parts.remove(place);
  if (record.status === 'completed') await parts.onCompleted?.(place);
}
