import { isExternalUpload, type UploadedFile, type UploadRecord } from '@fleet/storage';
import { findCompleteFiles } from './uploaded-files.ts';

/** Times after which an upload is judged, in milliseconds. */
export interface UploadTimeouts {
  /** Connected time without a byte. */
  readonly silenceTimeoutMs: number;
  /** From the request, without a byte at all. */
  readonly firstByteTimeoutMs: number;
  /** As `paused`. */
  readonly pausedTimeoutMs: number;
  /** From a clean close without 0x1206, or from 0x1206 without whole files. */
  readonly confirmationTimeoutMs: number;
}

/** Why an upload failed; a label of a metric. */
export type FailureReason =
  | 'device reported failure'
  | 'reported success without whole files'
  | 'never confirmed'
  | 'silence'
  | 'no byte in time'
  | 'paused too long'
  | 'credential lost';

/** What follows from an upload's record now. `prove`: the recording list has to show that the bytes are all there. */
export type UploadDecision =
  | { readonly kind: 'wait' }
  | { readonly kind: 'completed'; readonly files: readonly UploadedFile[] }
  | { readonly kind: 'failed'; readonly reason: FailureReason }
  | { readonly kind: 'prove'; readonly files: readonly UploadedFile[] };

const wait: UploadDecision = { kind: 'wait' };
const failed = (reason: FailureReason): UploadDecision => ({ kind: 'failed', reason });

/** Judges an upload by the rules of docs/reference/video.md. `byTime` false: only by what the camera has said. */
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

/** Only the camera can say how a transfer to another server goes on: silence here means nothing. */
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

/** Silence counts from the first byte, or from the request where the camera may use the mobile network. */
export const isSilent = (record: UploadRecord, { silenceTimeoutMs }: UploadTimeouts): boolean =>
  (record.lastByteAtMs !== null || record.mobileNetwork) && record.silentMs >= silenceTimeoutMs;

/** The record's `silentMs` after a look at the device: only time in which it was connected counts, and none of a pause. */
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
