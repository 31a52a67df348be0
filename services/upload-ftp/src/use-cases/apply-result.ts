import { RetryLater } from '@fleet/bus';
import { isExternalUpload, type UploadRecord, type UploadRepository } from '@fleet/storage';
import { findCompleteFiles } from '../domain/uploaded-files.ts';
import type { UploadFinalizer } from './upload-finalizer.ts';

/** The result of an upload that a camera reports in 0x1206. */
export interface UploadResult {
  readonly imei: string;
  /** Serial of the 0x9206 that requested the upload. */
  readonly commandSerialNo: number;
  readonly code: number;
  /** Time at which the gateway received it. */
  readonly receivedAtMs: number;
}

export interface ApplyResultDeps {
  readonly records: UploadRepository;
  readonly finalizer: UploadFinalizer;
}

type ResultOutcome = 'applied' | 'ignored' | 'unmatched';

/** A record without a serial will get one within this time, unless the process that sent the command has died. */
const serialDelayMs = 5_000;
const retryMs = 300;
/** Tolerance for the clocks of two machines. */
const clockSkewMs = 5_000;

/**
 * Applies a 0x1206 to the record of its upload and finalizes it. Throws RetryLater while its upload may not be known
 * yet.
 */
export async function applyResult(deps: ApplyResultDeps, result: UploadResult): Promise<ResultOutcome> {
  const record = await findUpload(deps.records, result);
  if (record === null) return 'unmatched';
  // Redelivered after the process that saved it died. The effects that follow may be missing.
  if (record.result?.atMs === result.receivedAtMs && isFinal(record)) {
    await deps.finalizer.close(record);
    return 'applied';
  }
  if (!isRelevant(record, result)) return 'ignored';
  const { code, receivedAtMs } = result;
  const updated = await deps.records.set(record._id, [record.status], { result: { code, atMs: receivedAtMs } });
  if (updated === null) throw new RetryLater(retryMs);
  await deps.finalizer.finalize(updated);
  return 'applied';
}

const isFinal = ({ status }: UploadRecord): boolean => status === 'completed' || status === 'failed';

/**
 * Returns whether a result applies. Bytes received after it belong to a later attempt. A paused camera that reports a
 * failure has only stopped.
 */
function isRelevant(record: UploadRecord, { code, receivedAtMs }: UploadResult): boolean {
  if (record.lastByteAtMs !== null && receivedAtMs + clockSkewMs < record.lastByteAtMs) return false;
  if (record.status === 'paused')
    return code === 0 && (isExternalUpload(record) || findCompleteFiles(record.files) !== null);
  return record.status === 'uploading';
}

async function findUpload(records: UploadRepository, result: UploadResult): Promise<UploadRecord | null> {
  const { imei, commandSerialNo, receivedAtMs } = result;
  const ageMs = Date.now() - receivedAtMs;
  // Read before the list: otherwise a reservation that is accepted between the two reads would be in neither.
  const reservation = await records.findReservation(imei);
  // Serials repeat. A result received before an upload was requested (it may be redelivered) belongs to an earlier
  // upload.
  const uploads = (await records.listByDevice(imei)).filter(
    ({ createdAtMs }) => createdAtMs <= receivedAtMs + clockSkewMs,
  );
  const isActive = ({ status }: UploadRecord): boolean => status === 'uploading' || status === 'paused';
  const exactMatch = uploads.find((record) => isActive(record) && record.commandSerialNo === commandSerialNo);
  const isReserved = reservation !== null && reservation.createdAtMs <= receivedAtMs + clockSkewMs;
  // A new session repeats serials: the result may belong to the reservation instead of a paused upload.
  if (exactMatch?.status === 'paused' && isReserved) throw new RetryLater(retryMs);
  if (exactMatch !== undefined) return exactMatch;
  const withoutSerial = uploads.filter((record) => record.status === 'uploading' && record.commandSerialNo === null);
  const [only] = withoutSerial;
  if (only !== undefined && withoutSerial.length === 1) {
    if (only.reservedUntilMs > Date.now() && ageMs < serialDelayMs) throw new RetryLater(retryMs);
    return only;
  }
  if (isReserved) throw new RetryLater(retryMs);
  return uploads.find((record) => record.commandSerialNo === commandSerialNo) ?? null;
}
