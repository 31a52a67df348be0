import { escapeByte, Frame, frameFlag, maxWireBytes } from './frame.ts';

/** Reason why bytes of a connection yielded no frame. `badBody` is for the caller, which decodes bodies. */
export type DropReason =
  | 'garbage'
  | 'shortFrame'
  | 'badChecksum'
  | 'badEscape'
  | 'lengthMismatch'
  | 'oversized'
  | 'badSubpackage'
  | 'badBody';

/** Drops of one connection by reason. */
export type DroppedCounters = Record<DropReason, number>;

/** Creates counters, all zero. */
function createDroppedCounters(): DroppedCounters {
  return {
    garbage: 0,
    shortFrame: 0,
    badChecksum: 0,
    badEscape: 0,
    lengthMismatch: 0,
    oversized: 0,
    badSubpackage: 0,
    badBody: 0,
  };
}

/** Leniency of a splitter. Both switches are off by default: a frame that needs them is dropped and counted. */
export interface SplitterOptions {
  /** Accept frames whose check byte is wrong. */
  ignoreChecksum?: boolean;
  /** Accept the actual body size if the declared one differs and the check byte is right. */
  trustActualLength?: boolean;
}

/** Receives each valid frame. Must not throw: the rest of the read would be lost. */
export type FrameHandler = (frame: Frame) => void;

const minFrameBytes = 13;

/** `hunting`: no flag received yet. `inside`: after a flag. `skipping`: the span grew too long, wait for a flag. */
type State = 'hunting' | 'inside' | 'skipping';

/**
 * Splits a TCP stream into frames. Every 0x7E both ends a frame and starts one, so a lost flag costs only one frame. An
 * invalid frame is dropped and counted; it never causes an exception. Buffers at most one unfinished frame.
 *
 * One loop finds the end flag, computes the check byte and counts escapes. A frame without escapes is a view on the
 * read itself.
 */
export class FrameSplitter {
  /** Dropped spans by reason; the owner counts `badBody`. */
  readonly dropped: DroppedCounters = createDroppedCounters();
  readonly #ignoreChecksum: boolean;
  readonly #trustActualLength: boolean;
  #state: State = 'hunting';
  #pending: Buffer | null = null;
  #pendingLength = 0;

  constructor(options: SplitterOptions = {}) {
    this.#ignoreChecksum = options.ignoreChecksum ?? false;
    this.#trustActualLength = options.trustActualLength ?? false;
  }

  /** Total number of drops. */
  get droppedTotal(): number {
    return Object.values(this.dropped).reduce((sum, count) => sum + count, 0);
  }

  /** Buffered bytes of an unfinished frame. */
  get pendingBytes(): number {
    return this.#pendingLength;
  }

  /** Processes one read and passes each whole frame to `onFrame` in order. */
  push(chunk: Buffer, onFrame: FrameHandler): void {
    const end = chunk.length;
    let at = this.#resume(chunk, onFrame);
    while (at < end) {
      const start = at;
      let sum = 0;
      let escapes = 0;
      let byte = 0;
      while (at < end) {
        byte = chunk[at] as number;
        if (byte === frameFlag) break;
        if (byte === escapeByte) escapes += 1;
        sum ^= byte;
        at += 1;
      }
      if (at === end) {
        this.#appendPending(chunk, start, end);
        return;
      }
      if (at > start) this.#handleSpan(chunk, start, at, escapes, sum, onFrame);
      at += 1;
    }
  }

