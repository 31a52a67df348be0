import { callUseCase, removeMediaFile } from '@fleet/bus';
import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { removeUpload } from '../accounts/uploads.ts';
import { unlinkMedia } from '../notifications/media.ts';
import type { FileLocation, Media, MediaRemoval } from './schema.ts';
import {
  cancelRemoval,
  deleteCompletedRemovals,
  deleteUniqueKey,
  deleteUsage,
  findMedia,
  incrementUsage,
  listMediaOfAccount,
  listPendingRemovals,
  listPendingRemovalsOfAccount,
  markRemovalCompleted,
  recordRemoval,
  removeRecord,
  unprotectAll,
} from './store.ts';

/** Dependencies of a removal. */
export type RemovalDeps = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

const removeTimeoutMs = 5_000;
const batchSize = 200;

/**
 * Removes a file and its record. First the removal is recorded, then the record is deleted, so that no user can see the
 * file, then the file itself. If the pod of the file is unavailable, the file is removed later. Returns the bytes that
 * the vehicle uses afterwards, or null if the record was not removed here.
 */
export async function removeMedia(
  deps: RemovalDeps,
  media: Media,
  { sparesProtected = false, unavailableServers }: { sparesProtected?: boolean; unavailableServers?: Set<string> } = {},
): Promise<number | null> {
  const { _id: recordId, mediaKey: _id, accountId, file, clip } = media;
  const fields = { _id, recordId, accountId, file, clip, sparesProtected, storedBeforeMs: null };
  const removal = await recordRemoval(deps.database, fields);
  const { bytes, isSpared } = await deleteRecord(deps, removal);
  if (!isSpared) await tryCompleteRemoval(deps, removal, unavailableServers);
  return bytes;
}

/**
 * Removes a file that exceeds the storage limit or the retention, unless a user has protected it since it was selected.
 */
export async function evictMedia(
  deps: RemovalDeps,
  media: Media,
  unavailableServers: Set<string>,
): Promise<number | null> {
  const current = await findMedia(deps.records, media._id);
  return current === null || current.protected
    ? null
    : removeMedia(deps, current, { sparesProtected: true, unavailableServers });
}

/** Removes a file that has no record and must not get one. */
export async function deleteUnrecordedFile(
  deps: RemovalDeps,
  removal: Pick<MediaRemoval, '_id' | 'file' | 'accountId' | 'storedBeforeMs'>,
): Promise<void> {
  const fields = { storedBeforeMs: null, ...removal, recordId: null, clip: null, sparesProtected: false };
  await tryCompleteRemoval(deps, await recordRemoval(deps.database, fields));
}

/** Removes a file that was received again although it was removed, or is to be removed. */
export async function deleteResentFile(deps: RemovalDeps, removal: MediaRemoval, file: FileLocation): Promise<void> {
  if (removal.doneAt !== null) return deleteUnrecordedFile(deps, { ...removal, file, storedBeforeMs: null });
  // The removal from the other server stays pending, with its record.
  if (removal.file?.server === file.server) return void (await tryCompleteRemoval(deps, removal));
  await deleteReplica(deps, file, { key: removal._id, accountId: removal.accountId });
}

/**
 * Removes one copy of a file that another server also has or had. If both servers share a volume, a copy that was
 * stored later stays.
 */
export const deleteReplica = (
  deps: RemovalDeps,
  file: FileLocation,
  about: { readonly key: string; readonly accountId: number | null; readonly storedBeforeMs?: number },
): Promise<void> => {
  const { key, accountId, storedBeforeMs = null } = about;
  return deleteUnrecordedFile(deps, { _id: `${key}@${file.server}`, file, accountId, storedBeforeMs });
};

/**
 * Retries pending removals. A pod that does not respond is not called for each of its files. Returns the recording time
 * from which to continue, or null if all were tried.
 */
