import { constants } from 'node:fs';
import { mkdir, open, rename, stat, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { UploadedFile, UploadRecord } from '@fleet/storage';
import type { ClipPath } from '../domain/clip-path.ts';
import { sizeOf, sortByStartTime } from '../domain/uploaded-files.ts';
import { FtpError, toFtpError } from '../ftp/ftp-error.ts';
import { type ClipDirectory, isNotFoundError, type UploadRef } from '../store/clip-directory.ts';
import { FileWriter, type WritableFile } from './file-writer.ts';
import type { ProgressWriter } from './progress-writer.ts';

export interface UploadLimits {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** Opens a file for writing. Tests replace it to simulate a full disk. */
export type OpenFile = (path: string, isNew: boolean) => Promise<WritableFile>;

interface ActiveUploadDeps {
  readonly clips: ClipDirectory;
  readonly limits: UploadLimits;
  readonly progress: ProgressWriter;
  readonly openFile?: OpenFile;
  readonly onBytes: (count: number) => void;
  readonly onTransferEnd: (error: Error | null) => void;
}

/** How a transfer treats the existing content of a file. */
export type WriteMode = { readonly kind: 'restart' } | { readonly kind: 'append' } | { kind: 'from'; offset: number };

const isWithin = (path: string, dir: string): boolean => path === dir || path.startsWith(`${dir}/`);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Does not follow symbolic links. Cameras cannot create any, so none are legitimate. */
const openNoFollow: OpenFile = (path, isNew) =>
  open(path, constants.O_WRONLY | constants.O_NOFOLLOW | (isNew ? constants.O_CREAT | constants.O_TRUNC : 0), 0o640);

/**
 * Represents an upload whose camera is or was recently logged in to this pod: its files and the transfers into them.
 */
export class ActiveUpload {
  readonly id: string;
  readonly ref: UploadRef;
  readonly #deps: ActiveUploadDeps;
  readonly #files = new Map<string, Mutable<UploadedFile>>();
  readonly #transfers = new Map<string, FileWriter>();
  readonly #dirs: Set<string>;
  #tail: Promise<unknown> = Promise.resolve();
  #isEnded = false;

  constructor(record: UploadRecord, files: readonly UploadedFile[], dirs: readonly string[], deps: ActiveUploadDeps) {
    this.id = record._id;
    this.ref = { imei: record.clip.imei, id: record._id };
    this.#deps = deps;
    for (const file of files) this.#files.set(file.path, { ...file });
    this.#dirs = new Set(dirs);
    deps.progress.start(() => sortByStartTime([...this.#files.values()]).map((file) => ({ ...file })));
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get transferCount(): number {
    return this.#transfers.size;
  }

  get filesize(): number {
    return sizeOf([...this.#files.values()]);
  }

  get progress(): ProgressWriter {
    return this.#deps.progress;
  }

  /** Returns the size of a file, `directory` for a directory, or null if neither exists. */
  async findEntry(path: ClipPath): Promise<number | 'directory' | null> {
    this.#assertActive();
    if (path.length === 0) return 'directory';
    try {
      const found = await stat(this.#pathOnDisk(path));
      return found.isDirectory() ? 'directory' : found.size;
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw toFtpError(error);
    }
  }

  createDirectory(path: ClipPath): Promise<void> {
    return this.#runExclusive(async () => {
      this.#addDirectories(path);
      await mkdir(this.#pathOnDisk(path), { recursive: true, mode: 0o750 });
    });
  }

  /**
   * Renames a file or directory. Until it is done, the files count as being received, so that the upload is not taken
   * as complete under the old names.
   */
  rename(from: ClipPath, to: ClipPath): Promise<void> {
    return this.#runExclusive(async () => {
      const [oldPath, newPath] = [from.join('/'), to.join('/')];
      if (oldPath === '' || newPath === '' || newPath.startsWith(`${oldPath}/`))
        throw new FtpError(553, 'Not possible for this path');
      if (oldPath === newPath) return;
      for (const path of this.#transfers.keys())
        if (isWithin(path, oldPath) || isWithin(path, newPath)) throw new FtpError(450, 'The file is being received');
      if ((await this.findEntry(from)) === null) throw new FtpError(550, 'No such file or directory');
      if ((await this.findEntry(to)) === 'directory') throw new FtpError(553, 'A directory of this name exists');
      this.#addDirectories(to.slice(0, -1));
      const moved = [...this.#files.values()].filter(({ path }) => isWithin(path, oldPath));
      const states = moved.map(({ state }) => state);
      for (const file of moved) file.state = 'receiving';
      try {
        await this.#deps.progress.saveStart();
        this.#assertActive();
        await mkdir(dirname(this.#pathOnDisk(to)), { recursive: true, mode: 0o750 });
        await rename(this.#pathOnDisk(from), this.#pathOnDisk(to));
        this.#move(moved, oldPath, newPath);
      } finally {
        for (const [index, file] of moved.entries()) file.state = states[index] ?? 'broken';
      }
      await this.#deps.progress.save();
    });
  }

  /**
   * Starts a transfer. Bytes that it will overwrite are removed from the record before they are removed from the disk.
   */
  write(path: ClipPath, mode: WriteMode): Promise<FileWriter> {
    return this.#runExclusive(async () => {
      const name = path.join('/');
      const size = await this.findEntry(path);
      if (name === '' || size === 'directory') throw new FtpError(553, 'Not a file name');
      if (this.#transfers.has(name)) throw new FtpError(450, 'The file is being received');
      const position = mode.kind === 'append' ? (size ?? 0) : mode.kind === 'from' ? mode.offset : 0;
      if (position > (size ?? 0)) throw new FtpError(554, 'The offset is after the end of the file');
      const file = this.#files.get(name) ?? this.#createFile(name);
      this.#addDirectories(path.slice(0, -1));
      if (this.filesize - file.bytes + position >= this.#deps.limits.maxBytes)
        throw new FtpError(552, 'The clip is larger than allowed');
      const previous = { ...file };
      this.#files.set(name, Object.assign(file, { state: 'receiving', bytes: position }));
      try {
        await this.#deps.progress.saveStart();
        this.#assertActive();
        return await this.#open(path, file, position, size !== null && position > 0 ? 'keep' : 'new');
      } catch (error) {
        await this.#rollback(path, file, previous);
        throw toFtpError(error);
      }
    });
  }

  /** Records a QUIT. If the last transfer is whole, it indicates that the camera has sent everything. */
  async recordQuit(): Promise<void> {
    const last = sortByStartTime([...this.#files.values()]).at(-1);
    if (this.#isEnded || this.#transfers.size > 0 || last?.state !== 'whole') return;
    await this.#deps.progress.saveQuit();
  }

  /** Aborts every transfer and waits until their files are closed. */
  async abortTransfers(reason: FtpError): Promise<void> {
    const writers = [...this.#transfers.values()];
    for (const writer of writers) writer.fail(reason);
    await Promise.all(writers.map((writer) => writer.whenClosed));
  }

  /** Ends the upload: from now on nothing is written. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.abortTransfers(new FtpError(426, 'The upload has ended'));
    await this.#tail.catch(() => undefined);
  }

  #move(files: readonly Mutable<UploadedFile>[], oldPath: string, newPath: string): void {
    this.#files.delete(newPath);
    for (const file of files) {
      this.#files.delete(file.path);
      file.path = newPath + file.path.slice(oldPath.length);
      this.#files.set(file.path, file);
    }
    const moved = Array.from(this.#dirs).filter((dir) => isWithin(dir, oldPath));
    for (const dir of moved) this.#dirs.delete(dir);
    for (const dir of moved) this.#dirs.add(newPath + dir.slice(oldPath.length));
  }

  async #open(path: ClipPath, file: Mutable<UploadedFile>, position: number, content: 'keep' | 'new') {
    const onDisk = this.#pathOnDisk(path);
    await mkdir(dirname(onDisk), { recursive: true, mode: 0o750 });
    // Bytes after the resume offset will be sent again, or never belonged to the clip.
    if (content === 'keep') await truncate(onDisk, position);
    const handle = await (this.#deps.openFile ?? openNoFollow)(onDisk, content === 'new');
    const { progress, limits } = this.#deps;
    const writer = new FileWriter({
      file: handle,
      position,
      getRemainingBytes: () => limits.maxBytes - this.filesize,
      onBytes: (count) => {
        file.bytes += count;
        progress.recordBytes();
        this.#deps.onBytes(count);
      },
      onComplete: () => {
        file.state = 'whole';
        return progress.save();
      },
      onClosed: (error) => {
        this.#transfers.delete(file.path);
        if (error !== null) {
          file.state = 'broken';
          void progress.save();
        }
        this.#deps.onTransferEnd(error);
      },
    });
    this.#transfers.set(file.path, writer);
    return writer;
  }

  async #rollback(path: ClipPath, file: Mutable<UploadedFile>, previous: UploadedFile): Promise<void> {
    const size = await stat(this.#pathOnDisk(path)).then(
      (found) => found.size,
      () => null,
    );
    if (size === null) this.#files.delete(file.path);
    else if (size === previous.bytes) Object.assign(file, previous);
    else Object.assign(file, { state: 'broken', bytes: size });
    if (!this.#isEnded) await this.#deps.progress.save();
  }

  #createFile(path: string): Mutable<UploadedFile> {
    if (this.#files.size >= this.#deps.limits.maxFiles) throw new FtpError(552, 'Too many files');
    // Start times must be unique, because they define the order of arrival.
    const latest = Math.max(0, ...[...this.#files.values()].map(({ startedAtMs }) => startedAtMs));
    return { path, bytes: 0, state: 'receiving', startedAtMs: Math.max(Date.now(), latest + 1) };
  }

  #addDirectories(path: ClipPath): void {
    const fresh = path
      .map((_name, index) => path.slice(0, index + 1).join('/'))
      .filter((directory) => !this.#dirs.has(directory));
    if (this.#dirs.size + fresh.length > this.#deps.limits.maxFiles) throw new FtpError(552, 'Too many directories');
    for (const directory of fresh) this.#dirs.add(directory);
  }

  #pathOnDisk = (path: ClipPath): string => join(this.#deps.clips.filesDir(this.ref), ...path);

  #assertActive(): void {
    if (this.#isEnded) throw new FtpError(550, 'The upload has ended');
  }

  /** Runs changes one after another, so that two connections of a camera never write one file concurrently. */
  #runExclusive<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      this.#assertActive();
      try {
        return await task();
      } catch (error) {
        throw toFtpError(error);
      }
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
