import type { TranscodeInput } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import ffmpeg from 'fluent-ffmpeg';
import { FfmpegTranscoder, type Transcoder } from './ffmpeg-transcoder.ts';

/** Input format of ffmpeg. Another format requires another process. */
export type SoundFormat = Pick<TranscodeInput, 'format' | 'codeSize' | 'sampleRate' | 'channels'>;

/** Manages the ffmpeg processes of this service, up to a limit. */
export class Transcoders {
  readonly maxProcesses: number;
  readonly #log: Logger;
  readonly #running = new Set<Transcoder>();
  #canEncode = false;

  constructor(options: { ffmpegPath: string; maxProcesses: number; log: Logger }) {
    this.#log = options.log;
    this.maxProcesses = options.maxProcesses;
    ffmpeg().setFfmpegPath(options.ffmpegPath);
  }

  /**
   * Checks once whether ffmpeg is available and encodes AAC. Without it streams play without the audio that needs it.
   */
  async probe(): Promise<void> {
    try {
      const encoders = await new Promise<Record<string, unknown>>((resolve, reject) => {
        ffmpeg().getAvailableEncoders((error: Error | null, encoderMap) =>
          error ? reject(error) : resolve(encoderMap),
        );
      });
      this.#canEncode = 'aac' in encoders;
      if (!this.#canEncode) this.#log.warn('ffmpeg has no AAC encoder: omitting audio that browsers cannot play');
    } catch (error) {
      this.#log.warn({ err: error }, 'could not run ffmpeg: omitting audio that browsers cannot play');
    }
  }

  get count(): number {
    return this.#running.size;
  }

  /** True when another process may be started. */
  get hasCapacity(): boolean {
    return this.#canEncode && this.#running.size < this.maxProcesses;
  }

  /**
   * Starts a process, or returns null at the limit. Calls `onEnd` once, however the process ends, but not after `kill`.
   */
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
