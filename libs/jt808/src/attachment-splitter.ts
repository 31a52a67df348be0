import { FLAG, type Frame } from './frame.ts';
import { type DroppedCounters, FrameSplitter, type SplitterOptions } from './frame-splitter.ts';
import { decodeGbk, encodeGbk } from './text.ts';

/** First bytes of a raw data packet, 30 31 63 64 (T/JSATL 12-2017 table 4-26). */
export const ATTACHMENT_DATA_MARK = 0x30316364;
/** Bytes of a raw data packet in front of its data: mark, name, offset and length. */
export const ATTACHMENT_DATA_HEAD_BYTES = 62;

const NAME_BYTES = 50;
const markBytes = [0x30, 0x31, 0x63, 0x64] as const;
const SPACE = 0x20;

/** Head of a raw data packet (T/JSATL 12-2017 table 4-26). */
export interface AttachmentPacket {
  /** Without filler; a longer name is cut after 50 bytes. */
  readonly name: string;
  /** Whether the name fills its field and may go on. */
  readonly isNameFull: boolean;
  /** Where its data belong in the file. */
  readonly offset: number;
  /** Bytes of data. */
  readonly length: number;
}

/** Receives what a connection brings, in order; must not throw, or the rest of the read is lost. */
export interface AttachmentSink {
  onFrame(frame: Frame): void;
  /** A piece of a packet's data at its place in the file: a view on the read. A packet comes in one piece or more, and an empty one in none. */
  onData(packet: AttachmentPacket, offset: number, data: Buffer): void;
}

/** Settings of an attachment splitter. */
export interface AttachmentSplitterOptions extends SplitterOptions {
  /** Packets that announce more are no packets. */
  maxPacketBytes?: number;
}

/**
 * `between`: where a frame or a packet begins. `frame`: inside a frame. `head`, `data`: inside a packet. `lost`: in bytes that are neither.
 */
type State = 'between' | 'frame' | 'head' | 'data' | 'lost';

/**
 * Cuts the stream of an attachment connection, on which frames and raw data packets follow one another (T/JSATL 12-2017 chapter 4.5). Data
 * may hold any bytes, flags and marks too, and go through without a copy; what is held is one unfinished frame, or the head of a packet.
 */
export class AttachmentSplitter {
  /** Packets whose head makes no sense. */
  badPackets = 0;
  readonly #frames: FrameSplitter;
  readonly #maxPacketBytes: number;
  readonly #head = Buffer.alloc(ATTACHMENT_DATA_HEAD_BYTES);
  #headLength = 0;
  #state: State = 'between';
  /** A flag was last, so that a frame may go on without one of its own. */
  #isBehindFlag = false;
  /** Nothing has begun since bytes that were neither frame nor packet. */
  #isLost = false;
  #packet: AttachmentPacket | null = null;
  #left = 0;

  constructor(options: AttachmentSplitterOptions = {}) {
    this.#frames = new FrameSplitter(options);
    this.#maxPacketBytes = options.maxPacketBytes ?? 0xffff_ffff;
  }

  /** Frames that were dropped, by reason; `garbage` counts stretches that were neither. */
  get dropped(): DroppedCounters {
    return this.#frames.dropped;
  }

  /** Bytes that are held. */
  get pendingBytes(): number {
    return this.#frames.pendingBytes + this.#headLength;
  }

