import { dayMs } from '@fleet/service-kit';
import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import { deleteInBatches } from '../../store/throttled-writes.ts';
import type { Account } from '../accounts/schema.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { evictMedia, removeMedia } from './removal.ts';
import type { StorageDeps } from './storage-quota.ts';
import { deleteRemovals, listClipsAfter, listReceivedBefore, oldRemovalQueries } from './store.ts';

const batchSize = 200;
/** Longer than the retention of the stream MEDIA, which may redeliver messages about a file. */
const completedRetentionMs = 8 * dayMs;
/** After this time, the files of an unavailable pod are considered lost. */
const pendingRetentionMs = 60 * dayMs;

/**
 * Removes unprotected files that are older than the retention of their accounts. Returns the account to continue with,
 * or null when done.
 */
export async function removeOldMedia(
  deps: StorageDeps,
  { from, isOver }: JobSlice = unlimited,
  nowMs = Date.now(),
): Promise<number | null> {
  const accounts = await deps.records
    .collection<Account>('accounts')
    .find({ _id: { $gte: from } }, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .toArray();
  const unavailableServers = new Set<string>();
  for (const { _id: accountId } of accounts) {
    const { media_days: days } = (await accountConfig(deps, { accountId })).retention;
    const before = new Date(nowMs - days * dayMs);
    for (;;) {
      const old = await listReceivedBefore(deps.records, { accountId }, before, batchSize);
      for (const media of old) {
        await evictMedia(deps, media, unavailableServers);
        if (isOver()) return accountId;
      }
      if (old.length < batchSize) break;
    }
    if (isOver()) return accountId + 1;
  }
  return null;
}

/** Removes clips whose uploads do not exist, as left by crashes. Returns the id to continue with, or null when done. */
export async function removeLostClips(
  deps: StorageDeps,
  { from, isOver }: JobSlice = unlimited,
): Promise<number | null> {
  const uploads = new UploadRepository(deps.database);
  const unavailableServers = new Set<string>();
  for (let after = from - 1; ; ) {
    const page = await listClipsAfter(deps.records, after, batchSize);
    if (page.length === 0) return null;
    for (const media of page) {
      if (media.clip !== null && (await uploads.find(media.clip.uploadId)) === null)
        await removeMedia(deps, media, { unavailableServers });
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
  { database }: Pick<StorageDeps, 'database'>,
  { from, isOver }: JobSlice = unlimited,
  nowMs = Date.now(),
): Promise<number | null> {
  const before = { completed: new Date(nowMs - completedRetentionMs), recorded: new Date(nowMs - pendingRetentionMs) };
  for (const find of oldRemovalQueries(database, before, batchSize))
    if (!(await deleteInBatches(find, (some) => deleteRemovals(database, some), isOver))) return from;
  return null;
}
