const startCode = Buffer.from([0, 0, 1]);
/** Maximum number of units in one frame. More are not plausible, and the limit bounds the cost of hostile frames. */
const maxUnits = 1024;

/**
 * Holds the offsets of the NAL units of an Annex B frame: 3- and 4-byte start codes, without trailing zeros (padding).
 * The object is reused from frame to frame, so scanning allocates nothing.
 */
export class NalIndex {
  count = 0;
  /** True if the frame had more units than the maximum. */
  isOverfull = false;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  scan(data: Buffer): void {
    this.count = 0;
    this.isOverfull = false;
    let at = data.indexOf(startCode);
    while (at >= 0) {
      const start = at + 3;
      at = data.indexOf(startCode, start);
      let end = at < 0 ? data.length : at;
      while (end > start && data[end - 1] === 0) end--;
      if (end === start) continue;
      if (this.count === maxUnits) {
        this.isOverfull = true;
        return;
      }
      this.#starts[this.count] = start;
      this.#ends[this.count] = end;
      this.count++;
    }
  }

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  end(index: number): number {
    return this.#ends[index] ?? 0;
  }
}

/** Returns true when the bytes begin with a 3- or 4-byte start code, or with more zeros before it. */
export function startsWithStartCode(data: Uint8Array): boolean {
  if (data[0] !== 0 || data[1] !== 0) return false;
  let at = 2;
  while (data[at] === 0 && at < 8) at++;
  return data[at] === 1;
}

/** Removes the emulation prevention bytes (`00 00 03` to `00 00`) of a NAL unit. */
export function unescapeNal(nal: Uint8Array): Uint8Array {
  const rbsp = new Uint8Array(nal.length);
  let length = 0;
  let zeros = 0;
  for (const byte of nal) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    rbsp[length++] = byte;
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return rbsp.subarray(0, length);
}

/** Reads bits and Exp-Golomb codes. Past the end it returns 0 and sets `isOverrun`, so hostile bytes cannot throw. */
export class BitReader {
  isOverrun = false;
  readonly #data: Uint8Array;
  #at: number;

  constructor(data: Uint8Array, fromByte = 0) {
    this.#data = data;
    this.#at = fromByte * 8;
  }

  bit(): number {
    const byte = this.#data[this.#at >> 3];
    if (byte === undefined) {
      this.isOverrun = true;
      return 0;
    }
    const value = (byte >> (7 - (this.#at & 7))) & 1;
    this.#at++;
    return value;
  }

  bits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++) value = value * 2 + this.bit();
    return value;
  }

  skip(count: number): void {
    this.#at += count;
    if (this.#at > this.#data.length * 8) this.isOverrun = true;
  }

  /** Reads ue(v). */
  unsigned(): number {
    let zeros = 0;
    while (this.bit() === 0) {
      zeros++;
      if (zeros > 32 || this.isOverrun) {
        this.isOverrun = true;
        return 0;
      }
    }
    return 2 ** zeros - 1 + this.bits(zeros);
  }

  /** Reads se(v). */
  signed(): number {
    const code = this.unsigned();
    return code % 2 === 0 ? -code / 2 : (code + 1) / 2;
  }
}
