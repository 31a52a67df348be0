import type { ChildProcess } from 'node:child_process';
import ffmpeg from 'fluent-ffmpeg';
import { childReaper } from './child-reaper.ts';

export interface FfmpegInput {
  /** A path, or a URL of the protocol `concat`. */
  readonly source: string;
  readonly options: readonly string[];
}

interface FfmpegRun {
  readonly inputs: readonly FfmpegInput[];
  readonly outputOptions: readonly string[];
  /** Path of the output file; null if only ffmpeg's log output is needed. */
  readonly output: string | null;
  /** Called with the time that the output has reached. */
  readonly onTime?: (timeMs: number) => void;
}

/** Thrown when ffmpeg exits with an error or is killed. */
export class FfmpegError extends Error {
  override readonly name = 'FfmpegError';
  /** The last lines of stderr, for the log only: they contain paths. */
  readonly stderr: readonly string[];
  readonly isTimeout: boolean;
  /** False if the program could not be started. */
  readonly hasRun: boolean;

  constructor(message: string, details: { stderr: readonly string[]; isTimeout: boolean; hasRun: boolean }) {
    super(message);
    this.stderr = details.stderr;
    this.isTimeout = details.isTimeout;
    this.hasRun = details.hasRun;
  }

  /** True if only the input can be the cause. */
  get isAboutInput(): boolean {
    return this.hasRun && !this.isTimeout && !this.isDiskFull;
  }

  /** True if the disk is full, which the input does not cause. */
  get isDiskFull(): boolean {
    return this.stderr.some((line) => /No space left on device|Disk quota exceeded/i.test(line));
  }
}

const maxLines = 200;

/** Wraps the ffmpeg program with a time limit for each run. The only module that imports fluent-ffmpeg. */
export class Ffmpeg {
  readonly #timeoutMs: number;
  readonly #path: string;

  constructor(options: { path: string; timeoutMs: number }) {
    this.#path = options.path;
    this.#timeoutMs = options.timeoutMs;
  }

  /** Runs a command to its end and returns its stderr lines. An abort or the time limit kills the process. */
  run({ inputs, outputOptions, output, onTime }: FfmpegRun, signal: AbortSignal): Promise<string[]> {
    const stderr: string[] = [];
    // Conversions run at low priority: receiving from cameras comes first.
    const command = ffmpeg({ niceness: 10, stdoutLines: maxLines }).setFfmpegPath(this.#path);
    for (const input of inputs) command.input(input.source).inputOptions([...input.options]);
    command.outputOptions(['-threads 1', '-nostdin', ...outputOptions]).output(output ?? '-');
    return new Promise((resolve, reject) => {
      let isTimeout = false;
      let isKilled = false;
      let hasRun = false;
      let pid: number | undefined;
      const kill = (): void => {
        isKilled = true;
        command.kill('SIGKILL');
      };
      const timer = setTimeout(() => {
        isTimeout = true;
        kill();
      }, this.#timeoutMs);
      signal.addEventListener('abort', kill, { once: true });
      const finish = (error?: Error): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', kill);
        if (pid !== undefined) childReaper.remove(pid);
        if (error === undefined) resolve(stderr);
        else reject(new FfmpegError(error.message, { stderr, isTimeout, hasRun }));
      };
      command
        // fluent-ffmpeg starts the process after asynchronous checks. The run may already have been aborted.
        .on('start', () => {
          pid = (command as typeof command & { readonly ffmpegProc?: ChildProcess }).ffmpegProc?.pid;
          if (pid !== undefined) childReaper.add(pid);
          if (isKilled || signal.aborted) command.kill('SIGKILL');
        })
        .on('stderr', (line: string) => {
          hasRun ||= line.startsWith('ffmpeg version');
          const time = parseTimeMs(line);
          if (time !== null) onTime?.(time);
          stderr.push(line);
          if (stderr.length > maxLines) stderr.shift();
        })
        .on('error', (error: Error) => finish(error))
        .on('end', () => finish())
        .run();
    });
  }
}

/**
 * Parses the time in a line about the progress, `frame= 10 ... time=00:01:02.50 ...`. The event `progress` of
 * fluent-ffmpeg is not used: it makes ffprobe read the input without the limits on protocols and formats.
 */
function parseTimeMs(line: string): number | null {
  const match = /\btime=(\d+):(\d+):([\d.]+)/.exec(line);
  if (match === null) return null;
  const [, hours = 0, minutes = 0, seconds = 0] = match.map(Number);
  return Math.round((hours * 3_600 + minutes * 60 + seconds) * 1_000);
}
