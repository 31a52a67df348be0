import type { TranscodeInput } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import ffmpeg from 'fluent-ffmpeg';
import { FfmpegTranscoder, type Transcoder } from './ffmpeg-transcoder.ts';

/** What ffmpeg must know about its input; another input needs another process. */
export type SoundFormat = Pick<TranscodeInput, 'format' | 'codeSize' | 'sampleRate' | 'channels'>;

/** The ffmpeg processes of this service: whether there can be any, and never more than a limit. */
export class Transcoders {
  readonly #log: Logger;
  readonly #maxProcesses: number;
  readonly #running = new Set<Transcoder>();
  #canEncode = false;

  constructor(options: { ffmpegPath: string; maxProcesses: number; log: Logger }) {
    this.#log = options.log;
    this.#maxProcesses = options.maxProcesses;
    ffmpeg().setFfmpegPath(options.ffmpegPath);
  }

  /** Looks once whether ffmpeg is there and encodes AAC; without it streams play without the sound that needs it. */
  async probe(): Promise<void> {
    try {
      const encoders = await new Promise<Record<string, unknown>>((resolve, reject) => {
        ffmpeg().getAvailableEncoders((error: Error | null, encoderMap) =>
          error ? reject(error) : resolve(encoderMap),
        );
      });
      this.#canEncode = 'aac' in encoders;
      if (!this.#canEncode) this.#log.warn('ffmpeg has no AAC encoder: sound that browsers cannot play is left out');
    } catch (error) {
      this.#log.warn({ err: error }, 'ffmpeg cannot be run: sound that browsers cannot play is left out');
    }
  }

  get count(): number {
    return this.#running.size;
  }

  /** True when another process may be started. */
  get hasCapacity(): boolean {
    return this.#canEncode && this.#running.size < this.#maxProcesses;
  }

  /** Starts a process; null when there is no room. `onEnd` is called once, however it ends, but not after `kill`. */
  start(
    format: SoundFormat,
    callbacks: { onFrame: (adtsFrame: Buffer) => void; onEnd: (reason: string) => void },
  ): Transcoder | null {
    if (!this.hasCapacity) return null;
    const transcoder = new FfmpegTranscoder(format, {
      onFrame: callbacks.onFrame,
      onEnd: callbacks.onEnd,
      onExit: () => this.#running.delete(transcoder),
    });
    this.#running.add(transcoder);
    return transcoder;
  }

  stop(): void {
    this.#canEncode = false;
    for (const transcoder of this.#running) transcoder.kill();
  }
}
