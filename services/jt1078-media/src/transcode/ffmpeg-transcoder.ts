import { PassThrough, Writable } from 'node:stream';
import { AdtsSplitter } from '@fleet/jt1078';
import ffmpeg, { type FfmpegCommand } from 'fluent-ffmpeg';
import type { SoundFormat } from './transcoders.ts';

/** One running conversion to AAC. */
export interface Transcoder {
  /** Returns false when the process is too slow: the audio is dropped, as video never waits for it. */
  write(data: Buffer): boolean;
  kill(): void;
}

/**
 * Limit of the input queue: the audio of one group of pictures, passed at the start, and the audio until the process
 * runs.
 */
const maxQueuedBytes = 320 * 1024;
/** Output sample rate. At 16 kHz AAC adds one encoder frame of 64 ms; at 8 kHz it would be 128 ms. */
export const outputSampleRate = 16_000;

/**
 * Runs an ffmpeg process that reads raw audio and writes AAC with ADTS headers. The only module that uses
 * fluent-ffmpeg's streams.
 */
export class FfmpegTranscoder implements Transcoder {
  readonly #input = new PassThrough({ highWaterMark: maxQueuedBytes });
  readonly #command: FfmpegCommand;
  #isKilled = false;

  constructor(
    format: SoundFormat,
    callbacks: { onFrame: (adtsFrame: Buffer) => void; onEnd: (reason: string) => void; onExit: () => void },
  ) {
    const splitter = new AdtsSplitter((frame) => {
      if (!this.#isKilled) callbacks.onFrame(frame);
    });
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        splitter.push(chunk);
        done();
      },
    });
    const onExit = (reason: string): void => {
      callbacks.onExit();
      if (!this.#isKilled) callbacks.onEnd(reason);
    };
    this.#command = ffmpeg(this.#input)
      .inputOptions(toInputOptions(format))
      .outputOptions(['-threads 1', `-ar ${outputSampleRate}`, '-c:a aac', '-b:a 32k', '-flush_packets 1'])
      .format('adts')
      // The process starts after some asynchronous checks, in which it may have been killed.
      .on('start', () => {
        if (this.#isKilled) this.#command.kill('SIGKILL');
      })
      .on('error', (error: Error) => onExit(error.message))
      .on('end', () => onExit('ended'));
    this.#command.pipe(output, { end: true });
  }

  write(data: Buffer): boolean {
    if (this.#isKilled || this.#input.writableLength + this.#input.readableLength > maxQueuedBytes) return false;
    this.#input.write(data);
    return true;
  }

  kill(): void {
    if (this.#isKilled) return;
    this.#isKilled = true;
    this.#command.kill('SIGKILL');
    this.#input.destroy();
  }
}

/**
 * Returns the input options. Without the first ones the first AAC frame takes two seconds, with them 0.2 to 0.3
 * (measured).
 */
function toInputOptions(format: SoundFormat): string[] {
  const options = ['-v error', '-probesize 32', '-analyzeduration 0', '-fflags nobuffer', `-f ${format.format}`];
  if (format.codeSize !== null) options.push(`-code_size ${format.codeSize}`);
  // AMR declares rate and channels itself.
  if (format.format !== 'amrnb') options.push(`-ar ${format.sampleRate}`, `-ac ${format.channels}`);
  return options;
}
