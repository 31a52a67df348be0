import type { UploadRecord } from '@fleet/storage';

/** A speed is outdated when no byte has arrived for this time. */
const speedTtlMs = 10_000;

/** Progress of an upload; null while unknown. */
interface UploadProgress {
  readonly percent: number | null;
  readonly bytesPerSecond: number | null;
  readonly secondsLeft: number | null;
}

/** Returns the progress of an upload. The size that a camera lists may differ from the bytes that it sends. */
export function computeProgress(
  {
    status,
    filesize,
    expectedBytes = null,
    bytesPerSecond = 0,
    lastByteAtMs,
  }: Pick<UploadRecord, 'status' | 'filesize' | 'expectedBytes' | 'bytesPerSecond' | 'lastByteAtMs'>,
  nowMs: number,
): UploadProgress {
  if (status === 'completed') return { percent: 100, bytesPerSecond: null, secondsLeft: null };
  const percent = expectedBytes === null ? null : Math.min(99, Math.floor((filesize * 100) / expectedBytes));
  const isArriving = status === 'uploading' && lastByteAtMs !== null && nowMs - lastByteAtMs <= speedTtlMs;
  if (!isArriving || bytesPerSecond === 0) return { percent, bytesPerSecond: null, secondsLeft: null };
  const bytesLeft = expectedBytes === null ? null : Math.max(0, expectedBytes - filesize);
  return { percent, bytesPerSecond, secondsLeft: bytesLeft === null ? null : Math.ceil(bytesLeft / bytesPerSecond) };
}
