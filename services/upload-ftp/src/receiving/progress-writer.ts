import type { Logger } from '@fleet/service-kit';
import type { UploadedFile, UploadRecord, UploadRecords } from '@fleet/storage';
import { fileFields, sizeOf } from '../domain/uploaded-files.ts';
import { FtpError } from '../ftp/ftp-error.ts';

export interface ProgressParts {
  readonly records: UploadRecords;
  readonly log: Logger;
  /** The record as it is after a write. */
  readonly onSaved: (record: UploadRecord) => void;
  /** The record is in a final status, or gone: the upload has no use for bytes any more. */
  readonly onOver: () => void;
  readonly onFailure: () => void;
  readonly everyMs?: number;
  /** A transfer that begins waits this long for the database. */
  readonly beginLimitMs?: number;
  /** The answer to a transfer waits this long for the database: the file is whole, and the record follows. */
  readonly endLimitMs?: number;
}

const active = ['reserved', 'uploading', 'paused'] as const;

/**
 * Brings what arrives into the upload's record: the first bytes and every change of a file at once, other bytes at most once a second. While the database is
 * away it tries again every second, and the transfer goes on.
 */
export class ProgressWriter {
  readonly #id: string;
  readonly #parts: Required<ProgressParts>;
  #files: () => readonly UploadedFile[] = () => [];
  #isReserved: boolean;
  #lastByteAtMs: number | null;
  #hasQuit: boolean;
  #hasNewBytes = false;
  #isBeginning = false;
  #revision = 0;
  #saved = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastWriteAtMs = Number.NEGATIVE_INFINITY;
  #isOver = false;
  #isStopped = false;

  constructor(record: UploadRecord, parts: ProgressParts) {
    this.#id = record._id;
    this.#isReserved = record.status === 'reserved';
    this.#lastByteAtMs = record.lastByteAtMs;
    this.#hasQuit = record.hasQuit;
    this.#parts = { everyMs: 1_000, beginLimitMs: 20_000, endLimitMs: 5_000, ...parts };
  }

  begin(files: () => readonly UploadedFile[]): void {
    this.#files = files;
  }

  /** True while something is not in the record yet. */
  get isBehind(): boolean {
    return !this.#isOver && this.#saved < this.#revision;
  }

  noteBytes(): void {
    this.#lastByteAtMs = Date.now();
    this.#hasNewBytes = true;
    this.#revision += 1;
    this.#schedule();
  }

  /** Saves the files as they are, and resolves when that is done or the database takes too long. */
  async save(): Promise<void> {
    this.#revision += 1;
    await this.#within(this.#parts.endLimitMs, this.#revision);
  }

  /** Saves that a file is being received; throws when the database takes too long, or the upload has ended: then not a byte may change. */
  async saveBeginning(): Promise<void> {
    const hadQuit = this.#hasQuit;
    this.#isBeginning = true;
    this.#hasQuit = false;
    this.#revision += 1;
    const isSaved = await this.#within(this.#parts.beginLimitMs, this.#revision);
    if (this.#isOver) throw new FtpError(550, 'The upload has ended');
    if (isSaved) return;
    this.#isBeginning = false;
    this.#hasQuit = hadQuit;
    throw new FtpError(451, 'Not possible now, try again');
  }

  async saveQuit(): Promise<void> {
    this.#hasQuit = true;
    await this.save();
  }

  /** Tries no more; answers whether everything is saved. */
  stop(): boolean {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    return !this.isBehind;
  }

  /** Waits for a revision to be saved; false when that takes too long. */
  async #within(limitMs: number, revision: number): Promise<boolean> {
    const untilMs = performance.now() + limitMs;
    while (!this.#isOver && this.#saved < revision) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0 || this.#isStopped) break;
      if (await isLate(leftMs, this.#write())) break;
      if (this.#saved < revision) await pause(Math.min(this.#retryMs(), Math.max(0, untilMs - performance.now())));
    }
    if (this.#saved < revision) this.#schedule();
    return this.#saved >= revision;
  }

  #retryMs = (): number => Math.min(this.#parts.everyMs, 500);

  #schedule(): void {
    if (this.#timer !== undefined || this.#isOver || this.#isStopped) return;
    const dueInMs = this.#lastWriteAtMs + this.#parts.everyMs - performance.now();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#write().then(() => {
          if (this.isBehind) this.#schedule();
        });
      },
      Math.max(0, dueInMs),
    );
  }

  /** Writes what has not been written; joins a write under way first. Never throws. */
  async #write(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (!this.isBehind) return;
    this.#writing = this.#writeOnce().finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  async #writeOnce(): Promise<void> {
    const revision = this.#revision;
    const [hasNewBytes, isBeginning] = [this.#hasNewBytes, this.#isBeginning];
    this.#hasNewBytes = false;
    this.#isBeginning = false;
    this.#lastWriteAtMs = performance.now();
    try {
      const record = await this.#save(hasNewBytes, isBeginning);
      if (record === null) {
        this.#isOver = true;
        this.#parts.onOver();
        return;
      }
      this.#saved = revision;
      this.#isReserved = record.status === 'reserved';
      this.#parts.onSaved(record);
    } catch (error) {
      this.#hasNewBytes ||= hasNewBytes;
      this.#isBeginning ||= isBeginning;
      this.#parts.onFailure();
      this.#parts.log.warn({ err: error, uploadId: this.#id }, 'the progress of an upload could not be saved');
    }
  }

  async #save(hasNewBytes: boolean, isBeginning: boolean): Promise<UploadRecord | null> {
    const { records } = this.#parts;
    const files = this.#files();
    const fields: Partial<UploadRecord> = {
      ...fileFields(files),
      lastByteAtMs: this.#lastByteAtMs,
      hasQuit: this.#hasQuit,
      ...(hasNewBytes ? { silentMs: 0 } : {}),
      // What the camera said of an earlier attempt says nothing of this one.
      ...(isBeginning ? { result: null } : {}),
    };
    // Bytes prove that the camera has accepted, even where the process that asked it has died.
    const promoted =
      this.#isReserved && sizeOf(files) > 0
        ? await records.transition(this.#id, ['reserved'], 'uploading', fields)
        : null;
    return promoted ?? records.set(this.#id, active, fields);
  }
}

const pause = (durationMs: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });

/** True when the time was over first. */
async function isLate(limitMs: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), limitMs);
  });
  try {
    return await Promise.race([work.then(() => false), late]);
  } finally {
    clearTimeout(timer);
  }
}
