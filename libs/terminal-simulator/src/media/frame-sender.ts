import { DataType, packetizeFrame, type SimBytes } from '@fleet/jt1078';
import type { Clip, ClipFrame } from './clip.ts';
import type { MediaLink } from './media-link.ts';
import { createSentFrame, pushBounded, type StreamRecord } from './stream-record.ts';

/** Identity of the sending camera, as in every packet's header. */
export interface CameraAddress {
  sim: string;
  simBytes: SimBytes;
  channel: number;
}

/**
 * Sends clip frames as JT/T 1078 packets on one connection; audio and video share one sequence, as on real terminals.
 */
export class FrameSender {
  readonly #link: MediaLink;
  readonly #camera: CameraAddress;
  readonly #record: StreamRecord;
  readonly #frameLogLimit: number;
  #sequence = 0;
  #lastVideoMs: number | null = null;
  #lastKeyMs: number | null = null;

  constructor(link: MediaLink, camera: CameraAddress, record: StreamRecord, frameLogLimit: number) {
    this.#link = link;
    this.#camera = camera;
    this.#record = record;
    this.#frameLogLimit = frameLogLimit;
  }

  /** Sends one picture. */
  sendVideo(clip: Clip, frame: ClipFrame, timestampMs: number): void {
    const intervals = {
      lastIFrameIntervalMs: this.#lastKeyMs === null ? 0 : Math.max(0, timestampMs - this.#lastKeyMs),
      lastFrameIntervalMs: this.#lastVideoMs === null ? 0 : Math.max(0, timestampMs - this.#lastVideoMs),
    };
    this.#lastVideoMs = timestampMs;
    if (frame.isKeyFrame) this.#lastKeyMs = timestampMs;
    pushBounded(
      this.#record.sentVideoFrames,
      createSentFrame(clip, frame, timestampMs, this.#sequence),
      this.#frameLogLimit,
    );
    const dataType = frame.isKeyFrame ? DataType.I : DataType.P;
    this.#send(frame.data, { payloadType: clip.videoPayloadType, dataType, timestamp: timestampMs, ...intervals });
  }

  /** Sends one audio frame. */
  sendAudio(clip: Clip, frame: ClipFrame, timestampMs: number): void {
    if (clip.audioPayloadType === null) return;
    pushBounded(
      this.#record.sentAudioFrames,
      createSentFrame(clip, frame, timestampMs, this.#sequence),
      this.#frameLogLimit,
    );
    const { audioPayloadType: payloadType } = clip;
    this.#send(frame.data, { payloadType, dataType: DataType.AUDIO, timestamp: timestampMs });
  }

  #send(
    data: Buffer,
    header: {
      payloadType: number;
      dataType: number;
      timestamp: number;
      lastIFrameIntervalMs?: number;
      lastFrameIntervalMs?: number;
    },
  ): void {
    const packets = packetizeFrame({ ...this.#camera, ...header, sequence: this.#sequence, data });
    this.#sequence = (this.#sequence + packets.length) & 0xffff;
    this.#link.send(packets);
    this.#record.packetsSent += packets.length;
    for (const packet of packets) this.#record.bytesSent += packet.length;
  }
}
