import { UploadRecords } from '@fleet/storage';
import type { Account } from '../accounts/schema.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { forgetOldRemovals, removeMedia, removeUnprotected } from './removal.ts';
import { recountAll, type StorageParts } from './storage.ts';
import { clipsAfter, receivedBefore } from './store.ts';

const dayMs = 86_400_000;
const atOnce = 200;

/** Removes files that are older than their accounts keep them, but not what is protected; the number of removed ones. */
export async function removeOldMedia(parts: StorageParts, nowMs = Date.now()): Promise<number> {
  const accounts = parts.records.collection<Account>('accounts').find({}, { projection: { _id: 1 } });
  const away = new Set<string>();
  let removed = 0;
  for (const { _id: accountId } of await accounts.toArray()) {
    const { media_days: days } = (await accountConfig(parts, { accountId })).retention;
    const before = new Date(nowMs - days * dayMs);
    for (;;) {
      const old = await receivedBefore(parts.records, { accountId }, before, atOnce);
      for (const media of old) if ((await removeUnprotected(parts, media, away)) !== null) removed += 1;
      if (old.length < atOnce) break;
    }
  }
  return removed;
}

/** Mends what crashes have left: bytes that were not counted, clips whose uploads are gone; and forgets what was removed long ago. */
export async function mendMedia(parts: StorageParts): Promise<void> {
  await removeLostClips(parts);
  await recountAll(parts);
  await forgetOldRemovals(parts);
}

async function removeLostClips(parts: StorageParts): Promise<void> {
  const uploads = new UploadRecords(parts.database);
  for (let after = 0; ; ) {
    const page = await clipsAfter(parts.records, after, atOnce);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last._id;
    for (const media of page)
      if (media.clip !== null && (await uploads.find(media.clip.uploadId)) === null) await removeMedia(parts, media);
  }
}
