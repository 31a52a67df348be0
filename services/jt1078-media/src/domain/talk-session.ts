import { createVoiceEncoder, fromS16le, type MediaFrame, PayloadType, toS16le, VoiceDecoder } from '@fleet/jt1078';
import type { Talker, VoiceLine } from './voice-line.ts';

/** Output of a session: a websocket. */
interface VoiceSink {
  /** Sends samples as 16-bit little-endian bytes. */
  send(pcm: Buffer): void;
  /** Called at the end of the talk stream. */
  end(reason: string): void;
  /** Bytes that were accepted and not sent yet. */
  readonly queuedBytes: number;
}

/** Counters of a session, for its log. */
interface VoiceCounters {
  sentFrames: number;
  receivedFrames: number;
  droppedFrames: number;
}

const samplesPerMs = 8;
/** 20 ms. G.726 has 40 ms, as its rate follows from the length of a frame, which is ambiguous for 20 ms. */
const frameSamples = 160;
const g726FrameSamples = 320;
/** Voice that is further ahead of the clock is dropped, as it would only fill the buffers of the camera. */
const maxLeadMs = 2_000;
/** A talker who was silent for longer continues at the current time. */
const maxGapMs = 200;
/** Four seconds of voice: a client that does not read loses the rest. */
const maxQueuedBytes = 64_000;

/** Converts between a talker's PCM (16-bit, 8 kHz, mono) and the voice of a camera. */
export class TalkSession implements Talker {
  readonly counters: VoiceCounters = { sentFrames: 0, receivedFrames: 0, droppedFrames: 0 };
  readonly #line: VoiceLine;
  readonly #sink: VoiceSink;
  readonly #codec: number;
  readonly #startedAtMs = performance.now();
  readonly #decoder = new VoiceDecoder();
  #encoder: ReturnType<typeof createVoiceEncoder> = null;
  /** Samples that do not fill a frame yet. */
  #pending = new Int16Array(0);
  /** End of the voice sent so far, since the start. */
  #sentMs = 0;

  /** `codec` is a payload type that `createVoiceEncoder` supports. */
  constructor(line: VoiceLine, sink: VoiceSink, codec: number) {
    this.#line = line;
    this.#sink = sink;
    this.#codec = codec;
  }

  /** Handles the talker's samples as little-endian bytes, of any length. */
  push(pcm: Buffer): void {
    const samples = fromS16le(pcm);
    const all = new Int16Array(this.#pending.length + samples.length);
    all.set(this.#pending);
    all.set(samples, this.#pending.length);
    const length = this.#codec === PayloadType.G726 ? g726FrameSamples : frameSamples;
    let at = 0;
    for (; at + length <= all.length; at += length) this.#sendFrame(all.subarray(at, at + length));
    this.#pending = all.slice(at);
  }

  onVoice(frame: MediaFrame): void {
    const pcm = this.#decoder.decode(frame.payloadType, frame.data, frame.timestampLow);
    if (pcm === null || pcm.length === 0 || this.#sink.queuedBytes > maxQueuedBytes) {
      this.counters.droppedFrames += 1;
      return;
    }
    this.counters.receivedFrames += 1;
    this.#sink.send(toS16le(pcm));
  }

  onEnd(reason: string): void {
    this.#sink.end(reason);
  }

  #sendFrame(samples: Int16Array): void {
    const elapsedMs = performance.now() - this.#startedAtMs;
    if (this.#sentMs > elapsedMs + maxLeadMs) {
      this.counters.droppedFrames += 1;
      return;
    }
    if (this.#sentMs < elapsedMs - maxGapMs) this.#sentMs = Math.round(elapsedMs);
    const timestampMs = this.#sentMs;
    this.#sentMs += samples.length / samplesPerMs;
    // The first frame of the camera, which precedes the talker, shows the format that it requires.
    this.#encoder ??= createVoiceEncoder(this.#codec, {
      hasHisiliconHeader: this.#line.format.hasHisiliconHeader,
      ...(this.#line.format.g726CodeSize === null ? {} : { g726CodeSize: this.#line.format.g726CodeSize }),
    });
    const data = this.#encoder?.encode(samples);
    if (data !== undefined && this.#line.send(data, this.#codec, timestampMs)) this.counters.sentFrames += 1;
    else this.counters.droppedFrames += 1;
  }
}
