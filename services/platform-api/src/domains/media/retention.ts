import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import { deleteInBatches } from '../../store/throttled-writes.ts';
import type { Account } from '../accounts/schema.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { removeMedia, removeUnprotected } from './removal.ts';
import type { StorageParts } from './storage.ts';
import { clipsAfter, receivedBefore, removalsToForget, removeRemovals } from './store.ts';

const dayMs = 86_400_000;
const atOnce = 200;
/** Longer than the stream MEDIA keeps what may be told once more. */
const keepDoneMs = 8 * dayMs;
/** A pod that is away for so long has taken its files along. */
const giveUpMs = 60 * dayMs;

/** Removes files that are older than their accounts keep them, but not what is protected; answers the account to go on with, or null where all is done. */
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

/** Removes clips whose uploads are gone, as crashes have left them; answers the id to go on with, or null where all is done. */
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

/** Forgets removals that were done long enough ago, and what could not be removed for too long; answers where to go on, or null where all is done. */
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
