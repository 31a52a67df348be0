import { type ClipPath, resolveClipPath, shownPath } from '../domain/clip-path.ts';
import type { FileWriter } from '../receiving/file-writer.ts';
import type { OpenUpload, WriteMode } from '../receiving/open-upload.ts';
import { FtpError } from './ftp-error.ts';

/** What ftp-srv asks of a file that SIZE and RNFR name. */
interface FileStat {
  readonly name: string;
  readonly size: number;
  isDirectory(): boolean;
}

/** What a camera sees: its upload's own directory as `/`, into which it can write, and of which it can read nothing but names and sizes it knows. */
export class ClipFileSystem {
  readonly #upload: OpenUpload;
  readonly #onTransfer: (writer: FileWriter) => void;
  #directory: ClipPath = [];

  /** `onTransfer` may refuse a transfer by throwing. */
  constructor(upload: OpenUpload, onTransfer: (writer: FileWriter) => void) {
    this.#upload = upload;
    this.#onTransfer = onTransfer;
  }

  currentDirectory(): string {
    return shownPath(this.#directory);
  }

  async get(path: string | null): Promise<FileStat> {
    const found = await this.#upload.look(this.#resolve(path));
    if (found === null || found === 'directory') {
      // RNFR may name a directory; SIZE of one says nothing.
      if (found === 'directory') return { name: path ?? '.', size: 0, isDirectory: () => true };
      throw new FtpError(550, 'No such file or directory');
    }
    return { name: path ?? '', size: found, isDirectory: () => false };
  }

  async chdir(path: string | null): Promise<string> {
    const target = this.#resolve(path ?? '.');
    if ((await this.#upload.look(target)) !== 'directory') throw new FtpError(550, 'No such directory');
    this.#directory = target;
    return shownPath(target);
  }

  /** Making a directory that is there succeeds: cameras make theirs before each file. */
  async mkdir(path: string | null): Promise<string> {
    const target = this.#resolve(path);
    const found = await this.#upload.look(target);
    if (typeof found === 'number') throw new FtpError(550, 'There is a file of this name');
    if (found === null) await this.#upload.makeDirectory(target);
    return shownPath(target);
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
    return { stream, clientPath: shownPath(target) };
  }

  #resolve(path: string | null): ClipPath {
    if (path === null || path === '') throw new FtpError(501, 'A path is missing');
    const resolved = resolveClipPath(this.#directory, path);
    if (resolved === null) throw new FtpError(553, 'Not a possible path');
    return resolved;
  }
}
