import { callUseCase, publish, removeUploadFiles, uploadRevoked } from '@fleet/bus';
import { type UploadRecord, UploadRepository, uploadStatuses } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';

const batchSize = 100;
const removeTimeoutMs = 10_000;

/**
 * Removes the clips of an account. Deletes the files first, so that no file is left without a record. Returns false if
 * some could not be removed; the call can be repeated.
 */
export async function removeAccountUploads(
  deps: Pick<Deps, 'bus' | 'database' | 'log'>,
  accountId: number,
): Promise<boolean> {
  const records = new UploadRepository(deps.database);
  let areAllRemoved = true;
  let lastId = '';
  for (;;) {
    const uploads = await records.listByAccount(accountId, batchSize, lastId);
    for (const upload of uploads) {
      lastId = upload._id;
      try {
        await removeUpload(deps, records, upload);
      } catch (error) {
        areAllRemoved = false;
        deps.log.warn({ err: error, accountId, uploadId: lastId }, 'could not remove a clip of a deleted account');
      }
    }
    if (uploads.length < batchSize) return areAllRemoved;
  }
}

/** Removes an upload, its files first. */
export async function removeUpload(
  { bus }: Pick<Deps, 'bus'>,
  records: UploadRepository,
  { _id: uploadId, clip, server }: UploadRecord,
): Promise<void> {
  if (server !== null)
    await callUseCase(bus, removeUploadFiles(server.podId), { uploadId }, { timeoutMs: removeTimeoutMs });
  await records.remove(uploadId, ['reserved', ...uploadStatuses]);
  await records.unlockCamera(clip.imei, uploadId);
  publish(bus, uploadRevoked, { uploadId });
}
