import { callUseCase, removeMediaFile } from '@fleet/bus';
import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { removeUpload } from '../accounts/uploads.ts';
import { unlinkMedia } from '../notifications/media.ts';
import type { FilePlace, Media, MediaRemoval } from './schema.ts';
import {
  countBytes,
  deleteUsage,
  findMedia,
  forgetRemovalsOf,
  noteDone,
  noteRemoval,
  openRemovals,
  openRemovalsOf,
  releaseKey,
  removeRecord,
  someOfAccount,
  unprotectAll,
  withdrawRemoval,
} from './store.ts';

/** Dependencies of a removal. */
export type RemovalParts = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

const removeLimitMs = 5_000;
const atOnce = 200;

/**
 * Removes a file and its record. First the removal is recorded, then the record is deleted, so that no user can see the
 * file, then the file itself. If the pod of the file is unavailable, the file is removed later. Returns the bytes that
 * the vehicle uses afterwards, or null if the record was not removed here.
 */
export async function removeMedia(
  parts: RemovalParts,
  media: Media,
  { sparesProtected = false, away }: { sparesProtected?: boolean; away?: Set<string> } = {},
): Promise<number | null> {
  const { _id: recordId, mediaKey: _id, accountId, file, clip } = media;
  const fields = { _id, recordId, accountId, file, clip, sparesProtected, storedBeforeMs: null };
  const removal = await noteRemoval(parts.database, fields);
  const { bytes, isSpared } = await dropRecord(parts, removal);
  if (!isSpared) await trySettle(parts, removal, away);
  return bytes;
}

/**
 * Removes a file that exceeds the storage limit or the retention, unless a user has protected it since it was selected.
 */
export async function removeUnprotected(parts: RemovalParts, media: Media, away: Set<string>): Promise<number | null> {
  const current = await findMedia(parts.records, media._id);
  return current === null || current.protected ? null : removeMedia(parts, current, { sparesProtected: true, away });
}

/** Removes a file that has no record and must not get one. */
export async function removeUnwanted(
  parts: RemovalParts,
  unwanted: Pick<MediaRemoval, '_id' | 'file' | 'accountId' | 'storedBeforeMs'>,
): Promise<void> {
  const fields = { storedBeforeMs: null, ...unwanted, recordId: null, clip: null, sparesProtected: false };
  await trySettle(parts, await noteRemoval(parts.database, fields));
}

/** Removes a file that was received again although it was removed, or is to be removed. */
export async function removeAgain(parts: RemovalParts, removal: MediaRemoval, file: FilePlace): Promise<void> {
  if (removal.doneAt !== null) return removeUnwanted(parts, { ...removal, file, storedBeforeMs: null });
  // The removal from the other server stays pending, with its record.
  if (removal.file?.server === file.server) return void (await trySettle(parts, removal));
  await removeCopy(parts, file, { key: removal._id, accountId: removal.accountId });
}

/**
 * Removes one copy of a file that another server also has or had. If both servers share a volume, a copy that was
 * stored later stays.
 */
export const removeCopy = (
  parts: RemovalParts,
  file: FilePlace,
  about: { readonly key: string; readonly accountId: number | null; readonly storedBeforeMs?: number },
): Promise<void> => {
  const { key, accountId, storedBeforeMs = null } = about;
  return removeUnwanted(parts, { _id: `${key}@${file.server}`, file, accountId, storedBeforeMs });
};

/**
 * Retries pending removals. A pod that does not respond is not called for each of its files. Returns the recording time
 * from which to continue, or null if all were tried.
 */
