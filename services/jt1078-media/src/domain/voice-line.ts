import { DataType, encodePacket, G726Rate, hasHisiliconHeader, type MediaFrame, PayloadType } from '@fleet/jt1078';
import type { StreamId } from '@fleet/storage';
import type { CameraLink } from './camera-link.ts';

/** The other side of a conversation: receives the voice of the camera. */
export interface Talker {
  /** Handles a frame, whose data is valid only during the call. */
  onVoice(frame: MediaFrame): void;
  /** Called once at the end of the talk stream. */
  onEnd(reason: string): void;
}

/** Properties of a camera's voice that 0x1003 does not contain. */
interface VoiceFormat {
  readonly hasHisiliconHeader: boolean;
  /** Bits per code of G.726; null for other codecs. */
  readonly g726CodeSize: number | null;
}

const defaultFormat: VoiceFormat = { hasHisiliconHeader: false, g726CodeSize: null };

/** Represents a part of a talk stream: one talker, and the numbering of the packets to the camera. */
export class VoiceLine {
  readonly #id: StreamId;
  readonly #getLink: () => CameraLink | null;
  #talker: Talker | null = null;
  #idleSinceMs = performance.now();
  #format = defaultFormat;
  readonly #g726Rate = new G726Rate();
  /** SIM as in the camera's packets. */
  #address: Pick<MediaFrame, 'sim' | 'simBytes'> | null = null;
  #sequence = 0;

  constructor(id: StreamId, getLink: () => CameraLink | null) {
    this.#id = id;
    this.#getLink = getLink;
  }

  /** True while somebody talks. */
  get isOccupied(): boolean {
    return this.#talker !== null;
  }

  /** Format of the last frame of the camera. */
  get format(): VoiceFormat {
    return this.#format;
  }

  /** Returns true if there has been no talker for a time. */
  isIdle(nowMs: number, timeoutMs: number): boolean {
    return this.#talker === null && nowMs - this.#idleSinceMs >= timeoutMs;
  }

  /** Adds the talker. Returns false if there is one already. */
  join(talker: Talker): boolean {
    if (this.#talker !== null) return false;
    this.#talker = talker;
    return true;
  }

  /** Removes the talker. */
  leave(talker: Talker): void {
    if (this.#talker !== talker) return;
    this.#talker = null;
    this.#idleSinceMs = performance.now();
  }

  /** Handles a frame of the camera. */
  receive(frame: MediaFrame): void {
    this.#address = { sim: frame.sim, simBytes: frame.simBytes };
    if (frame.kind !== 'audio') return;
    const hasHeader = hasHisiliconHeader(frame.data);
    this.#format = {
      hasHisiliconHeader: hasHeader,
      g726CodeSize:
        frame.payloadType === PayloadType.G726
          ? this.#g726Rate.find(frame.data.length - (hasHeader ? 4 : 0), frame.timestampLow)
          : null,
    };
    this.#talker?.onVoice(frame);
  }

  /** Sends one encoded frame to the camera. Returns false if it was dropped: the camera does not read. */
  send(data: Buffer, payloadType: number, timestampMs: number): boolean {
    const link = this.#getLink();
    if (link === null || this.#address === null) return false;
    const packet = encodePacket({
      ...this.#address,
      channel: this.#id.channel,
      payloadType,
      dataType: DataType.AUDIO,
      sequence: this.#sequence,
      timestamp: timestampMs,
      body: data,
    });
    if (!link.send(packet)) return false;
    this.#sequence = (this.#sequence + 1) & 0xffff;
    return true;
  }

  /** Notifies the talker of the end. */
  end(reason: string): void {
    const talker = this.#talker;
    this.#talker = null;
    talker?.onEnd(reason);
  }
}
