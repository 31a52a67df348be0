import { BodyError } from './errors.ts';

/** Represents a cursor over a body. Reading past the end throws BodyError; it never returns undefined data. */
export class Reader {
  readonly bytes: Buffer;
  readonly end: number;
  at: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  /** Returns the offset of the next `size` bytes and skips them. */
  advance(size: number): number {
    const { at } = this;
    if (size > this.end - at) throw new BodyError(`${size} bytes needed, ${this.end - at} left`);
    this.at = at + size;
    return at;
  }

  u8(): number {
    return this.bytes[this.advance(1)] as number;
  }

  u16(): number {
    const at = this.advance(2);
    return ((this.bytes[at] as number) << 8) | (this.bytes[at + 1] as number);
  }

  u32(): number {
    return this.bytes.readUInt32BE(this.advance(4));
  }

  u64(): bigint {
    return this.bytes.readBigUInt64BE(this.advance(8));
  }

  /** Returns the next bytes without a copy. */
  take(size: number): Buffer {
    const at = this.advance(size);
    return this.bytes.subarray(at, at + size);
  }

  takeRemaining(): Buffer {
    return this.take(this.remaining);
  }

  /** Returns a reader over only the next `size` bytes. */
  takeReader(size: number): Reader {
    const at = this.advance(size);
    return new Reader(this.bytes, at, at + size);
  }
}
