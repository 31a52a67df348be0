import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import { dayMs } from '../../platform/constants.ts';
import { deleteInBatches } from '../../store/throttled-writes.ts';
import type { Account } from '../accounts/schema.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { removeMedia, removeUnprotected } from './removal.ts';
import type { StorageParts } from './storage.ts';
import { clipsAfter, receivedBefore, removalsToForget, removeRemovals } from './store.ts';

const atOnce = 200;
/** Longer than the retention of the stream MEDIA, which may redeliver messages about a file. */
const keepDoneMs = 8 * dayMs;
/** After this time, the files of an unavailable pod are considered lost. */
const giveUpMs = 60 * dayMs;

/**
 * Removes unprotected files that are older than the retention of their accounts. Returns the account to continue with,
 * or null when done.
 */
export async function removeOldMedia(
  parts: StorageParts,
  { from, isOver }: JobSlice = unlimited,
  nowMs = Date.now(),
): Promise<number | null> {
  const accounts = await parts.records
    .collection<Account>('accounts')
    .find({ _id: { $gte: from } }, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .toArray();
  const away = new Set<string>();
  for (const { _id: accountId } of accounts) {
    const { media_days: days } = (await accountConfig(parts, { accountId })).retention;
    const before = new Date(nowMs - days * dayMs);
    for (;;) {
      const old = await receivedBefore(parts.records, { accountId }, before, atOnce);
      for (const media of old) {
        await removeUnprotected(parts, media, away);
        if (isOver()) return accountId;
      }
      if (old.length < atOnce) break;
    }
    if (isOver()) return accountId + 1;
  }
  return null;
}

/** Removes clips whose uploads do not exist, as left by crashes. Returns the id to continue with, or null when done. */
export async function removeLostClips(
  parts: StorageParts,
  { from, isOver }: JobSlice = unlimited,
): Promise<number | null> {
  const uploads = new UploadRepository(parts.database);
  const away = new Set<string>();
  for (let after = from - 1; ; ) {
    const page = await clipsAfter(parts.records, after, atOnce);
    if (page.length === 0) return null;
    for (const media of page) {
      if (media.clip !== null && (await uploads.find(media.clip.uploadId)) === null)
        await removeMedia(parts, media, { away });
      after = media._id;
      if (isOver()) return after + 1;
    }
  }
}

/**
 * Deletes removals that were completed long enough ago, or have failed for too long. Returns where to continue, or null
 * when done.
 */
export async function deleteOldRemovals(
  { database }: Pick<StorageParts, 'database'>,
  { from, isOver }: JobSlice = unlimited,
  nowMs = Date.now(),
): Promise<number | null> {
  const before = { done: new Date(nowMs - keepDoneMs), noted: new Date(nowMs - giveUpMs) };
  for (const find of removalsToForget(database, before, atOnce))
    if (!(await deleteInBatches(find, (some) => removeRemovals(database, some), isOver))) return from;
  return null;
}
