import { readdir } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@fleet/service-kit';
import type { UploadedFile, UploadRecord, UploadRepository } from '@fleet/storage';
import { FtpError } from '../ftp/ftp-error.ts';
import type { ClipDirectory } from '../store/clip-directory.ts';
import { ActiveUpload, type OpenFile, type UploadLimits } from './active-upload.ts';
import { ProgressWriter } from './progress-writer.ts';

interface ActiveUploadsDeps {
  readonly records: UploadRepository;
  readonly clips: ClipDirectory;
  readonly limits: UploadLimits;
  readonly log: Logger;
  readonly openFile?: OpenFile;
  readonly onSaved: (record: UploadRecord) => void;
  readonly onBytes: (count: number) => void;
  readonly onTransferEnd: (error: Error | null) => void;
  readonly onSaveFailure: () => void;
}

/** A connection that is logged in for an upload. */
export interface UploadConnection {
  /**
   * Called when another connection has logged in for the same upload. The camera has reconnected, and this connection
   * is dead.
   */
  onReplaced(): void;
  /** Called when the upload has ended. */
  onUploadEnded(): void;
}

interface Entry {
  readonly upload: Promise<ActiveUpload>;
  connection: UploadConnection | undefined;
}

/** Holds the uploads for which cameras are logged in to this pod. */
export class ActiveUploads {
  readonly #deps: ActiveUploadsDeps;
  readonly #entries = new Map<string, Entry>();
  #isDraining = false;

  constructor(deps: ActiveUploadsDeps) {
    this.#deps = deps;
  }

  /** Returns whether a camera may be writing. */
  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Returns the number of running transfers. */
  async transferCount(): Promise<number> {
    const uploads = await this.#listLoaded();
    return uploads.reduce((sum, { transferCount }) => sum + transferCount, 0);
  }

  /**
   * Opens an upload for a connection. Only the newest connection may write. Data buffered on an older one would be
   * written after the offset at which the camera resumes.
   */
  async connect(record: UploadRecord, connection: UploadConnection): Promise<ActiveUpload> {
    if (this.#isDraining) throw new FtpError(421, 'The server is stopping, try again');
    const entry = this.#entries.get(record._id) ?? this.#add(record);
    const previous = entry.connection;
    entry.connection = connection;
    previous?.onReplaced();
    const upload = await entry.upload;
    await upload.abortTransfers(new FtpError(426, 'The camera has reconnected'));
    if (entry.connection !== connection) throw new FtpError(421, 'The camera has reconnected');
    return upload;
  }

  /** Handles a closed connection. An upload without a connection is evicted once everything is saved. */
  disconnect(id: string, connection: UploadConnection): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.connection !== connection) return;
    entry.connection = undefined;
    void this.#evictWhenIdle(id, entry);
  }

  /** Ends an upload that is final or deleted: nothing more is written, and its connections close. */
  async end(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const upload = await entry.upload.catch(() => undefined);
    await upload?.end();
    entry.connection?.onUploadEnded();
    upload?.progress.stop();
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }

  /**
   * Refuses new transfers, lets running ones end within the grace period, aborts the rest and saves as much as
   * possible.
   */
  async drain(graceMs: number, pollIntervalMs = 100): Promise<void> {
    this.#isDraining = true;
    const deadlineMs = performance.now() + graceMs;
    while (performance.now() < deadlineMs && (await this.transferCount()) > 0) await delay(pollIntervalMs);
    for (const upload of await this.#listLoaded()) {
      await upload.abortTransfers(new FtpError(421, 'The server is stopping'));
      if (upload.progress.hasUnsavedChanges) await upload.progress.save();
      upload.progress.stop();
    }
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  #add(record: UploadRecord): Entry {
    const entry: Entry = { upload: this.#load(record), connection: undefined };
    this.#entries.set(record._id, entry);
    entry.upload.catch(() => {
      if (this.#entries.get(record._id) === entry) this.#entries.delete(record._id);
    });
    return entry;
  }

  async #load(record: UploadRecord): Promise<ActiveUpload> {
    const { clips, limits, records, log } = this.#deps;
    const ref = { imei: record.clip.imei, id: record._id };
    const root = await clips.createFilesDir(ref);
    const files = await readFilesOnDisk(clips, record);
    const names = await readdir(root, { recursive: true, withFileTypes: true });
    const dirs = names
      .filter((name) => name.isDirectory())
      .map((name) => relative(root, `${name.parentPath}${sep}${name.name}`).split(sep).join('/'));
    const progress = new ProgressWriter(record, {
      records,
      log,
      onSaved: this.#deps.onSaved,
      onEnded: () => void this.end(record._id),
      onFailure: this.#deps.onSaveFailure,
    });
    const { openFile, onBytes, onTransferEnd } = this.#deps;
    return new ActiveUpload(record, files, dirs, {
      clips,
      limits,
      progress,
      onBytes,
      onTransferEnd,
      ...(openFile === undefined ? {} : { openFile }),
    });
  }

  async #evictWhenIdle(id: string, entry: Entry): Promise<void> {
    const upload = await entry.upload.catch(() => undefined);
    const isBusy = (): boolean =>
      upload !== undefined && (upload.transferCount > 0 || upload.progress.hasUnsavedChanges);
    while (entry.connection === undefined && isBusy()) {
      if (this.#isDraining || upload?.isEnded === true) return;
      await delay(500, undefined, { ref: false });
    }
    if (entry.connection !== undefined || this.#entries.get(id) !== entry) return;
    this.#entries.delete(id);
    upload?.progress.stop();
  }

  async #listLoaded(): Promise<ActiveUpload[]> {
    const loaded = await Promise.allSettled([...this.#entries.values()].map(({ upload }) => upload));
    return loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }
}

/**
 * Returns a record's files with their sizes on disk. A file that was being received when its process ended is marked as
 * broken.
 */
export async function readFilesOnDisk(clips: ClipDirectory, record: UploadRecord): Promise<UploadedFile[]> {
  const ref = { imei: record.clip.imei, id: record._id };
  const sized = await Promise.all(
    record.files.map(async (file) => ({ ...file, onDisk: await clips.sizeOf(ref, file.path) })),
  );
  return sized.flatMap(({ onDisk, ...file }): UploadedFile[] => {
    if (onDisk === null) return [];
    const isAsRecorded = file.state === 'whole' && onDisk === file.bytes;
    return [{ ...file, bytes: onDisk, state: isAsRecorded ? 'whole' : 'broken' }];
  });
}
