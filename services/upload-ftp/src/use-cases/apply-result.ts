import { RetryLater } from '@fleet/bus';
import { isExternalUpload, type UploadRecord, type UploadRecords } from '@fleet/storage';
import { wholeFiles } from '../domain/uploaded-files.ts';
import type { Settler } from './settler.ts';

/** What a camera says of an upload's end in 0x1206. */
export interface UploadResult {
  readonly imei: string;
  /** Serial of the 0x9206 in question. */
  readonly commandSerialNo: number;
  readonly code: number;
  /** When the gateway received it. */
  readonly receivedAtMs: number;
}

export interface ResultParts {
  readonly records: UploadRecords;
  readonly settler: Settler;
}

export type ResultOutcome = 'applied' | 'ignored' | 'unmatched';

/** A record that does not know its serial yet will, unless the process that asked the camera has died. */
const serialDelayMs = 5_000;
const retryMs = 300;
/** Clocks of two machines. */
const clockSkewMs = 5_000;

/** Brings a 0x1206 into the record of its upload and draws the conclusion. Throws RetryLater while its upload may not be known yet. */
export async function applyResult(parts: ResultParts, result: UploadResult): Promise<ResultOutcome> {
  const record = await findUpload(parts.records, result);
  if (record === null) return 'unmatched';
  // Told again, after the process that wrote it died: what follows from it may not have been done.
  if (record.result?.atMs === result.receivedAtMs && isFinal(record)) {
    await parts.settler.close(record);
    return 'applied';
  }
  if (!counts(record, result)) return 'ignored';
  const { code, receivedAtMs } = result;
  const told = await parts.records.set(record._id, [record.status], { result: { code, atMs: receivedAtMs } });
  if (told === null) throw new RetryLater(retryMs);
  await parts.settler.settle(told);
  return 'applied';
}

const isFinal = ({ status }: UploadRecord): boolean => status === 'completed' || status === 'failed';

/** Bytes that came after it belong to a later attempt. A paused camera that reports a failure has only stopped. */
function counts(record: UploadRecord, { code, receivedAtMs }: UploadResult): boolean {
  if (record.lastByteAtMs !== null && receivedAtMs + clockSkewMs < record.lastByteAtMs) return false;
  if (record.status === 'paused') return code === 0 && (isExternalUpload(record) || wholeFiles(record.files) !== null);
  return record.status === 'uploading';
}

async function findUpload(records: UploadRecords, result: UploadResult): Promise<UploadRecord | null> {
  const { imei, commandSerialNo, receivedAtMs } = result;
  const ageMs = Date.now() - receivedAtMs;
  // Before the list: a reservation that is accepted between the two reads would be in neither.
  const reservation = await records.findReservation(imei);
  // Serials repeat: what was said before an upload was asked for (it may be read once more) is about an earlier one.
  const uploads = (await records.listOf(imei)).filter(({ createdAtMs }) => createdAtMs <= receivedAtMs + clockSkewMs);
  const isActive = ({ status }: UploadRecord): boolean => status === 'uploading' || status === 'paused';
  const named = uploads.find((record) => isActive(record) && record.commandSerialNo === commandSerialNo);
  if (named !== undefined) return named;
  const unnamed = uploads.filter((record) => record.status === 'uploading' && record.commandSerialNo === null);
  const [only] = unnamed;
  if (only !== undefined && unnamed.length === 1) {
    if (only.reservedUntilMs > Date.now() && ageMs < serialDelayMs) throw new RetryLater(retryMs);
    return only;
  }
  if (reservation !== null && reservation.createdAtMs <= receivedAtMs + clockSkewMs) throw new RetryLater(retryMs);
  return uploads.find((record) => record.commandSerialNo === commandSerialNo) ?? null;
}
