import { type Logger, runPeriodically } from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';
import { accumulateSilentMs } from '../domain/upload-decision.ts';
import { toFileFields } from '../domain/uploaded-files.ts';
import type { ClipDirectory } from '../store/clip-directory.ts';
import type { SweepLease } from '../store/sweep-lease.ts';
import { type ActiveUploads, readFilesOnDisk } from '../uploads/active-uploads.ts';
import type { UploadFinalizer } from './upload-finalizer.ts';

export interface SweepDeps {
  readonly records: Pick<
    UploadRepository,
    'listByStatus' | 'finalize' | 'remove' | 'unlockCamera' | 'unlockIdleCameras'
  >;
  readonly finalizer: Pick<UploadFinalizer, 'finalizeOnTimeout'>;
  readonly lease: Pick<SweepLease, 'acquire' | 'recordRun'>;
  readonly isConnected: (imei: string) => Promise<boolean>;
  readonly sweepIntervalMs: number;
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
const concurrency = 16;

/** One look at all uploads that have not ended, by one replica; answers whether it was this one. */
export async function sweep(deps: SweepDeps): Promise<boolean> {
  const { lease, sweepIntervalMs, log } = deps;
  if (!(await lease.acquire())) return false;
  // Cameras that are asked and do not answer make a look longer than the lock is kept.
  const stopRenewing = runPeriodically(
    sweepIntervalMs,
    () => lease.acquire(),
    (error) => log.warn({ err: error }, 'the lock of the sweep could not be kept'),
  );
  try {
    await sweepAll(deps);
  } finally {
    await stopRenewing();
  }
  return true;
}

async function sweepAll(deps: SweepDeps): Promise<void> {
  const { records, lease } = deps;
  await forEachConcurrently(deps, await records.listByStatus(['reserved'], maxRecords), (record) =>
    endReservation(deps, record),
  );
  const uploads = await records.listByStatus(['uploading', 'paused'], maxRecords);
  // Silence counts from the start of one look to the start of the next for all alike, however long each has waited for its turn.
  const nowMs = Date.now();
  const lastRunMs = await lease.recordRun(nowMs, getMaxRunIntervalMs(deps, uploads.length));
  await forEachConcurrently(deps, uploads, (record) =>
    sweepUpload(deps, record, { nowMs, lastRunMs: lastRunMs ?? nowMs }),
  );
  await records.unlockIdleCameras();
}

/** The most that lies between the start of a look and that of the next: this one may ask each camera, and none may answer. */
const getMaxRunIntervalMs = ({ sweepIntervalMs, replyTimeoutMs }: SweepDeps, uploadCount: number): number =>
  sweepIntervalMs * 4 + replyTimeoutMs * Math.ceil(uploadCount / concurrency);

async function forEachConcurrently(
  { log, lease, isStopping }: SweepDeps,
  records: readonly UploadRecord[],
  task: (record: UploadRecord) => Promise<void>,
): Promise<void> {
  const remaining = [...records];
  const worker = async (): Promise<void> => {
    for (let record = remaining.shift(); record !== undefined; record = remaining.shift()) {
      // A camera that is asked may take its time.
      if (isStopping() || !(await lease.acquire())) return;
      await task(record).catch((error: unknown) => log.warn({ err: error }, 'an upload could not be swept'));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, remaining.length) }, worker));
}

/** A reservation that nobody waits for any more; its bytes would have made it an upload. */
async function endReservation({ records }: SweepDeps, record: UploadRecord): Promise<void> {
  if (record.reservedUntilMs > Date.now()) return;
  if (await records.remove(record._id, ['reserved'])) await records.unlockCamera(record.clip.imei, record._id);
}

/** When a look began, and the one before it. */
interface SweepRun {
  readonly nowMs: number;
  readonly lastRunMs: number;
}

async function sweepUpload(deps: SweepDeps, record: UploadRecord, run: SweepRun): Promise<void> {
  const { records, finalizer, staleTransferMs } = deps;
  const currentMs = Date.now();
  const isStale = ({ startedAtMs }: { startedAtMs: number }): boolean =>
    currentMs - Math.max(record.lastByteAtMs ?? 0, startedAtMs, record.changedAtMs) > staleTransferMs;
  const files = record.files.map((file) =>
    file.state === 'receiving' && isStale(file) ? { ...file, state: 'broken' as const } : file,
  );
  const isConnected = await deps.isConnected(record.clip.imei);
  const silentMs = accumulateSilentMs(record, isConnected, run.lastRunMs, run.nowMs);
  const isChanged = silentMs !== record.silentMs || files.some((file, index) => file !== record.files[index]);
  // Lost to bytes that came meanwhile: the next look sees them.
  const updated = isChanged ? await records.finalize(record, { silentMs, ...toFileFields(files) }) : record;
  if (updated !== null) await finalizer.finalizeOnTimeout(updated);
}

/** At the start of a pod: what it was receiving when it ended was cut off there, and the disk knows how far. */
export async function recoverInterruptedFiles(
  deps: {
    readonly records: UploadRepository;
    readonly finalizer: UploadFinalizer;
    readonly clips: ClipDirectory;
    readonly uploads: ActiveUploads;
    readonly isStopping: () => boolean;
  },
  podId: string,
): Promise<void> {
  const { records, finalizer, clips, uploads, isStopping } = deps;
  for (const record of await records.listByPod(podId, ['reserved', 'uploading', 'paused'])) {
    if (isStopping()) return;
    // Its camera is back already: what it does now is the truth.
    if (uploads.has(record._id)) continue;
    const files = await readFilesOnDisk(clips, record);
    const isSame = JSON.stringify(files) === JSON.stringify(record.files);
    const recovered = isSame ? record : await records.finalize(record, toFileFields(files));
    if (recovered !== null) await finalizer.finalize(recovered);
  }
}
