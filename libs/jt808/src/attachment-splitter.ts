import { type Frame, frameFlag } from './frame.ts';
import { type DroppedCounters, FrameSplitter, type SplitterOptions } from './frame-splitter.ts';
import { decodeGbk, encodeGbk } from './text.ts';

/** First bytes of a raw data packet, 30 31 63 64 (T/JSATL 12-2017 table 4-26). */
const attachmentDataMark = 0x30316364;
/** Bytes of a raw data packet before its data: mark, name, offset and length. */
const attachmentDataHeaderBytes = 62;

const nameFieldBytes = 50;
const markBytes = [0x30, 0x31, 0x63, 0x64] as const;
const spaceByte = 0x20;

/** Head of a raw data packet (T/JSATL 12-2017 table 4-26). */
export interface AttachmentPacket {
  /** Name without padding; a longer name is cut after 50 bytes. */
  readonly name: string;
  /** True if the name fills its field, so that it may have been cut. */
  readonly isNameFull: boolean;
  /** Offset of the data in the file. */
  readonly offset: number;
  /** Number of data bytes. */
  readonly length: number;
}

/** Receives the frames and data of a connection in order. Must not throw: the rest of the read would be lost. */
export interface AttachmentHandler {
  onFrame(frame: Frame): void;
  /**
   * Receives a piece of a packet's data with its offset in the file, as a view on the read. A packet arrives in one or
   * more pieces; an empty packet has none.
   */
  onData(packet: AttachmentPacket, offset: number, data: Buffer): void;
}

/** Options of an attachment splitter. */
export interface AttachmentSplitterOptions extends SplitterOptions {
  /** Largest packet; a head that states more is invalid. */
  maxPacketBytes?: number;
}

/**
 * `between`: a frame or packet begins next. `frame`: inside a frame. `head`, `data`: inside a packet. `lost`: in bytes
 * that are neither.
 */
type State = 'between' | 'frame' | 'head' | 'data' | 'lost';

/**
 * Splits the stream of an attachment connection, which mixes frames and raw data packets (T/JSATL 12-2017 chapter 4.5).
 * Data may contain any bytes, flags and marks included, and is passed on without a copy. The splitter buffers at most
 * one unfinished frame or packet head.
 */
export class AttachmentSplitter {
  /** Packets with an invalid head. */
  invalidPackets = 0;
  readonly #frames: FrameSplitter;
  readonly #maxPacketBytes: number;
  readonly #header = Buffer.alloc(attachmentDataHeaderBytes);
  #headerLength = 0;
  #state: State = 'between';
  /** The last byte was a flag, so a frame may follow without a flag of its own. */
  #isAfterFlag = false;
  /** No frame or packet has begun since bytes that were neither. */
  #isOutOfSync = false;
  #packet: AttachmentPacket | null = null;
  #remainingBytes = 0;

  constructor(options: AttachmentSplitterOptions = {}) {
    this.#frames = new FrameSplitter(options);
    this.#maxPacketBytes = options.maxPacketBytes ?? 0xffff_ffff;
  }

  /** Dropped frames by reason; `garbage` counts ranges that were neither frame nor packet. */
  get dropped(): DroppedCounters {
    return this.#frames.dropped;
  }

  /** Buffered bytes. */
  get pendingBytes(): number {
    return this.#frames.pendingBytes + this.#headerLength;
  }

