import { type ClipPath, formatPath, resolveClipPath } from '../domain/clip-path.ts';
import type { ActiveUpload, WriteMode } from '../uploads/active-upload.ts';
import type { FileWriter } from '../uploads/file-writer.ts';
import { FtpError } from './ftp-error.ts';

/** The file properties that ftp-srv needs for SIZE and RNFR. */
interface FileStat {
  readonly name: string;
  readonly size: number;
  isDirectory(): boolean;
}

/**
 * Represents the file system of a camera: its upload's directory as `/`. The camera can write into it. It can read only
 * names and sizes that it already knows.
 */
export class ClipFileSystem {
  readonly #upload: ActiveUpload;
  readonly #onTransfer: (writer: FileWriter) => void;
  #directory: ClipPath = [];

  /** `onTransfer` may refuse a transfer by throwing. */
  constructor(upload: ActiveUpload, onTransfer: (writer: FileWriter) => void) {
    this.#upload = upload;
    this.#onTransfer = onTransfer;
  }

  currentDirectory(): string {
    return formatPath(this.#directory);
  }

  async get(path: string | null): Promise<FileStat> {
    const entry = await this.#upload.findEntry(this.#resolve(path));
    if (entry === null || entry === 'directory') {
      // RNFR may name a directory. The size of a directory is meaningless.
      if (entry === 'directory') return { name: path ?? '.', size: 0, isDirectory: () => true };
      throw new FtpError(550, 'No such file or directory');
    }
    return { name: path ?? '', size: entry, isDirectory: () => false };
  }

  async chdir(path: string | null): Promise<string> {
    const target = this.#resolve(path ?? '.');
    if ((await this.#upload.findEntry(target)) !== 'directory') throw new FtpError(550, 'No such directory');
    this.#directory = target;
    return formatPath(target);
  }

  /** Creates a directory. Succeeds if it exists, because cameras create theirs before each file. */
  async mkdir(path: string | null): Promise<string> {
    const target = this.#resolve(path);
    const entry = await this.#upload.findEntry(target);
    if (typeof entry === 'number') throw new FtpError(550, 'A file of this name exists');
    if (entry === null) await this.#upload.createDirectory(target);
    return formatPath(target);
  }

  async rename(from: string | null, to: string | null): Promise<void> {
    await this.#upload.rename(this.#resolve(from), this.#resolve(to));
  }

  async write(
    path: string | null,
    { append = false, start }: { append?: boolean; start?: number } = {},
  ): Promise<{ stream: FileWriter; clientPath: string }> {
    const target = this.#resolve(path);
    const mode: WriteMode = append
      ? { kind: 'append' }
      : start === undefined
        ? { kind: 'restart' }
        : { kind: 'from', offset: start };
    const stream = await this.#upload.write(target, mode);
    try {
      this.#onTransfer(stream);
    } catch (error) {
      stream.fail(error instanceof Error ? error : new Error(String(error)));
      await stream.whenClosed;
      throw error;
    }
    return { stream, clientPath: formatPath(target) };
  }

  #resolve(path: string | null): ClipPath {
    if (path === null || path === '') throw new FtpError(501, 'A path is required');
    const resolved = resolveClipPath(this.#directory, path);
    if (resolved === null) throw new FtpError(553, 'Invalid path');
    return resolved;
  }
}
