import type { MediaFrame } from './media-frame.ts';
import { NalIndex } from './nal-units.ts';
import type { MediaPacket } from './packet.ts';
import type { MediaKind } from './tables.ts';

const initialBufferBytes = 16_384;
const units = new NalIndex();

/** Holds the frame that is being joined from its packets. Its buffer is reused from frame to frame. */
export class PendingFrame {
  isActive = false;
  /** True if joined by timestamp because the marks are invalid: complete as soon as its successor begins. */
  isOpenEnded = false;
  sequence = -1;
  startedMs = 0;
  lastMs = 0;
  length = 0;
  packets = 0;
  readonly #kind: MediaKind;
  #first: MediaPacket | null = null;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(kind: MediaKind) {
    this.#kind = kind;
  }

  begin(packet: MediaPacket, nowMs: number): void {
    this.isActive = true;
    this.isOpenEnded = false;
    this.startedMs = nowMs;
    this.length = 0;
    this.packets = 0;
    this.#first = packet;
    this.append(packet, nowMs);
  }

  append(packet: MediaPacket, nowMs: number): void {
    const { body } = packet;
    const needed = this.length + body.length;
    if (needed > this.#buffer.length) {
      const grownBuffer = Buffer.allocUnsafeSlow(Math.max(initialBufferBytes, needed, this.#buffer.length * 2));
      this.#buffer.copy(grownBuffer, 0, 0, this.length);
      this.#buffer = grownBuffer;
    }
    body.copy(this.#buffer, this.length);
    this.length = needed;
    this.packets++;
    this.lastMs = nowMs;
  }

  drop(): void {
    this.isActive = false;
    this.#first = null;
  }

  hasSameTimestamp(packet: MediaPacket): boolean {
    return this.#first?.timestampLow === packet.timestampLow && this.#first.timestampHigh === packet.timestampHigh;
  }

  /** Returns the bytes joined so far. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  finish(discontinuity: boolean): MediaFrame | null {
    const first = this.#first;
    this.drop();
    return first && createMediaFrame(this.#kind, first, this.bytes(), this.packets, this.lastMs, discontinuity);
  }

  /** Returns true if no other picture refers to this one, so its loss affects nothing else. */
  isNonReference(): boolean {
    units.scan(this.bytes());
    for (let i = 0; i < units.count; i++) {
      const byte = this.#buffer[units.start(i)] ?? 0xff;
      // 00: H.265 TRAIL_N; 01: H.264 slice with nal_ref_idc 0. Neither value has another meaning in the other codec.
      if (byte === 0 || byte === 1) return true;
    }
    return false;
  }
}

export function createMediaFrame(
  kind: MediaKind,
  packet: MediaPacket,
  data: Buffer,
  packets: number,
  arrivalMs: number,
  discontinuity: boolean,
): MediaFrame {
  return {
    kind,
    sim: packet.sim,
    simBytes: packet.simBytes,
    channel: packet.channel,
    payloadType: packet.payloadType,
    dataType: packet.dataType,
    timestampHigh: packet.timestampHigh,
    timestampLow: packet.timestampLow,
    lastIFrameIntervalMs: packet.lastIFrameIntervalMs,
    lastFrameIntervalMs: packet.lastFrameIntervalMs,
    packets,
    arrivalMs,
    discontinuity,
    data,
  };
}
