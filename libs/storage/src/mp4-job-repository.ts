import type { Filter, UpdateFilter } from 'mongodb';
import type { Collection, Database } from './mongo.ts';
import { uploadCollection } from './upload-list.ts';
import type { Mp4Job, UploadRecord } from './upload-record.ts';

/** A claim of a job by one process. */
interface Mp4Claim {
  readonly token: string;
  readonly ttlMs: number;
}

/** Outcome of a conversion. */
export type Mp4Outcome =
  | { readonly status: 'completed'; readonly sizeBytes: number }
  | { readonly status: 'failed'; readonly error: string; readonly isRefused: boolean };

const newJob = (): Mp4Job => ({
  status: 'queued',
  percent: 0,
  requestedAtMs: Date.now(),
  sizeBytes: null,
  error: null,
  isRefused: false,
  claim: null,
});

/** More than one, because another process may claim the first one concurrently. */
const maxCandidates = 5;

/**
 * Manages the queue of conversions to MP4, stored in the records of uploads. Every change is a compare-and-set on one
 * document; the job of a process that died is claimed again when its claim has expired.
 */
export class Mp4JobRepository {
  readonly #uploads: Collection<UploadRecord>;

  constructor(database: Database) {
    this.#uploads = database.collection<UploadRecord>(uploadCollection);
  }

  async ensureIndexes(): Promise<void> {
    await this.#uploads.createIndex({ 'mp4.status': 1, 'mp4.requestedAtMs': 1 });
  }

  /** Returns the newest conversion of an upload; null if there is none. */
  async find(id: string): Promise<Mp4Job | null> {
    return (await this.#uploads.findOne({ _id: id }))?.mp4 ?? null;
  }

  /**
   * Queues a completed upload that has no conversion, or whose conversion can be retried; with `isMissing`, also one
   * whose MP4 no longer exists. Returns null otherwise.
   */
  request(id: string, { isMissing = false } = {}): Promise<UploadRecord | null> {
    const isRetryable: Filter<UploadRecord>[] = [
      { mp4: { $exists: false } },
      { 'mp4.status': isMissing ? { $in: ['canceled', 'completed'] } : 'canceled' },
      { 'mp4.status': 'failed', 'mp4.isRefused': false },
    ];
    return this.#update({ _id: id, status: 'completed', $or: isRetryable }, { mp4: newJob() });
  }

  /**
   * Cancels a queued or running conversion; its process stops at the next renewal. Returns null if there is none, or if
   * the record has another revision than the expected one.
   */
  cancel(id: string, expectedRevision?: number): Promise<UploadRecord | null> {
    const revision = expectedRevision === 0 ? { $exists: false } : expectedRevision;
    const isExpected = expectedRevision === undefined ? {} : { revision };
    const isActive = { _id: id, 'mp4.status': { $in: ['queued', 'running'] }, ...isExpected } as Filter<UploadRecord>;
    return this.#update(isActive, { 'mp4.status': 'canceled', 'mp4.claim': null });
  }

  /** Claims the oldest job whose files some pods store: queued, or left by a process that died. */
  async claimNext(podIds: readonly string[], { token, ttlMs }: Mp4Claim): Promise<UploadRecord | null> {
    const nowMs = Date.now();
    const due = {
      'server.podId': { $in: [...podIds] },
      $or: [{ 'mp4.status': 'queued' }, { 'mp4.status': 'running', 'mp4.claim.untilMs': { $lt: nowMs } }],
    } as Filter<UploadRecord>;
    const found = this.#uploads.find(due).sort({ 'mp4.requestedAtMs': 1 }).limit(maxCandidates);
    for (const { _id } of await found.toArray()) {
      const claim = { token, untilMs: nowMs + ttlMs };
      const fields = { 'mp4.status': 'running', 'mp4.percent': 0, 'mp4.claim': claim };
      const claimed = await this.#update({ ...due, _id }, fields);
      if (claimed !== null) return claimed;
    }
    return null;
  }

  /** Extends a claim and stores the progress. Returns null if the job was canceled or claimed by another process. */
  renew(id: string, { token, ttlMs }: Mp4Claim, percent: number): Promise<UploadRecord | null> {
    return this.#updateClaimed(id, token, { 'mp4.percent': percent, 'mp4.claim.untilMs': Date.now() + ttlMs });
  }

  /** Stores the outcome of a claimed job. Returns null if it was canceled or claimed by another process. */
  finish(id: string, token: string, outcome: Mp4Outcome): Promise<UploadRecord | null> {
    const { status } = outcome;
    const result =
      outcome.status === 'completed'
        ? { 'mp4.sizeBytes': outcome.sizeBytes, 'mp4.percent': 100 }
        : { 'mp4.error': outcome.error, 'mp4.isRefused': outcome.isRefused };
    return this.#updateClaimed(id, token, { 'mp4.status': status, 'mp4.claim': null, ...result });
  }

  /** Returns a claimed job to the queue, for a process that stops. */
  release(id: string, token: string): Promise<UploadRecord | null> {
    return this.#updateClaimed(id, token, { 'mp4.status': 'queued', 'mp4.percent': 0, 'mp4.claim': null });
  }

  #updateClaimed(id: string, token: string, fields: object): Promise<UploadRecord | null> {
    return this.#update({ _id: id, 'mp4.claim.token': token }, fields);
  }

  async #update(filter: Filter<UploadRecord>, fields: object): Promise<UploadRecord | null> {
    const update = { $set: fields, $inc: { revision: 1 } } as UpdateFilter<UploadRecord>;
    return this.#uploads.findOneAndUpdate(filter, update, { returnDocument: 'after' });
  }
}
