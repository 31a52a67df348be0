import { mkdir, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError, hourMs, type Logger } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import { sortByStartTime } from '../domain/uploaded-files.ts';
import { isNotFoundError } from '../store/clip-directory.ts';
import { ClipNotFoundError, type ClipStorage, type StoredClip } from './clip-storage.ts';
import { Ffmpeg, FfmpegError } from './ffmpeg.ts';
import { NotConvertibleError, remuxClip } from './remux.ts';

interface Mp4ConverterOptions {
  readonly ffmpegPath: string;
  /** Working directory on the file system of the clips, so that results are moved and not copied. */
  readonly workDir: string;
  /** Time limit of one ffmpeg run. */
  readonly timeoutMs: number;
  readonly log: Logger;
  /** Returns the free bytes of the working directory. */
  readonly freeBytes?: (dir: string) => Promise<number>;
}

/** Options of one conversion. */
interface ConversionOptions {
  /** Aborts the conversion. */
  readonly signal?: AbortSignal;
  /** Called with the converted part of the clip, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

const staleWorkTtlMs = hourMs;

/** Converts clips to MP4, and stores the results. */
export class Mp4Converter {
  readonly #options: Mp4ConverterOptions;
  readonly #ffmpeg: Ffmpeg;
  readonly #running = new Set<Promise<StoredClip>>();
  readonly #stopController = new AbortController();

  constructor(options: Mp4ConverterOptions) {
    this.#options = { ...options, workDir: resolve(options.workDir) };
    this.#ffmpeg = new Ffmpeg({ path: options.ffmpegPath, timeoutMs: options.timeoutMs });
  }

  /** Number of running conversions. */
  get runningCount(): number {
    return this.#running.size;
  }

  /** Returns the clip's MP4; converts the clip if there is none yet. */
  async getMp4(upload: UploadRecord, storage: ClipStorage, options: ConversionOptions = {}): Promise<StoredClip> {
    const conversion = this.#findOrConvert(upload, storage, options);
    this.#running.add(conversion);
    return conversion.finally(() => this.#running.delete(conversion));
  }

  /** Removes working directories of interrupted conversions; by default only old ones, which no pod uses. */
  async removeStaleWork(minAgeMs = staleWorkTtlMs): Promise<void> {
    const { workDir } = this.#options;
    for (const name of await readdir(workDir).catch(() => [])) {
      // A conversion that ends at the same time removes its directory itself.
      const found = await stat(join(workDir, name)).catch(() => null);
      if (found !== null && found.mtimeMs <= Date.now() - minAgeMs)
        await rm(join(workDir, name), { recursive: true, force: true });
    }
  }

  /** Aborts all conversions. */
  async stop(): Promise<void> {
    this.#stopController.abort();
    await Promise.allSettled(this.#running);
  }

  async #findOrConvert(
    upload: UploadRecord,
    storage: ClipStorage,
    { signal: callerSignal, onProgress }: ConversionOptions,
  ): Promise<StoredClip> {
    const ref = { imei: upload.clip.imei, id: upload._id };
    const stored = await storage.find(ref, 'mp4');
    if (stored !== null) return stored;
    const stopSignal = this.#stopController.signal;
    const signal = callerSignal === undefined ? stopSignal : AbortSignal.any([stopSignal, callerSignal]);
    try {
      return await this.#convert(upload, storage, { signal, onProgress });
    } catch (error) {
      if (callerSignal?.aborted === true)
        throw new AppError('unavailable', 'The MP4 conversion was canceled. Retry.', { cause: error });
      throw this.#toCallerError(upload._id, error);
    }
  }

  async #convert(
    upload: UploadRecord,
    storage: ClipStorage,
    { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: ConversionOptions['onProgress'] },
  ): Promise<StoredClip> {
    signal.throwIfAborted();
    const ref = { imei: upload.clip.imei, id: upload._id };
    const files = sortByStartTime(upload.files).filter((file) => file.bytes > 0);
    await mkdir(this.#options.workDir, { recursive: true });
    await this.#assertFreeSpace(files.reduce((sum, { bytes }) => sum + bytes, 0));
    const workDir = await mkdtemp(join(this.#options.workDir, `${upload._id}-`));
    try {
      const paths: string[] = [];
      for (const { path } of files) {
        const isFound = (await storage.find(ref, { file: path })) !== null;
        if (!isFound) throw new ClipNotFoundError('the files of the upload no longer exist');
        paths.push(await storage.localCopy(ref, { file: path }, workDir));
      }
      const output = await remuxClip({
        ffmpeg: this.#ffmpeg,
        files: paths,
        workDir,
        clipMs: upload.clip.endMs - upload.clip.startMs,
        signal,
        onProgress,
      });
      signal.throwIfAborted();
      return await storage.putMp4(ref, output);
    } finally {
      await rm(workDir, { recursive: true, force: true });
    }
  }

  // The copied files, the parts and the result may exist at the same time.
  async #assertFreeSpace(clipBytes: number): Promise<void> {
    const free = await (this.#options.freeBytes ?? readFreeBytes)(this.#options.workDir);
    if (free < clipBytes * 3) throw createDiskFullError(`${free} bytes are free, the clip has ${clipBytes}`);
  }

  #toCallerError(id: string, error: unknown): unknown {
    if (this.#stopController.signal.aborted) return new AppError('unavailable', 'The server is stopping. Retry.');
    if (error instanceof NotConvertibleError)
      return new AppError('unreadable_document', error.message, { cause: error });
    if (error instanceof FfmpegError && error.isDiskFull) return createDiskFullError(error.message);
    if (error instanceof FfmpegError && error.hasRun) {
      this.#options.log.warn(
        { uploadId: id, reason: error.message, stderr: error.stderr.slice(-5) },
        'could not convert a clip to MP4',
      );
      const sentence = error.isTimeout
        ? 'The clip could not be converted to MP4 in time.'
        : 'The clip cannot be converted to MP4 because its video is damaged.';
      return new AppError('unreadable_document', sentence, { cause: error });
    }
    if (error instanceof ClipNotFoundError || isNotFoundError(error))
      return new ClipNotFoundError('the files of the upload no longer exist', { cause: error });
    return error;
  }
}

const createDiskFullError = (detail: string): AppError =>
  new AppError('unavailable', 'There is not enough disk space to convert the clip. Retry later.', {
    cause: new Error(detail),
    headers: { 'Retry-After': '60' },
  });

async function readFreeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}