export async function retryPendingRemovals(
  deps: RemovalDeps,
  { from, isOver }: JobSlice = unlimited,
): Promise<number | null> {
  const [unavailableServers, tried, failed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (;;) {
    const except = { servers: [...unavailableServers], ids: [...failed] };
    const page = await listPendingRemovals(deps.database, from === 1 ? 0 : from, batchSize, except);
    const untried = page.filter(({ _id }) => !tried.has(_id));
    if (untried.length === 0) return null;
    for (const removal of untried) {
      tried.add(removal._id);
      if (!(await tryCompleteRemoval(deps, removal, unavailableServers)) && removal.file === null)
        failed.add(removal._id);
      // Removals recorded at the same time are tried together, unless there are too many, so that each slice makes
      // progress.
      const recordedAtMs = removal.notedAt.getTime();
      if (isOver()) return recordedAtMs > from ? recordedAtMs : from + 1;
    }
  }
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

/** Removes all files of a deleted account; returns false if some files still exist. It may run again. */
export async function removeMediaOfAccount(deps: RemovalDeps, scope: Scope): Promise<boolean> {
  const unavailableServers = new Set<string>();
  for (;;) {
    const some = await listMediaOfAccount(deps.records, scope, batchSize);
    if (some.length === 0) break;
    for (const media of some) await removeMedia(deps, media, { unavailableServers });
  }
  for (const removal of await listPendingRemovalsOfAccount(deps.database, scope))
    await tryCompleteRemoval(deps, removal, unavailableServers);
  await deleteCompletedRemovals(deps.database, scope);
  return (await listPendingRemovalsOfAccount(deps.database, scope)).length === 0;
}

/** Completes a removal if possible; returns false otherwise. A pod that was unavailable is not called again. */
async function tryCompleteRemoval(
  deps: RemovalDeps,
  removal: MediaRemoval,
  unavailableServers = new Set<string>(),
): Promise<boolean> {
  const { file } = removal;
  if (file !== null && unavailableServers.has(file.server)) return false;
  try {
    await completeRemoval(deps, removal);
    return true;
  } catch (error) {
    if (file !== null) unavailableServers.add(file.server);
    deps.log.info({ err: error, file: removal._id }, 'could not remove a file yet');
    return false;
  }
}

/** Completes a removal, any part of which may have been done before. */
async function completeRemoval(deps: RemovalDeps, removal: MediaRemoval): Promise<void> {
  const { database, records } = deps;
  if ((await deleteRecord(deps, removal)).isSpared) return;
  if (removal.recordId !== null) await deleteUniqueKey(records, removal._id, removal.recordId);
  if (removal.file !== null) await removeFile(deps, removal.file, removal.storedBeforeMs ?? null);
  if (removal.clip !== null) await removeClip(deps, removal.clip.uploadId);
  await markRemovalCompleted(database, removal);
}

/**
 * Removes the record; only the caller that removes it subtracts its bytes. A record that was protected concurrently may
 * stay, together with its file.
 */
async function deleteRecord(
  { database, records }: RemovalDeps,
  removal: MediaRemoval,
): Promise<{ bytes: number | null; isSpared: boolean }> {
  const { recordId, accountId, sparesProtected = false } = removal;
  const nothing = { bytes: null, isSpared: false };
  if (recordId === null || accountId === null) return nothing;
  const where = sparesProtected ? { protected: false } : {};
  const removed = await removeRecord(records, { accountId }, recordId, where);
  if (removed === null) {
    if (!sparesProtected || (await findMedia(records, recordId)) === null) return nothing;
    await cancelRemoval(database, removal);
    return { bytes: null, isSpared: true };
  }
  if (removed.notificationId !== null) await unlinkMedia(records, removed.notificationId, recordId);
  return { bytes: (await incrementUsage(database, removed, -removed.sizeBytes)).bytes, isSpared: false };
}

async function removeFile(
  { bus }: RemovalDeps,
  { imei, fileId, server }: FileLocation,
  storedBeforeMs: number | null,
): Promise<void> {
  const request = { imei, fileId, ...(storedBeforeMs === null ? {} : { storedBeforeMs }) };
  await callUseCase(bus, removeMediaFile(server), request, { timeoutMs: removeTimeoutMs });
}

/** Removes the upload of a clip together with the clip. */
async function removeClip({ bus, database }: RemovalDeps, uploadId: string): Promise<void> {
  const uploads = new UploadRepository(database);
  const upload = await uploads.find(uploadId);
  if (upload !== null) await removeUpload({ bus }, uploads, upload);
}
