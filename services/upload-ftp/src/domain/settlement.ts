import { isExternalUpload, type UploadedFile, type UploadRecord } from '@fleet/storage';
import { wholeFiles } from './uploaded-files.ts';

/** Times after which an upload is judged, in milliseconds. */
export interface Patience {
  /** Connected time without a byte. */
  readonly silenceMs: number;
  /** From the request, without a byte at all. */
  readonly patienceMs: number;
  /** As `paused`. */
  readonly pausedMs: number;
  /** From a clean close without 0x1206, or from 0x1206 without whole files. */
  readonly unconfirmedMs: number;
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
export type Verdict =
  | { readonly kind: 'wait' }
  | { readonly kind: 'completed'; readonly files: readonly UploadedFile[] }
  | { readonly kind: 'failed'; readonly reason: FailureReason }
  | { readonly kind: 'prove'; readonly files: readonly UploadedFile[] };

const wait: Verdict = { kind: 'wait' };
const failed = (reason: FailureReason): Verdict => ({ kind: 'failed', reason });

/** Judges an upload by the rules of platform-contract.md, section 4. `byTime` false: only by what the camera has said. */
export function judge(record: UploadRecord, patience: Patience, nowMs: number, byTime = true): Verdict {
  if (record.status !== 'uploading' && record.status !== 'paused') return wait;
  const isExternal = isExternalUpload(record);
  const whole = wholeFiles(record.files);
  if (isExternal && record.result?.code === 0) return { kind: 'completed', files: [] };
  if (record.result?.code === 0 && whole !== null) return { kind: 'completed', files: whole };
  if (record.result !== null && record.result.code !== 0 && record.status === 'uploading')
    return failed('device reported failure');
  if (!byTime) return wait;
  return isExternal ? judgeExternalByTime(record, patience, nowMs) : judgeByTime(record, whole, patience, nowMs);
}

/** Only the camera can say how a transfer to another server goes on: silence here means nothing. */
function judgeExternalByTime(record: UploadRecord, patience: Patience, nowMs: number): Verdict {
  if (record.status === 'paused')
    return nowMs - record.changedAtMs >= patience.pausedMs ? failed('paused too long') : wait;
  return nowMs - record.createdAtMs >= patience.patienceMs ? failed('never confirmed') : wait;
}

function judgeByTime(record: UploadRecord, whole: UploadedFile[] | null, patience: Patience, nowMs: number): Verdict {
  if (record.status === 'paused')
    return nowMs - record.changedAtMs >= patience.pausedMs ? failed('paused too long') : wait;
  if (record.credential === null || record.credential.expiresAtMs <= nowMs) return failed('credential lost');
  if (record.lastByteAtMs === null && nowMs - record.createdAtMs >= patience.patienceMs)
    return failed('no byte in time');
  if (record.result !== null && nowMs - lastEventMs(record, record.result.atMs) >= patience.unconfirmedMs)
    return record.files.some(({ state }) => state === 'receiving')
      ? wait
      : failed('reported success without whole files');
  if (record.result === null && whole !== null && nowMs - lastEventMs(record) >= patience.unconfirmedMs)
    return record.hasQuit ? { kind: 'completed', files: whole } : { kind: 'prove', files: whole };
  return isSilent(record, patience) ? failed('silence') : wait;
}

const lastEventMs = (record: UploadRecord, alsoMs = 0): number =>
  Math.max(record.lastByteAtMs ?? record.createdAtMs, record.changedAtMs, alsoMs);

/** Silence counts from the first byte, or from the request where the camera may use the mobile network. */
export const isSilent = (record: UploadRecord, { silenceMs }: Patience): boolean =>
  (record.lastByteAtMs !== null || record.mobileNetwork) && record.silentMs >= silenceMs;

/** The record's `silentMs` after a look at the device: only time in which it was connected counts, and none of a pause. */
export function silentMsAfter(record: UploadRecord, isConnected: boolean, lastLookMs: number, nowMs: number): number {
  if (record.status !== 'uploading') return 0;
  if (!isConnected) return record.silentMs;
  const sinceMs = Math.max(lastLookMs, record.lastByteAtMs ?? 0, record.changedAtMs);
  return record.silentMs + Math.max(0, nowMs - sinceMs);
}
