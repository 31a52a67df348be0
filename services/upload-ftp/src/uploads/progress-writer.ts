import type { Logger } from '@fleet/service-kit';
import type { UploadedFile, UploadRecord, UploadRepository } from '@fleet/storage';
import { TransferRate } from '../domain/transfer-rate.ts';
import { sizeOf, toFileFields } from '../domain/uploaded-files.ts';
import { FtpError } from '../ftp/ftp-error.ts';

interface ProgressWriterDeps {
  readonly records: UploadRepository;
  readonly log: Logger;
  /** Called with the record after each write. */
  readonly onSaved: (record: UploadRecord) => void;
  /** Called when the record is in a final status or deleted, so that the upload accepts no more bytes. */
  readonly onEnded: () => void;
  readonly onFailure: () => void;
  readonly saveIntervalMs?: number;
  /** Maximum time that the start of a transfer waits for the database. */
  readonly beginTimeoutMs?: number;
  /**
   * Maximum time that the reply to a transfer waits for the database. The file is whole, and the record is updated
   * later.
   */
  readonly endTimeoutMs?: number;
}

const activeStatuses = ['reserved', 'uploading', 'paused'] as const;

/**
 * Writes the progress of an upload to its record: the first bytes and every change of a file immediately, other bytes
 * at most once a second. While the database is unavailable, it retries every second, and the transfer continues.
 */
export class ProgressWriter {
  readonly #id: string;
  readonly #deps: Required<ProgressWriterDeps>;
  readonly #rate = new TransferRate();
  #files: () => readonly UploadedFile[] = () => [];
  #isReserved: boolean;
  #lastByteAtMs: number | null;
  #hasQuit: boolean;
  #hasNewBytes = false;
  #isStarting = false;
  #revision = 0;
  #savedRevision = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastWriteAtMs = Number.NEGATIVE_INFINITY;
  #isEnded = false;
  #isStopped = false;

  constructor(record: UploadRecord, deps: ProgressWriterDeps) {
    this.#id = record._id;
    this.#isReserved = record.status === 'reserved';
    this.#lastByteAtMs = record.lastByteAtMs;
    this.#hasQuit = record.hasQuit;
    this.#deps = { saveIntervalMs: 1_000, beginTimeoutMs: 20_000, endTimeoutMs: 5_000, ...deps };
  }

  start(files: () => readonly UploadedFile[]): void {
    this.#files = files;
  }

  /** True while changes are not saved yet. */
  get hasUnsavedChanges(): boolean {
    return !this.#isEnded && this.#savedRevision < this.#revision;
  }

  recordBytes(): void {
    this.#lastByteAtMs = Date.now();
    this.#hasNewBytes = true;
    this.#revision += 1;
    this.#schedule();
  }

  /** Saves the current files. Resolves when they are saved or the database takes too long. */
  async save(): Promise<void> {
    this.#revision += 1;
    await this.#waitForRevision(this.#deps.endTimeoutMs, this.#revision);
  }

  /**
   * Saves that a file is being received. Throws if the database takes too long or the upload has ended; then no byte
   * may change.
   */
  async saveStart(): Promise<void> {
    const hadQuit = this.#hasQuit;
    this.#isStarting = true;
    this.#hasQuit = false;
    this.#revision += 1;
    const isSaved = await this.#waitForRevision(this.#deps.beginTimeoutMs, this.#revision);
    if (this.#isEnded) throw new FtpError(550, 'The upload has ended');
    if (isSaved) return;
    this.#isStarting = false;
    this.#hasQuit = hadQuit;
    throw new FtpError(451, 'Temporarily unavailable, try again');
  }

  async saveQuit(): Promise<void> {
    this.#hasQuit = true;
    await this.save();
  }

  /** Stops retrying. Returns whether everything is saved. */
  stop(): boolean {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    return !this.hasUnsavedChanges;
  }

  /** Waits for a revision to be saved. Returns false if that takes too long. */
  async #waitForRevision(timeoutMs: number, revision: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!this.#isEnded && this.#savedRevision < revision) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0 || this.#isStopped) break;
      if (await hasTimedOut(leftMs, this.#write())) break;
      if (this.#savedRevision < revision)
        await sleep(Math.min(this.#retryMs(), Math.max(0, deadlineMs - performance.now())));
    }
    if (this.#savedRevision < revision) this.#schedule();
    return this.#savedRevision >= revision;
  }

  #retryMs = (): number => Math.min(this.#deps.saveIntervalMs, 500);

  #schedule(): void {
    if (this.#timer !== undefined || this.#isEnded || this.#isStopped) return;
    const dueInMs = this.#lastWriteAtMs + this.#deps.saveIntervalMs - performance.now();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#write().then(() => {
          if (this.hasUnsavedChanges) this.#schedule();
        });
      },
      Math.max(0, dueInMs),
    );
  }

  /** Writes unsaved changes; waits for a running write first. Never throws. */
  async #write(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (!this.hasUnsavedChanges) return;
    this.#writing = this.#writeOnce().finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  async #writeOnce(): Promise<void> {
    const revision = this.#revision;
    const [hasNewBytes, isStarting] = [this.#hasNewBytes, this.#isStarting];
    this.#hasNewBytes = false;
    this.#isStarting = false;
    this.#lastWriteAtMs = performance.now();
    try {
      const record = await this.#save(hasNewBytes, isStarting);
      if (record === null) {
        this.#isEnded = true;
        this.#deps.onEnded();
        return;
      }
      this.#savedRevision = revision;
      this.#isReserved = record.status === 'reserved';
      this.#deps.onSaved(record);
    } catch (error) {
      this.#hasNewBytes ||= hasNewBytes;
      this.#isStarting ||= isStarting;
      this.#deps.onFailure();
      this.#deps.log.warn({ err: error, uploadId: this.#id }, 'could not save the progress of an upload');
    }
  }

  async #save(hasNewBytes: boolean, isStarting: boolean): Promise<UploadRecord | null> {
    const { records } = this.#deps;
    const files = this.#files();
    this.#rate.add({ atMs: performance.now(), bytes: sizeOf(files) });
    const { bytesPerSecond } = this.#rate;
    const fields: Partial<UploadRecord> = {
      ...toFileFields(files),
      lastByteAtMs: this.#lastByteAtMs,
      hasQuit: this.#hasQuit,
      ...(hasNewBytes ? { silentMs: 0 } : {}),
      ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
      // A result of an earlier attempt does not apply to this one.
      ...(isStarting ? { result: null } : {}),
    };
    // Received bytes prove that the camera has accepted the upload, even if the process that requested it has died.
    const transitioned =
      this.#isReserved && sizeOf(files) > 0
        ? await records.transition(this.#id, ['reserved'], 'uploading', fields)
        : null;
    return transitioned ?? records.set(this.#id, activeStatuses, fields);
  }
}

const sleep = (durationMs: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });

/** Returns whether the timeout came first. */
async function hasTimedOut(timeoutMs: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), timeoutMs);
  });
  try {
    return await Promise.race([work.then(() => false), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
