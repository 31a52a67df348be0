import { type FileHandle, open, rm } from 'node:fs/promises';

/** A file of a terminal that is being received: nothing until `MediaFiles.keep` has taken it. */
export class IncomingFile {
  /** Canonical number of its terminal. */
  readonly imei: string;
  /** Where its bytes can be read, until it is kept or discarded. */
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

  /** `path` must not be there yet; `onEnd` is called once nothing is at it any more. */
  static async create(imei: string, path: string, onEnd: () => void): Promise<IncomingFile> {
    return new IncomingFile(imei, path, await open(path, 'wx', 0o640), onEnd);
  }

  /** Bytes written in all, those that were written twice counted twice. */
  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  /** End of the last byte; what was left out before it reads as zeros. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Writes bytes to their place, in any order. */
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

  /** Brings every byte to the disk and ends the writing. */
  async finish(): Promise<void> {
    if (this.#ended === undefined) await this.#handle.sync();
    await this.#end();
  }

  /** Removes it; what was kept already stays. */
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
