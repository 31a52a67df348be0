import { callUseCase, removeMediaFile } from '@fleet/bus';
import { UploadRepository } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { removeUpload } from '../accounts/uploads.ts';
import { unlinkMedia } from '../notifications/media.ts';
import type { FileLocation, MediaRemoval } from './schema.ts';
import {
  cancelRemoval,
  deleteUniqueKey,
  findMedia,
  incrementUsage,
  markRemovalCompleted,
  recordRemoval,
  removeRecord,
} from './store.ts';

/** Dependencies of a removal. */
export type RemovalDeps = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

/**
 * State of the removal of a file:
 *
 *     pending -> hidden -> completed
 *        \-> canceled
 *
 * `pending`: recorded. `hidden`: its record is deleted, so no user can see it. `completed`: the file is deleted.
 * `canceled`: a user protected the file in time. Only `pending` and `completed` are stored (`doneAt`): every step can be
 * repeated, so a retry starts again at `pending`.
 */
type RemovalState = 'pending' | 'hidden' | 'completed' | 'canceled';

/** Servers that did not respond; they are not called for each of their files. */
export type UnavailableServers = Set<string>;

const removeTimeoutMs = 5_000;

/**
 * Records a removal and advances it as far as possible. Throws if the record cannot be deleted. Returns the bytes that
 * the vehicle uses afterwards, or null if the record was not deleted here.
 */
export async function startRemoval(
  deps: RemovalDeps,
  fields: Parameters<typeof recordRemoval>[1],
  unavailableServers?: UnavailableServers,
): Promise<number | null> {
  const removal = await recordRemoval(deps.database, fields);
  const { state, usedBytes } = await hideRecord(deps, removal);
  if (state === 'hidden') await advance(deps, removal, state, unavailableServers);
  return usedBytes;
}

/** Advances a removal that was started before. Returns `pending` if it must be retried. */
export const retryRemoval = (
  deps: RemovalDeps,
  removal: MediaRemoval,
  unavailableServers?: UnavailableServers,
): Promise<RemovalState> => advance(deps, removal, 'pending', unavailableServers);

/** Returns the new state, or the same one if a step failed. */
async function advance(
  deps: RemovalDeps,
  removal: MediaRemoval,
  from: 'pending' | 'hidden',
  unavailableServers: UnavailableServers = new Set(),
): Promise<RemovalState> {
  const { file } = removal;
  if (file !== null && unavailableServers.has(file.server)) return from;
  try {
    const { state } = from === 'pending' ? await hideRecord(deps, removal) : { state: from };
    return state === 'hidden' ? await deleteFile(deps, removal) : state;
  } catch (error) {
    if (file !== null) unavailableServers.add(file.server);
    deps.log.info({ err: error, file: removal._id }, 'could not remove a file yet');
    return from;
  }
}

/** Deletes the record; only the caller that deletes it subtracts its bytes. */
async function hideRecord(
  { database, records }: RemovalDeps,
  removal: MediaRemoval,
): Promise<{ readonly state: 'hidden' | 'canceled'; readonly usedBytes: number | null }> {
  const { recordId, accountId, sparesProtected = false } = removal;
  if (recordId === null || accountId === null) return { state: 'hidden', usedBytes: null };
  const removed = await removeRecord(records, { accountId }, recordId, sparesProtected ? { protected: false } : {});
  if (removed !== null) {
    if (removed.notificationId !== null) await unlinkMedia(records, removed.notificationId, recordId);
    const { bytes } = await incrementUsage(database, removed, -removed.sizeBytes);
    return { state: 'hidden', usedBytes: bytes };
  }
  if (!sparesProtected || (await findMedia(records, recordId)) === null) return { state: 'hidden', usedBytes: null };
  await cancelRemoval(database, removal);
  return { state: 'canceled', usedBytes: null };
}

async function deleteFile(deps: RemovalDeps, removal: MediaRemoval): Promise<'completed'> {
  const { _id, recordId, file, clip, thumbnail = null, storedBeforeMs = null } = removal;
  if (recordId !== null) await deleteUniqueKey(deps.records, _id, recordId);
  if (file !== null) await deleteFromServer(deps, file, storedBeforeMs);
  if (thumbnail !== null) await deleteFromServer(deps, thumbnail, null);
  if (clip !== null) await deleteClip(deps, clip.uploadId);
  await markRemovalCompleted(deps.database, removal);
  return 'completed';
}

async function deleteFromServer(
  { bus }: RemovalDeps,
  { imei, fileId, server }: FileLocation,
  storedBeforeMs: number | null,
): Promise<void> {
  const request = { imei, fileId, ...(storedBeforeMs === null ? {} : { storedBeforeMs }) };
  await callUseCase(bus, removeMediaFile(server), request, { timeoutMs: removeTimeoutMs });
}

/** Deletes a clip together with its upload. */
async function deleteClip({ bus, database }: RemovalDeps, uploadId: string): Promise<void> {
  const uploads = new UploadRepository(database);
  const upload = await uploads.find(uploadId);
  if (upload !== null) await removeUpload({ bus }, uploads, upload);
}
