import { isExternalUpload, type UploadedFile, type UploadRecord } from '@fleet/storage';
import { findCompleteFiles } from './uploaded-files.ts';

/** Timeouts of uploads in milliseconds. */
export interface UploadTimeouts {
  /** Time without data while the device is connected. */
  readonly silenceTimeoutMs: number;
  /** Time since the request without any data. */
  readonly firstByteTimeoutMs: number;
  /** Time in the status `paused`. */
  readonly pausedTimeoutMs: number;
  /** Time since a clean close without 0x1206, or since 0x1206 without whole files. */
  readonly confirmationTimeoutMs: number;
}

/** Reason why an upload failed; also a metric label. */
export type FailureReason =
  | 'device reported failure'
  | 'reported success without whole files'
  | 'never confirmed'
  | 'silence'
  | 'no byte in time'
  | 'paused too long'
  | 'credential lost';

/**
 * The decision that follows from an upload's record. `prove` requires that the recording list confirms the number of
 * bytes.
 */
export type UploadDecision =
  | { readonly kind: 'wait' }
  | { readonly kind: 'completed'; readonly files: readonly UploadedFile[] }
  | { readonly kind: 'failed'; readonly reason: FailureReason }
  | { readonly kind: 'prove'; readonly files: readonly UploadedFile[] };

const wait: UploadDecision = { kind: 'wait' };
const failed = (reason: FailureReason): UploadDecision => ({ kind: 'failed', reason });

/**
 * Decides on an upload by the rules of docs/reference/video.md. With `checkTimeouts` false, only reports of the camera
 * count.
 */
export function evaluateUpload(
  record: UploadRecord,
  timeouts: UploadTimeouts,
  nowMs: number,
  checkTimeouts = true,
): UploadDecision {
  if (record.status !== 'uploading' && record.status !== 'paused') return wait;
  const isExternal = isExternalUpload(record);
  const completeFiles = findCompleteFiles(record.files);
  if (isExternal && record.result?.code === 0) return { kind: 'completed', files: [] };
  if (record.result?.code === 0 && completeFiles !== null) return { kind: 'completed', files: completeFiles };
  if (record.result !== null && record.result.code !== 0 && record.status === 'uploading')
    return failed('device reported failure');
  if (!checkTimeouts) return wait;
  return isExternal
    ? evaluateExternalTimeouts(record, timeouts, nowMs)
    : evaluateTimeouts(record, completeFiles, timeouts, nowMs);
}

// Only the camera knows the state of a transfer to another server, so silence does not count.
function evaluateExternalTimeouts(record: UploadRecord, timeouts: UploadTimeouts, nowMs: number): UploadDecision {
  if (record.status === 'paused')
    return nowMs - record.changedAtMs >= timeouts.pausedTimeoutMs ? failed('paused too long') : wait;
  return nowMs - record.createdAtMs >= timeouts.firstByteTimeoutMs ? failed('never confirmed') : wait;
}

function evaluateTimeouts(
  record: UploadRecord,
  completeFiles: UploadedFile[] | null,
  timeouts: UploadTimeouts,
  nowMs: number,
): UploadDecision {
  if (record.status === 'paused')
    return nowMs - record.changedAtMs >= timeouts.pausedTimeoutMs ? failed('paused too long') : wait;
  if (record.credential === null || record.credential.expiresAtMs <= nowMs) return failed('credential lost');
  if (record.lastByteAtMs === null && nowMs - record.createdAtMs >= timeouts.firstByteTimeoutMs)
    return failed('no byte in time');
  if (record.result !== null && nowMs - getLastEventMs(record, record.result.atMs) >= timeouts.confirmationTimeoutMs)
    return record.files.some(({ state }) => state === 'receiving')
      ? wait
      : failed('reported success without whole files');
  if (
    record.result === null &&
    completeFiles !== null &&
    nowMs - getLastEventMs(record) >= timeouts.confirmationTimeoutMs
  )
    return record.hasQuit ? { kind: 'completed', files: completeFiles } : { kind: 'prove', files: completeFiles };
  return isSilent(record, timeouts) ? failed('silence') : wait;
}

const getLastEventMs = (record: UploadRecord, otherMs = 0): number =>
  Math.max(record.lastByteAtMs ?? record.createdAtMs, record.changedAtMs, otherMs);

/**
 * Returns whether an upload is silent: since its first byte, or since the request if the camera may use the mobile
 * network.
 */
export const isSilent = (record: UploadRecord, { silenceTimeoutMs }: UploadTimeouts): boolean =>
  (record.lastByteAtMs !== null || record.mobileNetwork) && record.silentMs >= silenceTimeoutMs;

/**
 * Returns the record's new `silentMs` after a check of the device. Only time in which the device was connected counts,
 * and no time in a pause.
 */
export function accumulateSilentMs(
  record: UploadRecord,
  isConnected: boolean,
  lastCheckMs: number,
  nowMs: number,
): number {
  if (record.status !== 'uploading') return 0;
  if (!isConnected) return record.silentMs;
  const sinceMs = Math.max(lastCheckMs, record.lastByteAtMs ?? 0, record.changedAtMs);
  return record.silentMs + Math.max(0, nowMs - sinceMs);
}
