import { type FileHandle, open, rm } from 'node:fs/promises';

/**
 * Represents a file of a terminal that is being received. It does not count as stored until `MediaFiles.store` has
 * accepted it.
 */
export class IncomingFile {
  /** Canonical number of its terminal. */
  readonly imei: string;
  /** Path at which the bytes can be read until the file is stored or discarded. */
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #onEnd: () => void;
  #bytesWritten = 0;
  #sizeBytes = 0;
  #ended: Promise<void> | undefined;

  private constructor(imei: string, path: string, handle: FileHandle, onEnd: () => void) {
    this.imei = imei;
    this.path = path;
    this.#handle = handle;
    this.#onEnd = onEnd;
  }

  /** Creates the file. `path` must not exist yet; `onEnd` is called once nothing exists at it any more. */
  static async create(imei: string, path: string, onEnd: () => void): Promise<IncomingFile> {
    return new IncomingFile(imei, path, await open(path, 'wx', 0o640), onEnd);
  }

  /** Number of bytes written; bytes written twice count twice. */
  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  /** Offset after the last written byte. Gaps before it read as zeros. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Writes bytes at an offset, in any order. */
  async write(data: Uint8Array, offset: number): Promise<void> {
    for (let writtenBytes = 0; writtenBytes < data.length; ) {
      const { bytesWritten } = await this.#handle.write(
        data,
        writtenBytes,
        data.length - writtenBytes,
        offset + writtenBytes,
      );
      writtenBytes += bytesWritten;
      this.#bytesWritten += bytesWritten;
      this.#sizeBytes = Math.max(this.#sizeBytes, offset + writtenBytes);
    }
  }

  /** Reads the size of a file that a program has written at the path. */
  async measure(): Promise<void> {
    this.#sizeBytes = (await this.#handle.stat()).size;
  }

  /** Flushes all bytes to the disk and closes the file. */
  async finish(): Promise<void> {
    if (this.#ended === undefined) await this.#handle.sync();
    await this.#end();
  }

  /** Removes the file, unless it has already been stored. */
  async discard(): Promise<void> {
    try {
      await this.#end();
    } finally {
      await rm(this.path, { force: true }).finally(this.#onEnd);
    }
  }

  #end(): Promise<void> {
    this.#ended ??= this.#handle.close();
    return this.#ended;
  }
}