  /** Processes one read and passes its frames and data to the handler. */
  push(chunk: Buffer, handler: AttachmentHandler): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
        case 'between':
          at = this.#detectStart(chunk, at, handler);
          break;
        case 'head':
          at = this.#readHeader(chunk, at, handler);
          break;
        case 'data':
          at = this.#readData(chunk, at, handler);
          break;
        default:
          at = this.#state === 'frame' ? this.#readFrame(chunk, at, handler) : this.#resync(chunk, at);
      }
    }
  }

  #detectStart(chunk: Buffer, at: number, handler: AttachmentHandler): number {
    const byte = chunk[at] as number;
    if (byte === markBytes[0]) this.#state = 'head';
    else if (byte === frameFlag || this.#isAfterFlag) return this.#readFrame(chunk, at, handler);
    else this.#loseSync();
    return at;
  }

  /** Reads up to the next flag, which ends the frame or starts one. */
  #readFrame(chunk: Buffer, at: number, handler: AttachmentHandler): number {
    const flag = chunk.indexOf(frameFlag, at);
    const end = flag === -1 ? chunk.length : flag + 1;
    this.#state = flag === -1 ? 'frame' : 'between';
    this.#isAfterFlag = flag !== -1;
    this.#isOutOfSync = false;
    this.#frames.push(chunk.subarray(at, end), (frame) => handler.onFrame(frame));
    return end;
  }

  #readHeader(chunk: Buffer, at: number, handler: AttachmentHandler): number {
    const end = Math.min(chunk.length, at + attachmentDataHeaderBytes - this.#headerLength);
    for (let i = at; i < end; i += 1) {
      const expected = markBytes[this.#headerLength];
      if (expected !== undefined && chunk[i] !== expected) return this.#rejectMark(i, handler);
      this.#header[this.#headerLength] = chunk[i] as number;
      this.#headerLength += 1;
    }
    if (this.#headerLength < attachmentDataHeaderBytes) return end;
    this.#headerLength = 0;
    const packet = parseHeader(this.#header);
    if (packet.length > this.#maxPacketBytes) {
      this.invalidPackets += 1;
      this.#loseSync();
      return end;
    }
    this.#packet = packet;
    this.#remainingBytes = packet.length;
    this.#state = packet.length === 0 ? 'between' : 'data';
    this.#isAfterFlag = false;
    this.#isOutOfSync = false;
    return end;
  }

  /**
   * Handles bytes that began like a mark but are not one: they belong to a frame that shares the preceding flag, or to
   * nothing.
   */
  #rejectMark(at: number, handler: AttachmentHandler): number {
    const held = this.#header.subarray(0, this.#headerLength);
    this.#headerLength = 0;
    if (!this.#isAfterFlag) {
      this.#loseSync();
      return at;
    }
    this.#state = 'frame';
    // These bytes contain no flag, so the frame splitter buffers them.
    this.#frames.push(held, (frame) => handler.onFrame(frame));
    return at;
  }

  #readData(chunk: Buffer, at: number, handler: AttachmentHandler): number {
    const packet = this.#packet as AttachmentPacket;
    const size = Math.min(this.#remainingBytes, chunk.length - at);
    const offset = packet.offset + packet.length - this.#remainingBytes;
    this.#remainingBytes -= size;
    if (this.#remainingBytes === 0) {
      this.#state = 'between';
      this.#packet = null;
    }
    handler.onData(packet, offset, chunk.subarray(at, at + size));
    return at + size;
  }

  #loseSync(): void {
    this.#state = 'lost';
    this.#isAfterFlag = false;
    if (!this.#isOutOfSync) this.#frames.dropped.garbage += 1;
    this.#isOutOfSync = true;
  }

  /** Skips to the next byte that can begin a frame or a packet. */
  #resync(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === frameFlag || byte === markBytes[0]) {
        this.#state = 'between';
        return at;
      }
    }
    return chunk.length;
  }
}

function parseHeader(header: Buffer): AttachmentPacket {
  let end = 4 + nameFieldBytes;
  while (end > 4 && (header[end - 1] === 0 || header[end - 1] === spaceByte)) end -= 1;
  return {
    name: decodeGbk(header.subarray(4, end)).trim(),
    isNameFull: end === 4 + nameFieldBytes,
    offset: header.readUInt32BE(54),
    length: header.readUInt32BE(58),
  };
}

/** Encodes a raw data packet (T/JSATL 12-2017 table 4-26); the name is padded with NUL to 50 bytes, or cut. */
export function encodeAttachmentPacket(name: string, offset: number, data: Uint8Array): Buffer {
  const packet = Buffer.alloc(attachmentDataHeaderBytes + data.length);
  packet.writeUInt32BE(attachmentDataMark, 0);
  encodeGbk(name).copy(packet, 4, 0, nameFieldBytes);
  packet.writeUInt32BE(offset, 54);
  packet.writeUInt32BE(data.length, 58);
  packet.set(data, attachmentDataHeaderBytes);
  return packet;
}