  /** Completes what an earlier read left unfinished; returns the offset at which the plain loop continues. */
  #resume(chunk: Buffer, onFrame: FrameHandler): number {
    if (this.#state === 'inside' && this.#pendingLength === 0) return 0;
    const flag = chunk.indexOf(frameFlag);
    const upTo = flag === -1 ? chunk.length : flag;
    if (this.#state === 'hunting') {
      if (upTo > 0 && this.dropped.garbage === 0) this.dropped.garbage = 1;
      if (flag === -1) return chunk.length;
      this.#state = 'inside';
      return flag + 1;
    }
    if (this.#state === 'inside') this.#appendPending(chunk, 0, upTo);
    if (flag === -1) return chunk.length;
    const { buffer, length } = this.#takePending();
    this.#state = 'inside';
    if (length > 0) this.#handlePending(buffer, length, onFrame);
    return flag + 1;
  }

  #takePending(): { buffer: Buffer; length: number } {
    const pending = { buffer: this.#pending ?? Buffer.alloc(0), length: this.#pendingLength };
    this.#pending = null;
    this.#pendingLength = 0;
    return pending;
  }

  /** Copies the start of an unfinished frame into its own memory, up to the wire limit. */
  #appendPending(chunk: Buffer, start: number, end: number): void {
    if (end === start) return;
    const length = this.#pendingLength + (end - start);
    if (length > maxWireBytes) {
      this.dropped.oversized += 1;
      this.#takePending();
      this.#state = 'skipping';
      return;
    }
    if (this.#pending === null || this.#pending.length < length) {
      // Doubling avoids quadratic copies for a peer that sends single bytes.
      const grown = Buffer.allocUnsafe(Math.min(maxWireBytes, Math.max(64, length * 2)));
      if (this.#pending !== null) this.#pending.copy(grown, 0, 0, this.#pendingLength);
      this.#pending = grown;
    }
    chunk.copy(this.#pending, this.#pendingLength, start, end);
    this.#pendingLength = length;
  }

  #handlePending(buffer: Buffer, length: number, onFrame: FrameHandler): void {
    let sum = 0;
    let escapes = 0;
    for (let i = 0; i < length; i += 1) {
      const byte = buffer[i] as number;
      if (byte === escapeByte) escapes += 1;
      sum ^= byte;
    }
    this.#handleSpan(buffer, 0, length, escapes, sum, onFrame);
  }

  #handleSpan(raw: Buffer, start: number, end: number, escapes: number, sum: number, onFrame: FrameHandler): void {
    if (end - start > maxWireBytes) {
      this.dropped.oversized += 1;
      return;
    }
    let data: Buffer;
    let check = sum;
    if (escapes === 0) {
      data = raw.subarray(start, end);
    } else {
      const plain = unescape(raw, start, end, escapes);
      if (plain === null) {
        this.dropped.badEscape += 1;
        return;
      }
      data = plain;
      check = 0;
      for (let i = 0; i < data.length; i += 1) check ^= data[i] as number;
    }
    this.#emitFrame(data, check, onFrame);
  }

  #emitFrame(data: Buffer, check: number, onFrame: FrameHandler): void {
    const total = data.length;
    if (total < minFrameBytes) {
      this.dropped.shortFrame += 1;
      return;
    }
    if (check !== 0 && !this.#ignoreChecksum) {
      this.dropped.badChecksum += 1;
      return;
    }
    const properties = ((data[2] as number) << 8) | (data[3] as number);
    const declaredLength = properties & 0x3ff;
    const subpackageLength = (properties & 0x2000) === 0 ? 0 : 4;
    const has2019Bit = (properties & 0x4000) !== 0;
    const isShortHeader =
      !has2019Bit ||
      (total !== 18 + subpackageLength + declaredLength && total === 13 + subpackageLength + declaredLength);
    const bodyStart = (isShortHeader ? 12 : 17) + subpackageLength;
    if (total < bodyStart + 1 || (total !== bodyStart + declaredLength + 1 && !this.#trustActualLength)) {
      this.dropped.lengthMismatch += 1;
      return;
    }
    const messageId = ((data[0] as number) << 8) | (data[1] as number);
    const frame = new Frame(data, messageId, properties, isShortHeader ? '2013' : '2019', bodyStart);
    if (subpackageLength !== 0 && !isValidSubpackage(data, bodyStart - 4)) {
      this.dropped.badSubpackage += 1;
      return;
    }
    onFrame(frame);
  }
}

function isValidSubpackage(data: Buffer, at: number): boolean {
  const total = data.readUInt16BE(at);
  const no = data.readUInt16BE(at + 2);
  return no >= 1 && no <= total;
}

/**
 * Removes the escapes; returns null if 7D is followed by anything but 01 or 02. A lone 7D at the very end is an
 * unescaped check byte.
 */
function unescape(raw: Buffer, start: number, end: number, escapes: number): Buffer | null {
  const loneEscapes = raw[end - 1] === escapeByte ? 1 : 0;
  const plain = Buffer.allocUnsafe(end - start - escapes + loneEscapes);
  let to = 0;
  for (let i = start; i < end; i += 1) {
    let byte = raw[i] as number;
    if (byte === escapeByte && i !== end - 1) {
      i += 1;
      byte = (raw[i] as number) + 0x7c;
      if (byte !== escapeByte && byte !== frameFlag) return null;
    }
    plain[to] = byte;
    to += 1;
  }
  return plain;
}
