import type { Bus, StoredPublisher } from '@fleet/bus';
import { announce, headers, uploadChanged, uploadRevoked, uploadSubject } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { isExternalUpload, type UploadRecord, type UploadRecords } from '@fleet/storage';
import { type FailureReason, isSilent, judge, type Patience, type Verdict } from '../domain/settlement.ts';
import { fileFields } from '../domain/uploaded-files.ts';
import type { UploadMetrics } from '../metrics.ts';

export interface SettlerParts {
  readonly records: UploadRecords;
  readonly bus: Bus;
  readonly publisher: StoredPublisher;
  readonly patience: Patience;
  readonly metrics: UploadMetrics;
  readonly log: Logger;
  /** Bytes that the camera lists for the clip; null when it can not be asked now. */
  readonly listedBytes: (record: UploadRecord) => Promise<number | null>;
  /** Files that a later one has taken the place of; only the pod that has them removes them. */
  readonly removeSuperseded: (record: UploadRecord, paths: readonly string[]) => Promise<void>;
}

/** An upload whose files change all the time is looked at again with the next change. */
const maxTries = 5;

/** Draws the conclusions from uploads' records: `completed` and `failed` are decided here and nowhere else. */
export class Settler {
  readonly #parts: SettlerParts;

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  /** Judges by what the camera has said and sent; the record afterwards, or null when there is none any more. */
  settle(record: UploadRecord): Promise<UploadRecord | null> {
    return this.#settle(record, false);
  }

  /** Judges by what time has brought, too. */
  settleByTime(record: UploadRecord): Promise<UploadRecord | null> {
    return this.#settle(record, true);
  }

  async #settle(seen: UploadRecord, byTime: boolean): Promise<UploadRecord | null> {
    let record: UploadRecord | null = seen;
    for (let tries = 0; record !== null && tries < maxTries; tries += 1) {
      const verdict = await this.#proven(record, judge(record, this.#parts.patience, Date.now(), byTime));
      if (verdict.kind === 'wait' || verdict.kind === 'prove') return record;
      const concluded = await this.#conclude(record, verdict);
      if (concluded !== null) return concluded;
      record = await this.#parts.records.find(record._id);
    }
    return record;
  }

  async #proven(record: UploadRecord, verdict: Verdict): Promise<Verdict> {
    if (verdict.kind !== 'prove') return verdict;
    const listed = await this.#parts.listedBytes(record);
    // A camera that is not there to be asked has the time that silence has.
    if (listed === null)
      return isSilent(record, this.#parts.patience) ? { kind: 'failed', reason: 'never confirmed' } : verdict;
    const isThere = listed > 0 && fileFields(verdict.files).filesize >= listed;
    return isThere ? { kind: 'completed', files: verdict.files } : { kind: 'failed', reason: 'never confirmed' };
  }

  async #conclude(
    record: UploadRecord,
    verdict: Extract<Verdict, { kind: 'completed' | 'failed' }>,
  ): Promise<UploadRecord | null> {
    const { records, metrics, log } = this.#parts;
    const isCompleted = verdict.kind === 'completed';
    const reason: FailureReason | '' = isCompleted ? '' : verdict.reason;
    const concluded = await records.conclude(record, isCompleted ? fileFields(verdict.files) : {}, verdict.kind);
    if (concluded === null) return null;
    metrics.settled.inc({ status: verdict.kind, reason });
    log.info({ uploadId: record._id, imei: record.clip.imei, filesize: concluded.filesize, reason }, verdict.kind);
    await this.close(concluded);
    if (isCompleted) {
      const kept = new Set(verdict.files.map(({ path }) => path));
      const superseded = record.files.map(({ path }) => path).filter((path) => !kept.has(path));
      if (superseded.length > 0) await this.#parts.removeSuperseded(concluded, superseded);
    }
    return concluded;
  }

  /** What has to happen once an upload has ended; may be done again, as whoever decided it may have died in between. */
  async close(record: UploadRecord): Promise<void> {
    const { records, bus, log } = this.#parts;
    announce(bus, uploadRevoked, { uploadId: record._id });
    await this.#publishClosed(record);
    // A lock that stays gives way by itself: its record says that the camera is free.
    await records
      .returnCamera(record.clip.imei, record._id)
      .catch((error: unknown) => log.warn({ err: error, uploadId: record._id }, 'a camera could not be returned yet'));
  }

  /** Tells how an upload goes on, to whoever listens now. */
  announceProgress(record: UploadRecord): void {
    if (record.status === 'reserved') return;
    announce(this.#parts.bus, uploadChanged, changeOf(record), uploadSubject(record._id, 'progress'));
  }

  #publishClosed(record: UploadRecord): Promise<void> {
    const head = headers();
    // The same end told twice is told once.
    head.set('Nats-Msg-Id', `upload-${record._id}-${record.status}`);
    const payload = Buffer.from(JSON.stringify(changeOf(record)));
    return new Promise((resolve) => {
      const done = (isStored: boolean): void => {
        if (!isStored) this.#parts.log.error({ uploadId: record._id }, 'the end of an upload could not be told');
        resolve();
      };
      if (!this.#parts.publisher.publish(uploadSubject(record._id, 'closed'), payload, done, head)) done(false);
    });
  }
}

const changeOf = (record: UploadRecord) => ({
  uploadId: record._id,
  imei: record.clip.imei,
  channel: record.clip.channel,
  status: record.status === 'reserved' ? ('uploading' as const) : record.status,
  filesize: record.filesize,
  filename: record.filename,
  atMs: record.changedAtMs,
  ...(isExternalUpload(record) ? { external: true } : {}),
});
