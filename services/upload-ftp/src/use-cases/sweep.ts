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
  /** Maximum time to wait for a camera's recording list. */
  readonly replyTimeoutMs: number;
  /** A file without data for this time is no longer being received: its pod would have ended the transfer. */
  readonly staleTransferMs: number;
  readonly log: Logger;
  /** True once the service stops. Another replica checks the remaining uploads. */
  readonly isStopping: () => boolean;
}

/** More than the number of cameras that upload concurrently. Any further uploads are checked by a later sweep. */
const maxRecords = 5_000;
const concurrency = 16;

/** Checks all uploads that have not ended, on one replica. Returns whether this replica did it. */
export async function sweep(deps: SweepDeps): Promise<boolean> {
  const { lease, sweepIntervalMs, log } = deps;
  if (!(await lease.acquire())) return false;
  // Cameras that do not respond can make a sweep longer than the lease.
  const stopRenewing = runPeriodically(
    sweepIntervalMs,
    () => lease.acquire(),
    (error) => log.warn({ err: error }, 'could not renew the lease of the sweep'),
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
  // Silence is measured from the start of one sweep to the start of the next, for all uploads alike, however long each
  // waits in the queue.
  const nowMs = Date.now();
  const lastRunMs = await lease.recordRun(nowMs, getMaxRunIntervalMs(deps, uploads.length));
  await forEachConcurrently(deps, uploads, (record) =>
    sweepUpload(deps, record, { nowMs, lastRunMs: lastRunMs ?? nowMs }),
  );
  await records.unlockIdleCameras();
}

/**
 * Returns the maximum time from the start of this sweep to the start of the next. This sweep may query every camera,
 * and none may respond.
 */
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
      // Querying a camera may take long, so the lease is checked again for each upload.
      if (isStopping() || !(await lease.acquire())) return;
      await task(record).catch((error: unknown) => log.warn({ err: error }, 'could not sweep an upload'));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, remaining.length) }, worker));
}

/** Removes an expired reservation. Any received bytes would have turned it into an upload. */
async function endReservation({ records }: SweepDeps, record: UploadRecord): Promise<void> {
  if (record.reservedUntilMs > Date.now()) return;
  if (await records.remove(record._id, ['reserved'])) await records.unlockCamera(record.clip.imei, record._id);
}

/** Start times of a sweep and of the previous one. */
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
  // The write fails if bytes arrived concurrently. The next sweep includes them.
  const updated = isChanged ? await records.finalize(record, { silentMs, ...toFileFields(files) }) : record;
  if (updated !== null) await finalizer.finalizeOnTimeout(updated);
}

/**
 * Recovers the files that this pod was receiving when it ended. They were interrupted, and their sizes on disk are
 * correct.
 */
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
    // The camera has already reconnected, so its current transfer defines the state.
    if (uploads.has(record._id)) continue;
    const files = await readFilesOnDisk(clips, record);
    const isSame = JSON.stringify(files) === JSON.stringify(record.files);
    const recovered = isSame ? record : await records.finalize(record, toFileFields(files));
    if (recovered !== null) await finalizer.finalize(recovered);
  }
}
