import { TranscodeClock, type TranscodeInput } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import { outputSampleRate, type Transcoder } from './ffmpeg-transcoder.ts';
import type { SoundFormat, Transcoders } from './transcoders.ts';

/** Limit of buffered audio for a transcoder that starts late, which also produces the audio of the cached pictures. */
const maxRecentBytes = 256 * 1024;
/** Delay before an exited process is restarted, doubled each time up to the limit. */
const restartDelayMs = 1_000;
const maxRestartDelayMs = 30_000;

/** Manages the audio transcoding of one stream: one ffmpeg process while a viewer listens, none otherwise. */
export class StreamAudio {
  readonly #transcoders: Transcoders;
  readonly #onAac: (adtsFrame: Buffer, timestampMs: number) => void;
  readonly #log: Logger;
  #listeners = 0;
  #recent: TranscodeInput[] = [];
  #recentBytes = 0;
  #format: SoundFormat | null = null;
  #transcoder: Transcoder | null = null;
  #clock = new TranscodeClock();
  #lastTimestampMs = -1;
  #restartAtMs = 0;
  #failures = 0;
  droppedInputs = 0;

  constructor(options: {
    transcoders: Transcoders;
    onAac: (adtsFrame: Buffer, timestampMs: number) => void;
    log: Logger;
  }) {
    this.#transcoders = options.transcoders;
    this.#onAac = options.onAac;
    this.#log = options.log;
  }

  /** True when transcoded audio may be declared to a viewer. */
  get isAvailable(): boolean {
    return this.#transcoder !== null || (this.#failures === 0 && this.#transcoders.hasCapacity);
  }

  /** Sets the number of viewers that listen to transcoded audio. */
  set listeners(count: number) {
    this.#listeners = count;
    if (count === 0) this.#stop();
    else if (this.#transcoder === null && this.#format !== null) this.#start();
  }

  /** Handles audio of the camera. */
  push(input: TranscodeInput): void {
    const isSame = this.#format !== null && isSameFormat(this.#format, input);
    if (!isSame) {
      this.#stop();
      this.clearRecent();
      const { format, codeSize, sampleRate, channels } = input;
      this.#format = { format, codeSize, sampleRate, channels };
    }
    if (this.#transcoder !== null) {
      this.#feed(input);
      return;
    }
    this.#bufferRecent(input);
    if (this.#listeners > 0 && performance.now() >= this.#restartAtMs) this.#start();
  }

  /** Drops buffered audio when a new group of pictures begins, as older pictures are not delivered. */
  clearRecent(): void {
    this.#recent = [];
    this.#recentBytes = 0;
  }

  stop(): void {
    this.#listeners = 0;
    this.#stop();
    this.clearRecent();
  }

  #bufferRecent(input: TranscodeInput): void {
    if (this.#recentBytes + input.data.length > maxRecentBytes) this.clearRecent();
    this.#recent.push(input);
    this.#recentBytes += input.data.length;
  }

  #start(): void {
    if (this.#format === null) return;
    this.#clock = new TranscodeClock();
    this.#transcoder = this.#transcoders.start(this.#format, {
      onFrame: (frame) => this.#onFrame(frame),
      onEnd: (reason) => this.#onEnd(reason),
    });
    if (this.#transcoder === null) return;
    // Audio that was already transcoded must not be repeated.
    for (const input of this.#recent) if (input.timestampMs > this.#lastTimestampMs) this.#feed(input);
    this.clearRecent();
  }

  #stop(): void {
    this.#transcoder?.kill();
    this.#transcoder = null;
    this.#failures = 0;
    this.#restartAtMs = 0;
  }

  #feed(input: TranscodeInput): void {
    if (this.#transcoder?.write(input.data) === true) this.#clock.recordInput(input.timestampMs, input.durationMs);
    else this.droppedInputs += 1;
  }

  #onFrame(frame: Buffer): void {
    this.#failures = 0;
    this.#lastTimestampMs = this.#clock.nextOutputTime(outputSampleRate);
    this.#onAac(frame, this.#lastTimestampMs);
  }

  #onEnd(reason: string): void {
    this.#transcoder = null;
    const waitMs = Math.min(maxRestartDelayMs, restartDelayMs * 2 ** this.#failures);
    this.#failures += 1;
    this.#restartAtMs = performance.now() + waitMs;
    this.#log.warn({ reason, waitMs }, 'audio transcoder exited');
  }
}

const isSameFormat = (a: SoundFormat, b: SoundFormat): boolean =>
  a.format === b.format && a.codeSize === b.codeSize && a.sampleRate === b.sampleRate && a.channels === b.channels;
