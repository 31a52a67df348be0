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

export interface UploadFinalizerDeps {
  readonly records: UploadRepository;
  readonly bus: Bus;
  readonly publisher: JetStreamPublisher;
  readonly timeouts: UploadTimeouts;
  readonly metrics: UploadMetrics;
  readonly log: Logger;
  /** Bytes that the camera lists for the clip; null when it cannot be asked now. */
  readonly queryListedBytes: (record: UploadRecord) => Promise<number | null>;
  /** Files that a later one has taken the place of; only the pod that has them removes them. */
  readonly removeSuperseded: (record: UploadRecord, paths: readonly string[]) => Promise<void>;
}

/** An upload whose files change all the time is looked at again with the next change. */
const maxAttempts = 5;

/** Draws the conclusions from uploads' records: `completed` and `failed` are decided here and nowhere else. */
export class UploadFinalizer {
  readonly #deps: UploadFinalizerDeps;

  constructor(deps: UploadFinalizerDeps) {
    this.#deps = deps;
  }

  /** Judges by what the camera has said and sent; the record afterwards, or null when there is none any more. */
  finalize(record: UploadRecord): Promise<UploadRecord | null> {
    return this.#finalize(record, false);
  }

  /** Judges by what time has brought, too. */
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
    // A camera that is not there to be asked has the time that silence has.
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
    const completed = await records.finalize(record, isCompleted ? toFileFields(decision.files) : {}, decision.kind);
    if (completed === null) return null;
    metrics.finalized.inc({ status: decision.kind, reason });
    log.info({ uploadId: record._id, imei: record.clip.imei, filesize: completed.filesize, reason }, decision.kind);
    await this.close(completed);
    if (isCompleted) {
      const storedPaths = new Set(decision.files.map(({ path }) => path));
      const superseded = record.files.map(({ path }) => path).filter((path) => !storedPaths.has(path));
      if (superseded.length > 0) await this.#deps.removeSuperseded(completed, superseded);
    }
    return completed;
  }

  /** What has to happen once an upload has ended; may be done again, as whoever decided it may have died in between. */
  async close(record: UploadRecord): Promise<void> {
    const { records, bus, log } = this.#deps;
    publish(bus, uploadRevoked, { uploadId: record._id });
    await this.#publishClosed(record);
    // A lock that stays gives way by itself: its record says that the camera is free.
    await records
      .unlockCamera(record.clip.imei, record._id)
      .catch((error: unknown) => log.warn({ err: error, uploadId: record._id }, 'a camera could not be returned yet'));
  }

  /** Tells how an upload goes on, to whoever listens now. */
  publishProgress(record: UploadRecord): void {
    if (record.status === 'reserved') return;
    publish(this.#deps.bus, uploadChanged, toUploadChange(record), uploadSubject(record._id, 'progress'));
  }

  #publishClosed(record: UploadRecord): Promise<void> {
    const messageHeaders = headers();
    // The same end told twice is told once.
    messageHeaders.set('Nats-Msg-Id', `upload-${record._id}-${record.status}`);
    const payload = Buffer.from(JSON.stringify(toUploadChange(record)));
    return new Promise((resolve) => {
      const done = (isStored: boolean): void => {
        if (!isStored) this.#deps.log.error({ uploadId: record._id }, 'the end of an upload could not be told');
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
