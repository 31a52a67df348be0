import { callUseCase, publish, removeUploadFiles, uploadRevoked } from '@fleet/bus';
import { type UploadRecord, UploadRepository, uploadStatuses } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';

const batchSize = 100;
const removeTimeoutMs = 10_000;

/** Removes the clips of an account: the files first, so that none is ever left without a record. False when some could not be removed; it may run again. */
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
        deps.log.warn({ err: error, accountId, uploadId: lastId }, 'a clip of a deleted account could not be removed');
      }
    }
    if (uploads.length < batchSize) return areAllRemoved;
  }
}

/** Removes an upload: its files first. */
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
