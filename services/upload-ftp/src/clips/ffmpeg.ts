import ffmpeg from 'fluent-ffmpeg';

export interface FfmpegInput {
  /** A path, or a URL of the protocol `concat`. */
  readonly source: string;
  readonly options: readonly string[];
}

export interface FfmpegRun {
  readonly inputs: readonly FfmpegInput[];
  readonly outputOptions: readonly string[];
  /** A file, or null where only what ffmpeg says is of interest. */
  readonly output: string | null;
}

/** ffmpeg has ended with an error, or was ended. */
export class FfmpegError extends Error {
  override readonly name = 'FfmpegError';
  /** What it said last, for the log: it names paths. */
  readonly stderr: readonly string[];
  readonly isTimeout: boolean;
  /** False when the program could not even be started. */
  readonly hasRun: boolean;

  constructor(message: string, details: { stderr: readonly string[]; isTimeout: boolean; hasRun: boolean }) {
    super(message);
    this.stderr = details.stderr;
    this.isTimeout = details.isTimeout;
    this.hasRun = details.hasRun;
  }

  /** True when nothing but the input can be to blame. */
  get isAboutInput(): boolean {
    return this.hasRun && !this.isTimeout && !this.isDiskFull;
  }

  /** True when the disk is full, which is no fault of the file. */
  get isDiskFull(): boolean {
    return this.stderr.some((line) => /No space left on device|Disk quota exceeded/i.test(line));
  }
}

const maxLines = 200;

/** The ffmpeg program: runs one command at a time for each caller, with a time limit. The only module that knows fluent-ffmpeg. */
export class Ffmpeg {
  readonly #timeoutMs: number;
  readonly #path: string;

  constructor(options: { path: string; timeoutMs: number }) {
    this.#path = options.path;
    this.#timeoutMs = options.timeoutMs;
  }

  /** Runs a command to its end; the lines that it wrote about it. An abort, or the time limit, kills the process. */
  run({ inputs, outputOptions, output }: FfmpegRun, signal: AbortSignal): Promise<string[]> {
    const stderr: string[] = [];
    // What runs for a download waits for what receives from cameras.
    const command = ffmpeg({ niceness: 10, stdoutLines: maxLines }).setFfmpegPath(this.#path);
    for (const input of inputs) command.input(input.source).inputOptions([...input.options]);
    command.outputOptions(['-threads 1', '-nostdin', ...outputOptions]).output(output ?? '-');
    return new Promise((resolve, reject) => {
      let isTimeout = false;
      let isKilled = false;
      let hasRun = false;
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
        if (error === undefined) resolve(stderr);
        else reject(new FfmpegError(error.message, { stderr, isTimeout, hasRun }));
      };
      command
        // The process is started after some asynchronous checks: it may have been given up by then.
        .on('start', () => {
          if (isKilled || signal.aborted) command.kill('SIGKILL');
        })
        .on('stderr', (line: string) => {
          hasRun ||= line.startsWith('ffmpeg version');
          stderr.push(line);
          if (stderr.length > maxLines) stderr.shift();
        })
        .on('error', (error: Error) => finish(error))
        .on('end', () => finish())
        .run();
    });
  }
}
