import { Writable } from 'node:stream';
import { FtpError, toFtpError } from '../ftp/ftp-error.ts';

/** The operations of an open file that writing needs; implemented by a FileHandle of Node.js. */
export interface WritableFile {
  write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

interface FileWriterOptions {
  readonly file: WritableFile;
  /** Offset of the first byte. */
  readonly position: number;
  /** Returns the number of bytes that the upload may still receive. */
  readonly getRemainingBytes: () => number;
  readonly onBytes: (count: number) => void;
  /**
   * Called when the transfer has ended normally and every byte is on disk. The camera gets its reply once this
   * resolves.
   */
  readonly onComplete: () => Promise<void>;
  /** Called when the file is closed; `error` is the reason why a transfer was aborted. */
  readonly onClosed: (error: Error | null) => void;
}

/** Writes one transfer into one file. Written bytes are retained, however the transfer ends. */
export class FileWriter extends Writable {
  readonly #options: FileWriterOptions;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;
  #position: number;
  #pendingWork: Promise<unknown> = Promise.resolve();
  #failure: Error | null = null;
  #isComplete = false;

  constructor(options: FileWriterOptions) {
    super({ highWaterMark: 256 * 1024, decodeStrings: true });
    this.#options = options;
    this.#position = options.position;
    this.#closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    // ftp-srv ends a transfer by emitting `close` itself, and then waits for `finish`.
    this.once('close', () => {
      if (!this.destroyed) this.end();
    });
    this.on('error', () => undefined);
  }

  /** Resolves once the file is closed. */
  get whenClosed(): Promise<void> {
    return this.#closed;
  }

  /** Aborts the transfer, unless it is already whole. */
  fail(error: Error): void {
    if (this.#isComplete) return;
    this.#failure ??= error;
    this.destroy(this.#failure);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#pendingWork = this.#runWork(this.#writeAll(chunk), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#pendingWork = this.#runWork(this.#finish(), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    void this.#runWork(this.#close(this.#failure ?? error), (cause) => done(error ?? cause ?? null));
  }

  async #runWork(work: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#failure ??= toFtpError(error);
      done(this.#failure);
      return;
    }
    done();
  }

  async #writeAll(chunk: Buffer): Promise<void> {
    const { file, getRemainingBytes, onBytes } = this.#options;
    const allowedBytes = Math.min(chunk.length, getRemainingBytes());
    for (let offset = 0; offset < allowedBytes; ) {
      const { bytesWritten } = await file.write(chunk, offset, allowedBytes - offset, this.#position);
      if (bytesWritten === 0) throw new FtpError(452, 'No space left');
      offset += bytesWritten;
      this.#position += bytesWritten;
      onBytes(bytesWritten);
    }
    if (allowedBytes < chunk.length) throw new FtpError(552, 'The clip is larger than allowed');
  }

  async #finish(): Promise<void> {
    await this.#options.file.datasync();
    // A reset ends the stream before it destroys it, and must not count as the end of the file.
    if (this.#failure !== null) throw this.#failure;
    this.#isComplete = true;
    await this.#options.onComplete();
  }

  /**
   * Closes the file after the running operation. If it were closed earlier, its descriptor could belong to another file
   * by then.
   */
  async #close(error: Error | null): Promise<void> {
    await this.#pendingWork.catch(() => undefined);
    try {
      await this.#options.file.close();
    } finally {
      this.#options.onClosed(this.#isComplete ? null : (error ?? new FtpError(426, 'Connection closed')));
      this.#resolveClosed();
    }
  }
}
