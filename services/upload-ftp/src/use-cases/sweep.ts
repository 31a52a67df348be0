import { every, type Logger } from '@fleet/service-kit';
import type { UploadRecord, UploadRecords } from '@fleet/storage';
import { silentMsAfter } from '../domain/settlement.ts';
import { fileFields } from '../domain/uploaded-files.ts';
import { filesOnDisk, type OpenUploads } from '../receiving/open-uploads.ts';
import type { ClipDirectory } from '../store/clip-directory.ts';
import type { SweepLock } from '../store/sweep-lock.ts';
import type { Settler } from './settler.ts';

export interface SweepParts {
  readonly records: Pick<UploadRecords, 'listIn' | 'conclude' | 'remove' | 'returnCamera' | 'returnIdleCameras'>;
  readonly settler: Pick<Settler, 'settleByTime'>;
  readonly lock: Pick<SweepLock, 'take' | 'noteLook'>;
  readonly isConnected: (imei: string) => Promise<boolean>;
  readonly sweepMs: number;
  /** For how long a camera is asked for its list. */
  readonly replyTimeoutMs: number;
  /** A file that has got no byte for this long is not being received: its pod would have ended it. */
  readonly staleTransferMs: number;
  readonly log: Logger;
  /** True once the service stops: what has not been looked at is looked at elsewhere. */
  readonly isStopping: () => boolean;
}

/** More than there are cameras that upload at one time; the others are looked at next time. */
const maxRecords = 5_000;
const atOnce = 16;

/** One look at all uploads that have not ended, by one replica; answers whether it was this one. */
export async function sweep(parts: SweepParts): Promise<boolean> {
  const { lock, sweepMs, log } = parts;
  if (!(await lock.take())) return false;
  // Cameras that are asked and do not answer make a look longer than the lock is kept.
  const stopKeeping = every(
    sweepMs,
    () => lock.take(),
    (error) => log.warn({ err: error }, 'the lock of the sweep could not be kept'),
  );
  try {
    await lookAtAll(parts);
  } finally {
    await stopKeeping();
  }
  return true;
}

async function lookAtAll(parts: SweepParts): Promise<void> {
  const { records, lock } = parts;
  await eachOf(parts, await records.listIn(['reserved'], maxRecords), (record) => endReservation(parts, record));
  const uploads = await records.listIn(['uploading', 'paused'], maxRecords);
  // Silence counts from the start of one look to the start of the next for all alike, however long each has waited for its turn.
  const nowMs = Date.now();
  const lastLookMs = await lock.noteLook(nowMs, untilNextLookMs(parts, uploads.length));
  await eachOf(parts, uploads, (record) => lookAt(parts, record, { nowMs, lastLookMs: lastLookMs ?? nowMs }));
  await records.returnIdleCameras();
}

/** The most that lies between the start of a look and that of the next: this one may ask each camera, and none may answer. */
const untilNextLookMs = ({ sweepMs, replyTimeoutMs }: SweepParts, uploads: number): number =>
  sweepMs * 4 + replyTimeoutMs * Math.ceil(uploads / atOnce);

async function eachOf(
  { log, lock, isStopping }: SweepParts,
  records: readonly UploadRecord[],
  work: (record: UploadRecord) => Promise<void>,
): Promise<void> {
  const rest = [...records];
  const worker = async (): Promise<void> => {
    for (let record = rest.shift(); record !== undefined; record = rest.shift()) {
      // A camera that is asked may take its time.
      if (isStopping() || !(await lock.take())) return;
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

/** When a look began, and the one before it. */
interface Look {
  readonly nowMs: number;
  readonly lastLookMs: number;
}

async function lookAt(parts: SweepParts, record: UploadRecord, look: Look): Promise<void> {
  const { records, settler, staleTransferMs } = parts;
  const hereMs = Date.now();
  const isStale = ({ startedAtMs }: { startedAtMs: number }): boolean =>
    hereMs - Math.max(record.lastByteAtMs ?? 0, startedAtMs, record.changedAtMs) > staleTransferMs;
  const files = record.files.map((file) =>
    file.state === 'receiving' && isStale(file) ? { ...file, state: 'broken' as const } : file,
  );
  const isConnected = await parts.isConnected(record.clip.imei);
  const silentMs = silentMsAfter(record, isConnected, look.lastLookMs, look.nowMs);
  const isChanged = silentMs !== record.silentMs || files.some((file, index) => file !== record.files[index]);
  // Lost to bytes that came meanwhile: the next look sees them.
  const seen = isChanged ? await records.conclude(record, { silentMs, ...fileFields(files) }) : record;
  if (seen !== null) await settler.settleByTime(seen);
}

/** At the start of a pod: what it was receiving when it ended was cut off there, and the disk knows how far. */
export async function mendOwnFiles(
  parts: {
    readonly records: UploadRecords;
    readonly settler: Settler;
    readonly clips: ClipDirectory;
    readonly uploads: OpenUploads;
    readonly isStopping: () => boolean;
  },
  podId: string,
): Promise<void> {
  const { records, settler, clips, uploads, isStopping } = parts;
  for (const record of await records.listOn(podId, ['reserved', 'uploading', 'paused'])) {
    if (isStopping()) return;
    // Its camera is back already: what it does now is the truth.
    if (uploads.has(record._id)) continue;
    const files = await filesOnDisk(clips, record);
    const isSame = JSON.stringify(files) === JSON.stringify(record.files);
    const mended = isSame ? record : await records.conclude(record, fileFields(files));
    if (mended !== null) await settler.settle(mended);
  }
}
