import { mkdir, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError, type Logger } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import { sortByStartTime } from '../domain/uploaded-files.ts';
import { isNotFoundError } from '../store/clip-directory.ts';
import { ClipNotFoundError, type ClipStorage, type StoredClip } from './clip-storage.ts';
import { Ffmpeg, FfmpegError } from './ffmpeg.ts';
import { NotConvertibleError, remuxClip } from './remux.ts';

export interface Mp4ConverterOptions {
  readonly ffmpegPath: string;
  /** Where work lies: the same file system as the clips, so that a result is moved and not copied. */
  readonly workDir: string;
  /** One run of ffmpeg. */
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly log: Logger;
  /** Free bytes where work lies. */
  readonly freeBytes?: (dir: string) => Promise<number>;
}

/** What may wait for its turn; beyond it callers are asked to come again. */
const maxQueued = 50;
/** A clip that cannot become an MP4 is not tried again for each request. */
const maxFailures = 1_000;
const staleWorkTtlMs = 3_600_000;

/** Makes the MP4 of a clip, once, however many ask for it at the same time; the making goes on when the one who asked has left. */
export class Mp4Converter {
  readonly #options: Mp4ConverterOptions;
  readonly #ffmpeg: Ffmpeg;
  readonly #inProgress = new Map<string, Promise<StoredClip>>();
  readonly #failures = new Map<string, string>();
  readonly #stopController = new AbortController();
  readonly #queue: (() => void)[] = [];
  #runningCount = 0;

  constructor(options: Mp4ConverterOptions) {
    this.#options = { ...options, workDir: resolve(options.workDir) };
    this.#ffmpeg = new Ffmpeg({ path: options.ffmpegPath, timeoutMs: options.timeoutMs });
  }

  /** Processes that run now. */
  get runningCount(): number {
    return this.#runningCount;
  }

  /** The clip's MP4, which is made when there is none yet. */
  async getMp4(upload: UploadRecord, storage: ClipStorage): Promise<StoredClip> {
    const inProgress = this.#inProgress.get(upload._id);
    if (inProgress !== undefined) return inProgress;
    const failure = this.#failures.get(upload._id);
    if (failure !== undefined) throw new AppError('unreadable_document', failure);
    const conversion = this.#findOrConvert(upload, storage).finally(() => this.#inProgress.delete(upload._id));
    this.#inProgress.set(upload._id, conversion);
    // Whoever asked may not wait for it any more.
    conversion.catch((error: unknown) =>
      this.#options.log.debug({ err: error, uploadId: upload._id }, 'no MP4 was made'),
    );
    return conversion;
  }

  /** Removes what an interrupted making has left. */
  async removeStaleWork(): Promise<void> {
    const { workDir } = this.#options;
    for (const name of await readdir(workDir).catch(() => [])) {
      // Work that ends just now is removed by itself.
      const found = await stat(join(workDir, name)).catch(() => null);
      if (found !== null && found.mtimeMs < Date.now() - staleWorkTtlMs)
        await rm(join(workDir, name), { recursive: true, force: true });
    }
  }

  /** Ends what runs. */
  async stop(): Promise<void> {
    this.#stopController.abort();
    await Promise.allSettled(this.#inProgress.values());
  }

  async #findOrConvert(upload: UploadRecord, storage: ClipStorage): Promise<StoredClip> {
    const ref = { imei: upload.clip.imei, id: upload._id };
    const stored = await storage.find(ref, 'mp4');
    if (stored !== null) return stored;
    await this.#acquireSlot();
    try {
      return await this.#convert(upload, storage);
    } catch (error) {
      throw this.#toCallerError(upload._id, error);
    } finally {
      // The place goes to the next in line; nobody who comes meanwhile can take it.
      const next = this.#queue.shift();
      if (next === undefined) this.#runningCount -= 1;
      else next();
    }
  }

  async #acquireSlot(): Promise<void> {
    if (this.#runningCount < this.#options.concurrency) {
      this.#runningCount += 1;
      return;
    }
    if (this.#queue.length >= maxQueued)
      throw new AppError('unavailable', 'Too many clips are being converted at the moment: ask again.', {
        headers: { 'Retry-After': '10' },
      });
    await new Promise<void>((start) => this.#queue.push(start));
  }

  async #convert(upload: UploadRecord, storage: ClipStorage): Promise<StoredClip> {
    this.#stopController.signal.throwIfAborted();
    const ref = { imei: upload.clip.imei, id: upload._id };
    const files = sortByStartTime(upload.files).filter((file) => file.bytes > 0);
    await mkdir(this.#options.workDir, { recursive: true });
    await this.#assertFreeSpace(files.reduce((sum, { bytes }) => sum + bytes, 0));
    const workDir = await mkdtemp(join(this.#options.workDir, `${upload._id}-`));
    try {
      const paths: string[] = [];
      for (const { path } of files) {
        const isFound = (await storage.find(ref, { file: path })) !== null;
        if (!isFound) throw new ClipNotFoundError('its files are gone');
        paths.push(await storage.localCopy(ref, { file: path }, workDir));
      }
      const output = await remuxClip({
        ffmpeg: this.#ffmpeg,
        files: paths,
        workDir,
        clipMs: upload.clip.endMs - upload.clip.startMs,
        signal: this.#stopController.signal,
      });
      return await storage.putMp4(ref, output);
    } finally {
      await rm(workDir, { recursive: true, force: true });
    }
  }

  /** Files, parts and result may lie there at one time. */
  async #assertFreeSpace(clipBytes: number): Promise<void> {
    const free = await (this.#options.freeBytes ?? readFreeBytes)(this.#options.workDir);
    if (free < clipBytes * 3) throw createDiskFullError(`${free} bytes are free, the clip has ${clipBytes}`);
  }

  #toCallerError(id: string, error: unknown): unknown {
    if (this.#stopController.signal.aborted) return new AppError('unavailable', 'The server is stopping. Retry.');
    if (error instanceof NotConvertibleError) return this.#recordFailure(id, error.message, error);
    if (error instanceof FfmpegError && error.isDiskFull) return createDiskFullError(error.message);
    if (error instanceof FfmpegError && error.hasRun) {
      this.#options.log.warn({ uploadId: id, reason: error.message, said: error.stderr.slice(-5) }, 'no MP4 of a clip');
      const sentence = error.isTimeout
        ? 'The clip could not be converted to MP4 in time.'
        : 'The clip cannot be converted to MP4: its video is damaged.';
      return this.#recordFailure(id, sentence, error);
    }
    if (error instanceof ClipNotFoundError || isNotFoundError(error))
      return new ClipNotFoundError('its files are gone', { cause: error });
    return error;
  }

  #recordFailure(id: string, sentence: string, cause: Error): AppError {
    this.#failures.set(id, sentence);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxFailures && oldest !== undefined) this.#failures.delete(oldest);
    return new AppError('unreadable_document', sentence, { cause });
  }
}

const createDiskFullError = (detail: string): AppError =>
  new AppError('unavailable', 'There is no room to convert the clip at the moment.', {
    cause: new Error(detail),
    headers: { 'Retry-After': '60' },
  });

async function readFreeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}