  /** Takes one read and hands over all that is in it. */
  push(chunk: Buffer, sink: AttachmentSink): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
        case 'between':
          at = this.#begin(chunk, at, sink);
          break;
        case 'head':
          at = this.#takeHead(chunk, at, sink);
          break;
        case 'data':
          at = this.#takeData(chunk, at, sink);
          break;
        default:
          at = this.#state === 'frame' ? this.#takeFrame(chunk, at, sink) : this.#search(chunk, at);
      }
    }
  }

  #begin(chunk: Buffer, at: number, sink: AttachmentSink): number {
    const byte = chunk[at] as number;
    if (byte === markBytes[0]) this.#state = 'head';
    else if (byte === FLAG || this.#isBehindFlag) return this.#takeFrame(chunk, at, sink);
    else this.#getLost();
    return at;
  }

  /** Up to the next flag, which ends the frame or is the start of one. */
  #takeFrame(chunk: Buffer, at: number, sink: AttachmentSink): number {
    const flag = chunk.indexOf(FLAG, at);
    const end = flag === -1 ? chunk.length : flag + 1;
    this.#state = flag === -1 ? 'frame' : 'between';
    this.#isBehindFlag = flag !== -1;
    this.#isLost = false;
    this.#frames.push(chunk.subarray(at, end), (frame) => sink.onFrame(frame));
    return end;
  }

  #takeHead(chunk: Buffer, at: number, sink: AttachmentSink): number {
    const end = Math.min(chunk.length, at + ATTACHMENT_DATA_HEAD_BYTES - this.#headLength);
    for (let i = at; i < end; i += 1) {
      const expected = markBytes[this.#headLength];
      if (expected !== undefined && chunk[i] !== expected) return this.#noMark(i, sink);
      this.#head[this.#headLength] = chunk[i] as number;
      this.#headLength += 1;
    }
    if (this.#headLength < ATTACHMENT_DATA_HEAD_BYTES) return end;
    this.#headLength = 0;
    const packet = readHead(this.#head);
    if (packet.length > this.#maxPacketBytes) {
      this.badPackets += 1;
      this.#getLost();
      return end;
    }
    this.#packet = packet;
    this.#left = packet.length;
    this.#state = packet.length === 0 ? 'between' : 'data';
    this.#isBehindFlag = false;
    this.#isLost = false;
    return end;
  }

  /** What began like a mark is none: it belongs to a frame that shares the flag before it, or to nothing. */
  #noMark(at: number, sink: AttachmentSink): number {
    const held = this.#head.subarray(0, this.#headLength);
    this.#headLength = 0;
    if (!this.#isBehindFlag) {
      this.#getLost();
      return at;
    }
    this.#state = 'frame';
    // No flag is among them: they are kept.
    this.#frames.push(held, (frame) => sink.onFrame(frame));
    return at;
  }

  #takeData(chunk: Buffer, at: number, sink: AttachmentSink): number {
    const packet = this.#packet as AttachmentPacket;
    const size = Math.min(this.#left, chunk.length - at);
    const offset = packet.offset + packet.length - this.#left;
    this.#left -= size;
    if (this.#left === 0) {
      this.#state = 'between';
      this.#packet = null;
    }
    sink.onData(packet, offset, chunk.subarray(at, at + size));
    return at + size;
  }

  #getLost(): void {
    this.#state = 'lost';
    this.#isBehindFlag = false;
    if (!this.#isLost) this.#frames.dropped.garbage += 1;
    this.#isLost = true;
  }

  /** Goes to the next byte with which something may begin. */
  #search(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === FLAG || byte === markBytes[0]) {
        this.#state = 'between';
        return at;
      }
    }
    return chunk.length;
  }
}

function readHead(head: Buffer): AttachmentPacket {
  let end = 4 + NAME_BYTES;
  while (end > 4 && (head[end - 1] === 0 || head[end - 1] === SPACE)) end -= 1;
  return {
    name: decodeGbk(head.subarray(4, end)).trim(),
    isNameFull: end === 4 + NAME_BYTES,
    offset: head.readUInt32BE(54),
    length: head.readUInt32BE(58),
  };
}

/** A raw data packet (T/JSATL 12-2017 table 4-26); the name is filled with NUL up to 50 bytes, or cut. */
export function encodeAttachmentPacket(name: string, offset: number, data: Uint8Array): Buffer {
  const packet = Buffer.alloc(ATTACHMENT_DATA_HEAD_BYTES + data.length);
  packet.writeUInt32BE(ATTACHMENT_DATA_MARK, 0);
  encodeGbk(name).copy(packet, 4, 0, NAME_BYTES);
  packet.writeUInt32BE(offset, 54);
  packet.writeUInt32BE(data.length, 58);
  packet.set(data, ATTACHMENT_DATA_HEAD_BYTES);
  return packet;
}
