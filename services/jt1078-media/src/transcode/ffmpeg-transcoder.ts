import { PassThrough, Writable } from 'node:stream';
import { AdtsSplitter } from '@fleet/jt1078';
import ffmpeg, { type FfmpegCommand } from 'fluent-ffmpeg';
import type { SoundFormat } from './transcoders.ts';

/** One running conversion to AAC. */
export interface Transcoder {
  /** False when the process does not keep up: the sound is dropped, pictures never wait for it. */
  write(data: Buffer): boolean;
  kill(): void;
}

/** What may wait for the process: the sound of one group of pictures, handed over at its start, and what comes until it runs. */
const maxQueuedBytes = 320 * 1024;
/** Sample rate of what comes out: AAC of 16 kHz takes one encoder frame of 64 ms; at 8 kHz it would be 128 ms. */
export const outputSampleRate = 16_000;

/** An ffmpeg process that reads raw sound and writes AAC with ADTS headers. The only module that knows fluent-ffmpeg's streams. */
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
      // The process is started after some asynchronous checks: it may have been given up by then.
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

/** Without the first options the first AAC frame comes after two seconds, with them after 0.2 to 0.3 (measured). */
function toInputOptions(format: SoundFormat): string[] {
  const options = ['-v error', '-probesize 32', '-analyzeduration 0', '-fflags nobuffer', `-f ${format.format}`];
  if (format.codeSize !== null) options.push(`-code_size ${format.codeSize}`);
  // AMR states rate and channels itself.
  if (format.format !== 'amrnb') options.push(`-ar ${format.sampleRate}`, `-ac ${format.channels}`);
  return options;
}
