import { callUseCase, removeMediaFile } from '@fleet/bus';
import { UploadRecords } from '@fleet/storage';
import type { Deps } from '../../deps.ts';
import type { Scope } from '../../store/account-records.ts';
import { removeUpload } from '../accounts/uploads.ts';
import { unlinkMedia } from '../notifications/media.ts';
import type { Media, MediaRemoval } from './schema.ts';
import {
  countBytes,
  forgetRemovals,
  forgetRemovalsOf,
  noteDone,
  noteRemoval,
  openRemovals,
  openRemovalsOf,
  releaseKey,
  removeRecord,
  someOfAccount,
} from './store.ts';

/** What removing needs. */
export type RemovalParts = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

const removeLimitMs = 5_000;
const atOnce = 200;
const dayMs = 86_400_000;
/** Longer than the stream MEDIA keeps what may be told once more. */
const keepDoneMs = 8 * dayMs;
/** A pod that is away for so long has taken its files along. */
const giveUpMs = 60 * dayMs;

/**
 * Removes a file and its record. First that it is to go is on record, then nobody is shown it any more, then the file goes; where its pod is away that is done later.
 * The bytes that the vehicle has afterwards.
 */
export async function removeMedia(parts: RemovalParts, media: Media): Promise<number | null> {
  const { _id: recordId, mediaKey: _id, accountId, file, clip } = media;
  const removal = await noteRemoval(parts.database, { _id, recordId, accountId, file, clip });
  const bytes = await dropRecord(parts, removal);
  await trySettle(parts, removal);
  return bytes;
}

/** Removes a file that has no record, and is to have none. */
export async function removeUnwanted(
  parts: RemovalParts,
  unwanted: Pick<MediaRemoval, '_id' | 'file' | 'accountId'>,
): Promise<void> {
  await trySettle(parts, await noteRemoval(parts.database, { ...unwanted, recordId: null, clip: null }));
}

/** Tries what could not be removed yet; a pod that does not answer is not asked for each of its files. */
export async function settleRemovals(parts: RemovalParts): Promise<void> {
  const away = new Set<string>();
  for (const removal of await openRemovals(parts.database, atOnce)) {
    const { file } = removal;
    if (file !== null && away.has(file.server)) continue;
    if (!(await trySettle(parts, removal)) && file !== null) away.add(file.server);
  }
}

/** Forgets removals that were done long enough ago. */
export const forgetOldRemovals = ({ database }: RemovalParts, nowMs = Date.now()): Promise<void> =>
  forgetRemovals(database, { done: new Date(nowMs - keepDoneMs), noted: new Date(nowMs - giveUpMs) });

/** Removes all of an account that is deleted; false when some files are still there. It may run again. */
export async function removeMediaOf(parts: RemovalParts, scope: Scope): Promise<boolean> {
  for (;;) {
    const some = await someOfAccount(parts.records, scope, atOnce);
    if (some.length === 0) break;
    for (const media of some) await removeMedia(parts, media);
  }
  for (const removal of await openRemovalsOf(parts.database, scope)) await trySettle(parts, removal);
  await forgetRemovalsOf(parts.database, scope);
  return (await openRemovalsOf(parts.database, scope)).length === 0;
}

async function trySettle(parts: RemovalParts, removal: MediaRemoval): Promise<boolean> {
  try {
    await settle(parts, removal);
    return true;
  } catch (error) {
    parts.log.info({ err: error, file: removal._id }, 'a file could not be removed yet');
    return false;
  }
}

/** Does the whole of a removal, any part of which may have been done before. */
async function settle(parts: RemovalParts, removal: MediaRemoval): Promise<void> {
  const { database, records } = parts;
  await dropRecord(parts, removal);
  if (removal.recordId !== null) await releaseKey(records, removal._id, removal.recordId);
  if (removal.file !== null) await removeFile(parts, removal.file);
  if (removal.clip !== null) await removeClip(parts, removal.clip.uploadId);
  await noteDone(database, removal);
}

/** The record goes once: whoever takes it counts its bytes. */
async function dropRecord(
  { database, records }: RemovalParts,
  { recordId, accountId }: MediaRemoval,
): Promise<number | null> {
  if (recordId === null || accountId === null) return null;
  const removed = await removeRecord(records, { accountId }, recordId);
  if (removed === null) return null;
  if (removed.notificationId !== null) await unlinkMedia(records, removed.notificationId, recordId);
  return (await countBytes(database, removed, -removed.sizeBytes)).bytes;
}

async function removeFile({ bus }: RemovalParts, { imei, fileId, server }: NonNullable<Media['file']>): Promise<void> {
  await callUseCase(bus, removeMediaFile(server), { imei, fileId }, { timeoutMs: removeLimitMs });
}

/** The clip is that of an upload, which goes with it. */
async function removeClip({ bus, database }: RemovalParts, uploadId: string): Promise<void> {
  const uploads = new UploadRecords(database);
  const upload = await uploads.find(uploadId);
  if (upload !== null) await removeUpload({ bus }, uploads, upload);
}
