import type { Logger } from '@fleet/service-kit';
import type { UploadRecord, UploadRecords } from '@fleet/storage';
import { silentMsAfter } from '../domain/settlement.ts';
import { fileFields } from '../domain/uploaded-files.ts';
import { filesOnDisk, type OpenUploads } from '../receiving/open-uploads.ts';
import type { ClipDirectory } from '../store/clip-directory.ts';
import type { SweepLock } from '../store/sweep-lock.ts';
import type { Settler } from './settler.ts';

export interface SweepParts {
  readonly records: UploadRecords;
  readonly settler: Settler;
  readonly lock: SweepLock;
  readonly isConnected: (imei: string) => Promise<boolean>;
  readonly sweepMs: number;
  /** For how long a camera is asked for its list, and a look may last. */
  readonly replyTimeoutMs: number;
  /** A file that has got no byte for this long is not being received: its pod would have ended it. */
  readonly staleTransferMs: number;
  readonly log: Logger;
}

/** More than there are cameras that upload at one time; the others are looked at next time. */
const maxRecords = 5_000;
const atOnce = 16;

/** One look at all uploads that have not ended, by one replica; answers whether it was this one. */
export async function sweep(parts: SweepParts): Promise<boolean> {
  const { records, lock, sweepMs, replyTimeoutMs } = parts;
  if (!(await lock.take())) return false;
  const nowMs = Date.now();
  // One camera that does not answer must not stop the clock of silence, for itself and for all others.
  const lastLookMs = await lock.noteLook(nowMs, sweepMs * 4 + replyTimeoutMs);
  await eachOf(parts, await records.listIn(['reserved'], maxRecords), (record) => endReservation(parts, record));
  await eachOf(parts, await records.listIn(['uploading', 'paused'], maxRecords), (record) =>
    lookAt(parts, record, lastLookMs ?? nowMs),
  );
  await records.returnIdleCameras();
  return true;
}

async function eachOf(
  { log, lock }: SweepParts,
  records: readonly UploadRecord[],
  work: (record: UploadRecord) => Promise<void>,
): Promise<void> {
  const rest = [...records];
  const worker = async (): Promise<void> => {
    for (let record = rest.shift(); record !== undefined; record = rest.shift()) {
      // A camera that is asked may take its time.
      if (!(await lock.take())) return;
      await work(record).catch((error: unknown) => log.warn({ err: error }, 'an upload could not be swept'));
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, rest.length) }, worker));
}

/** A reservation that nobody waits for any more; its bytes would have made it an upload. */
async function endReservation({ records }: SweepParts, record: UploadRecord): Promise<void> {
  if (record.reservedUntilMs > Date.now()) return;
  if (await records.remove(record._id, ['reserved'])) await records.returnCamera(record.clip.imei, record._id);
}

async function lookAt(parts: SweepParts, record: UploadRecord, lastLookMs: number): Promise<void> {
  const { records, settler, staleTransferMs } = parts;
  const nowMs = Date.now();
  const isStale = ({ startedAtMs }: { startedAtMs: number }): boolean =>
    nowMs - Math.max(record.lastByteAtMs ?? 0, startedAtMs, record.changedAtMs) > staleTransferMs;
  const files = record.files.map((file) =>
    file.state === 'receiving' && isStale(file) ? { ...file, state: 'broken' as const } : file,
  );
  const silentMs = silentMsAfter(record, await parts.isConnected(record.clip.imei), lastLookMs, nowMs);
  const isChanged = silentMs !== record.silentMs || files.some((file, index) => file !== record.files[index]);
  // Lost to bytes that came meanwhile: the next look sees them.
  const seen = isChanged ? await records.conclude(record, { silentMs, ...fileFields(files) }) : record;
  if (seen !== null) await settler.settleByTime(seen);
}

/** At the start of a pod: what it was receiving when it ended was cut off there, and the disk knows how far. */
export async function mendOwnFiles(
  parts: Pick<SweepParts, 'records' | 'settler'> & { readonly clips: ClipDirectory; readonly uploads: OpenUploads },
  podId: string,
): Promise<void> {
  const { records, settler, clips, uploads } = parts;
  for (const record of await records.listOn(podId, ['reserved', 'uploading', 'paused'])) {
    // Its camera is back already: what it does now is the truth.
    if (uploads.has(record._id)) continue;
    const files = await filesOnDisk(clips, record);
    const isSame = JSON.stringify(files) === JSON.stringify(record.files);
    const mended = isSame ? record : await records.conclude(record, fileFields(files));
    if (mended !== null) await settler.settle(mended);
  }
}
