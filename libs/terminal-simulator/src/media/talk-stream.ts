import {
  createVoiceEncoder,
  DataType,
  FrameAssembler,
  hasHisiliconHeader,
  type MediaFrame,
  PacketSplitter,
  PayloadType,
  packetizeFrame,
  VoiceDecoder,
  type VoiceEncoder,
} from '@fleet/jt1078';
import type { MediaLink } from './media-link.ts';
import { MediaStream, type MediaStreamOptions } from './media-stream.ts';
import { pushBounded } from './stream-record.ts';
import { createTone } from './tone.ts';

/** The driver of a simulated terminal, who speaks a tone. */
export interface VoiceOptions {
  /** 440 by default. */
  toneHz?: number | undefined;
  /** 8000 by default; 0 sends silence. */
  amplitude?: number | undefined;
  /** Adds the 4-byte Hisilicon header to frames; ADPCM always has it. */
  hisiliconHeader?: boolean | undefined;
}

/** Options of one talk stream. */
interface TalkStreamOptions extends MediaStreamOptions {
  /** Payload type of the terminal's voice. */
  codec: number;
  voice: VoiceOptions;
  /** False: sends one frame, which identifies the camera, and then only listens (broadcast). */
  isSpeaking: boolean;
}

const frameMs = 40;
const frameSamples = 320;

/** Represents the talk of 0x9101, data types 2 and 4: speaks a tone and records what it receives. */
export class TalkStream extends MediaStream {
  readonly #options: TalkStreamOptions;
  readonly #encoder: VoiceEncoder;
  readonly #decoder = new VoiceDecoder();
  readonly #assembler = new FrameAssembler({ onFrame: (frame) => this.#receiveFrame(frame) });
  readonly #splitter = new PacketSplitter({
    onPacket: (packet) => this.#assembler.push(packet, performance.now()),
  });
  #sentFrames = 0;
  #startedAtMs = 0;
  #sequence = 0;

  constructor(options: TalkStreamOptions) {
    super('talk', options);
    this.#options = options;
    const voice = { hasHisiliconHeader: options.voice.hisiliconHeader === true };
    const encoder = createVoiceEncoder(options.codec, voice) ?? createVoiceEncoder(PayloadType.G711A, voice);
    if (encoder === null) throw new Error('G.711A has no encoder');
    this.#encoder = encoder;
  }

  protected override begin(): void {
    this.resumeClock();
    this.schedule(0);
  }

  protected override resumeClock(): void {
    this.#startedAtMs = performance.now() - this.#sentFrames * frameMs;
  }

  protected override tick(link: MediaLink): void {
    const dueFrames = Math.floor((performance.now() - this.#startedAtMs) / frameMs) + 1;
    while (this.#sentFrames < dueFrames) this.#sendFrame(link);
    if (this.#options.isSpeaking) this.schedule(this.#startedAtMs + this.#sentFrames * frameMs - performance.now());
  }

  protected override receive(chunk: Buffer): void {
    this.#splitter.push(chunk);
  }

  #sendFrame(link: MediaLink): void {
    const { toneHz = 440, amplitude = 8_000 } = this.#options.voice;
    const fromSample = this.#sentFrames * frameSamples;
    const pcm = createTone(toneHz, { samples: frameSamples, fromSample, amplitude });
    const packets = packetizeFrame({
      ...this.camera,
      payloadType: this.#encoder.payloadType,
      dataType: DataType.AUDIO,
      sequence: this.#sequence,
      timestamp: Math.round(this.#sentFrames * frameMs),
      data: this.#encoder.encode(pcm),
    });
    this.#sentFrames += 1;
    this.#sequence = (this.#sequence + packets.length) & 0xffff;
    link.send(packets);
    this.record.packetsSent += packets.length;
    for (const packet of packets) this.record.bytesSent += packet.length;
  }

  #receiveFrame(frame: MediaFrame): void {
    const { payloadType, sim, channel, timestampLow } = frame;
    const received = {
      payloadType,
      sim,
      channel,
      timestampMs: timestampLow,
      hasHisiliconHeader: hasHisiliconHeader(frame.data),
      data: Buffer.from(frame.data),
      pcm: this.#decoder.decode(payloadType, frame.data) ?? new Int16Array(),
      atMs: performance.timeOrigin + performance.now(),
    };
    pushBounded(this.record.receivedFrames, received, this.frameLogLimit);
  }
}
