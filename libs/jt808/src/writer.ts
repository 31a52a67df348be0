import { EncodeError } from './errors.ts';

/**
 * Holds the growing output for one body. A value that does not fit its width throws EncodeError; it is never truncated.
 */
export class Writer {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity = 128) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  #grow(size: number): number {
    const at = this.#length;
    this.#length = at + size;
    if (this.#length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#length, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, at);
      this.#bytes = grown;
    }
    return at;
  }

  /** Writes an unsigned big-endian integer of 1, 2 or 4 bytes. */
  uint(value: number, size: 1 | 2 | 4): void {
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** (8 * size)) {
      throw new EncodeError(`${value} does not fit in ${size} unsigned byte${size === 1 ? '' : 's'}`);
    }
    const at = this.#grow(size); // may replace the buffer, so call it first
    this.#bytes.writeUIntBE(value, at, size);
  }

  u64(value: bigint): void {
    if (value < 0n || value >= 1n << 64n) throw new EncodeError(`${value} does not fit in 8 unsigned bytes`);
    const at = this.#grow(8);
    this.#bytes.writeBigUInt64BE(value, at);
  }

  put(bytes: Uint8Array): void {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  fill(byte: number, size: number): void {
    const at = this.#grow(size);
    this.#bytes.fill(byte, at, at + size);
  }

  /** Overwrites an earlier integer, for lengths that are known only afterwards. */
  patch(at: number, value: number, size: 1 | 2 | 4): void {
    if (value >= 2 ** (8 * size)) throw new EncodeError(`${value} does not fit in ${size} unsigned bytes`);
    this.#bytes.writeUIntBE(value, at, size);
  }

  /** Returns the written bytes, in memory that belongs to this writer. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}
