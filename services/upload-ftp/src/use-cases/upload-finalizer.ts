import type { Bus, JetStreamPublisher } from '@fleet/bus';
import { headers, publish, uploadChanged, uploadRevoked, uploadSubject } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { isExternalUpload, type UploadRecord, type UploadRepository } from '@fleet/storage';
import {
  evaluateUpload,
  type FailureReason,
  isSilent,
  type UploadDecision,
  type UploadTimeouts,
} from '../domain/upload-decision.ts';
import { toFileFields } from '../domain/uploaded-files.ts';
import type { UploadMetrics } from '../metrics.ts';

interface UploadFinalizerDeps {
  readonly records: UploadRepository;
  readonly bus: Bus;
  readonly publisher: JetStreamPublisher;
  readonly timeouts: UploadTimeouts;
  readonly metrics: UploadMetrics;
  readonly log: Logger;
  /** Returns the number of bytes that the camera lists for the clip; null if the camera cannot be queried now. */
  readonly queryListedBytes: (record: UploadRecord) => Promise<number | null>;
  /** Removes files that a later one has replaced. Only the pod that stores them does so. */
  readonly removeSuperseded: (record: UploadRecord, paths: readonly string[]) => Promise<void>;
}

/** An upload whose record is modified this often is evaluated again with its next change. */
const maxAttempts = 5;

/** Finalizes uploads. Only this class sets `completed` and `failed`. */
export class UploadFinalizer {
  readonly #deps: UploadFinalizerDeps;

  constructor(deps: UploadFinalizerDeps) {
    this.#deps = deps;
  }

  /**
   * Evaluates an upload by the reports and data of the camera. Returns the updated record, or null if it was deleted.
   */
  finalize(record: UploadRecord): Promise<UploadRecord | null> {
    return this.#finalize(record, false);
  }

  /** Evaluates an upload with timeouts. */
  finalizeOnTimeout(record: UploadRecord): Promise<UploadRecord | null> {
    return this.#finalize(record, true);
  }

  async #finalize(initial: UploadRecord, checkTimeouts: boolean): Promise<UploadRecord | null> {
    let record: UploadRecord | null = initial;
    for (let attempt = 0; record !== null && attempt < maxAttempts; attempt += 1) {
      const decision = await this.#verify(
        record,
        evaluateUpload(record, this.#deps.timeouts, Date.now(), checkTimeouts),
      );
      if (decision.kind === 'wait' || decision.kind === 'prove') return record;
      const completed = await this.#complete(record, decision);
      if (completed !== null) return completed;
      record = await this.#deps.records.find(record._id);
    }
    return record;
  }

  async #verify(record: UploadRecord, decision: UploadDecision): Promise<UploadDecision> {
    if (decision.kind !== 'prove') return decision;
    const listedBytes = await this.#deps.queryListedBytes(record);
    // A camera that cannot be queried has the time that the silence timeout allows.
    if (listedBytes === null)
      return isSilent(record, this.#deps.timeouts) ? { kind: 'failed', reason: 'never confirmed' } : decision;
    const isComplete = listedBytes > 0 && toFileFields(decision.files).filesize >= listedBytes;
    return isComplete ? { kind: 'completed', files: decision.files } : { kind: 'failed', reason: 'never confirmed' };
  }

  async #complete(
    record: UploadRecord,
    decision: Extract<UploadDecision, { kind: 'completed' | 'failed' }>,
  ): Promise<UploadRecord | null> {
    const { records, metrics, log } = this.#deps;
    const isCompleted = decision.kind === 'completed';
    const reason: FailureReason | '' = isCompleted ? '' : decision.reason;
    const fields = isCompleted ? toFileFields(decision.files) : { failureReason: decision.reason };
    const completed = await records.finalize(record, fields, decision.kind);
    if (completed === null) return null;
    metrics.finalized.inc({ status: decision.kind, reason });
    log.info(
      { uploadId: record._id, imei: record.clip.imei, status: decision.kind, filesize: completed.filesize, reason },
      'upload ended',
    );
    await this.close(completed);
    if (isCompleted) {
      const storedPaths = new Set(decision.files.map(({ path }) => path));
      const superseded = record.files.map(({ path }) => path).filter((path) => !storedPaths.has(path));
      if (superseded.length > 0) await this.#deps.removeSuperseded(completed, superseded);
    }
    return completed;
  }

  /**
   * Performs the actions after an upload has ended. Idempotent, because the process that finalized the upload may have
   * died in between.
   */
  async close(record: UploadRecord): Promise<void> {
    const { records, bus, log } = this.#deps;
    publish(bus, uploadRevoked, { uploadId: record._id });
    await this.#publishClosed(record);
    // A lock that remains is resolved later: its record shows that the camera is free.
    await records
      .unlockCamera(record.clip.imei, record._id)
      .catch((error: unknown) => log.warn({ err: error, uploadId: record._id }, 'could not unlock a camera'));
  }

  /** Publishes the progress of an upload to current subscribers. */
  publishProgress(record: UploadRecord): void {
    if (record.status === 'reserved') return;
    publish(this.#deps.bus, uploadChanged, toUploadChange(record), uploadSubject(record._id, 'progress'));
  }

  #publishClosed(record: UploadRecord): Promise<void> {
    const messageHeaders = headers();
    // Deduplicates repeated publishing of the same end.
    messageHeaders.set('Nats-Msg-Id', `upload-${record._id}-${record.status}`);
    const payload = Buffer.from(JSON.stringify(toUploadChange(record)));
    return new Promise((resolve) => {
      const done = (isStored: boolean): void => {
        if (!isStored) this.#deps.log.error({ uploadId: record._id }, 'could not publish the end of an upload');
        resolve();
      };
      if (!this.#deps.publisher.publish(uploadSubject(record._id, 'closed'), payload, done, messageHeaders))
        done(false);
    });
  }
}

const toUploadChange = (record: UploadRecord) => ({
  uploadId: record._id,
  imei: record.clip.imei,
  channel: record.clip.channel,
  status: record.status === 'reserved' ? ('uploading' as const) : record.status,
  filesize: record.filesize,
  filename: record.filename,
  atMs: record.changedAtMs,
  ...(isExternalUpload(record) ? { external: true } : {}),
});