export async function settleRemovals(
  parts: RemovalParts,
  { from, isOver }: JobSlice = unlimited,
): Promise<number | null> {
  const [away, tried, failed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (;;) {
    const except = { servers: [...away], ids: [...failed] };
    const page = await openRemovals(parts.database, from === 1 ? 0 : from, atOnce, except);
    const untried = page.filter(({ _id }) => !tried.has(_id));
    if (untried.length === 0) return null;
    for (const removal of untried) {
      tried.add(removal._id);
      if (!(await trySettle(parts, removal, away)) && removal.file === null) failed.add(removal._id);
      // Removals recorded at the same time are tried together, unless there are too many, so that each slice makes
      // progress.
      const notedMs = removal.notedAt.getTime();
      if (isOver()) return notedMs > from ? notedMs : from + 1;
    }
  }
}

/**
 * Ends the protection of the files of a deleted vehicle, because no user can find them. They are removed at the end of
 * their retention.
 */
export async function releaseMediaOf(
  { database, records }: Pick<RemovalParts, 'database' | 'records'>,
  { accountId }: Scope,
  vehicleId: number,
): Promise<void> {
  await unprotectAll(records, { accountId }, vehicleId);
  await deleteUsage(database, vehicleId);
}

/** Removes all files of a deleted account; returns false if some files still exist. It may run again. */
export async function removeMediaOf(parts: RemovalParts, scope: Scope): Promise<boolean> {
  const away = new Set<string>();
  for (;;) {
    const some = await someOfAccount(parts.records, scope, atOnce);
    if (some.length === 0) break;
    for (const media of some) await removeMedia(parts, media, { away });
  }
  for (const removal of await openRemovalsOf(parts.database, scope)) await trySettle(parts, removal, away);
  await forgetRemovalsOf(parts.database, scope);
  return (await openRemovalsOf(parts.database, scope)).length === 0;
}

/** Completes a removal if possible; returns false otherwise. A pod that was unavailable is not called again. */
async function trySettle(parts: RemovalParts, removal: MediaRemoval, away = new Set<string>()): Promise<boolean> {
  const { file } = removal;
  if (file !== null && away.has(file.server)) return false;
  try {
    await settle(parts, removal);
    return true;
  } catch (error) {
    if (file !== null) away.add(file.server);
    parts.log.info({ err: error, file: removal._id }, 'could not remove a file yet');
    return false;
  }
}

/** Completes a removal, any part of which may have been done before. */
async function settle(parts: RemovalParts, removal: MediaRemoval): Promise<void> {
  const { database, records } = parts;
  if ((await dropRecord(parts, removal)).isSpared) return;
  if (removal.recordId !== null) await releaseKey(records, removal._id, removal.recordId);
  if (removal.file !== null) await removeFile(parts, removal.file, removal.storedBeforeMs ?? null);
  if (removal.clip !== null) await removeClip(parts, removal.clip.uploadId);
  await noteDone(database, removal);
}

/**
 * Removes the record; only the caller that removes it subtracts its bytes. A record that was protected concurrently may
 * stay, together with its file.
 */
async function dropRecord(
  { database, records }: RemovalParts,
  removal: MediaRemoval,
): Promise<{ bytes: number | null; isSpared: boolean }> {
  const { recordId, accountId, sparesProtected = false } = removal;
  const nothing = { bytes: null, isSpared: false };
  if (recordId === null || accountId === null) return nothing;
  const where = sparesProtected ? { protected: false } : {};
  const removed = await removeRecord(records, { accountId }, recordId, where);
  if (removed === null) {
    if (!sparesProtected || (await findMedia(records, recordId)) === null) return nothing;
    await withdrawRemoval(database, removal);
    return { bytes: null, isSpared: true };
  }
  if (removed.notificationId !== null) await unlinkMedia(records, removed.notificationId, recordId);
  return { bytes: (await countBytes(database, removed, -removed.sizeBytes)).bytes, isSpared: false };
}

async function removeFile(
  { bus }: RemovalParts,
  { imei, fileId, server }: FilePlace,
  storedBeforeMs: number | null,
): Promise<void> {
  const which = { imei, fileId, ...(storedBeforeMs === null ? {} : { storedBeforeMs }) };
  await callUseCase(bus, removeMediaFile(server), which, { timeoutMs: removeLimitMs });
}

/** Removes the upload of a clip together with the clip. */
async function removeClip({ bus, database }: RemovalParts, uploadId: string): Promise<void> {
  const uploads = new UploadRepository(database);
  const upload = await uploads.find(uploadId);
  if (upload !== null) await removeUpload({ bus }, uploads, upload);
}
