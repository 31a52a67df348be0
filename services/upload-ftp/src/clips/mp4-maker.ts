import { mkdir, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError, type Logger } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import { inOrder } from '../domain/uploaded-files.ts';
import { isMissing } from '../store/clip-directory.ts';
import { ClipGoneError, type ClipStorage, type StoredClip } from './clip-storage.ts';
import { Ffmpeg, FfmpegError } from './ffmpeg.ts';
import { NotConvertibleError, remuxClip } from './remux.ts';

export interface Mp4MakerOptions {
  readonly ffmpegPath: string;
  /** Where work lies: the same file system as the clips, so that a result is moved and not copied. */
  readonly workDir: string;
  /** One run of ffmpeg. */
  readonly limitMs: number;
  readonly parallel: number;
  readonly log: Logger;
  /** Free bytes where work lies. */
  readonly freeBytes?: (dir: string) => Promise<number>;
}

/** What may wait for its turn; beyond it callers are asked to come again. */
const maxWaiting = 50;
/** A clip that can not become an MP4 is not tried again for each request. */
const maxRemembered = 1_000;
const staleWorkMs = 3_600_000;

/** Makes the MP4 of a clip, once, however many ask for it at the same time; the making goes on when the one who asked has left. */
export class Mp4Maker {
  readonly #options: Mp4MakerOptions;
  readonly #ffmpeg: Ffmpeg;
  readonly #underWay = new Map<string, Promise<StoredClip>>();
  readonly #refused = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: Mp4MakerOptions) {
    this.#options = { ...options, workDir: resolve(options.workDir) };
    this.#ffmpeg = new Ffmpeg({ path: options.ffmpegPath, limitMs: options.limitMs });
  }

  /** Processes that run now. */
  get running(): number {
    return this.#running;
  }

  /** The clip's MP4, which is made when there is none yet. */
  async mp4Of(upload: UploadRecord, storage: ClipStorage): Promise<StoredClip> {
    const underWay = this.#underWay.get(upload._id);
    if (underWay !== undefined) return underWay;
    const refusal = this.#refused.get(upload._id);
    if (refusal !== undefined) throw new AppError('unreadable_document', refusal);
    const work = this.#findOrMake(upload, storage).finally(() => this.#underWay.delete(upload._id));
    this.#underWay.set(upload._id, work);
    // Whoever asked may not wait for it any more.
    work.catch((error: unknown) => this.#options.log.debug({ err: error, uploadId: upload._id }, 'no MP4 was made'));
    return work;
  }

  /** Removes what an interrupted making has left. */
  async removeStaleWork(): Promise<void> {
    const { workDir } = this.#options;
    for (const name of await readdir(workDir).catch(() => [])) {
      // Work that ends just now is removed by itself.
      const found = await stat(join(workDir, name)).catch(() => null);
      if (found !== null && found.mtimeMs < Date.now() - staleWorkMs)
        await rm(join(workDir, name), { recursive: true, force: true });
    }
  }

  /** Ends what runs. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  async #findOrMake(upload: UploadRecord, storage: ClipStorage): Promise<StoredClip> {
    const place = { imei: upload.clip.imei, id: upload._id };
    const stored = await storage.find(place, 'mp4');
    if (stored !== null) return stored;
    await this.#turn();
    try {
      return await this.#make(upload, storage);
    } catch (error) {
      throw this.#explain(upload._id, error);
    } finally {
      // The place goes to the next in line; nobody who comes meanwhile can take it.
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < this.#options.parallel) {
      this.#running += 1;
      return;
    }
    if (this.#queue.length >= maxWaiting)
      throw new AppError('unavailable', 'Too many clips are being converted at the moment: ask again.', {
        headers: { 'Retry-After': '10' },
      });
    await new Promise<void>((start) => this.#queue.push(start));
  }

  async #make(upload: UploadRecord, storage: ClipStorage): Promise<StoredClip> {
    this.#stop.signal.throwIfAborted();
    const place = { imei: upload.clip.imei, id: upload._id };
    const files = inOrder(upload.files).filter((file) => file.bytes > 0);
    await mkdir(this.#options.workDir, { recursive: true });
    await this.#checkRoom(files.reduce((sum, { bytes }) => sum + bytes, 0));
    const workDir = await mkdtemp(join(this.#options.workDir, `${upload._id}-`));
    try {
      const paths: string[] = [];
      for (const { path } of files) {
        const isThere = (await storage.find(place, { file: path })) !== null;
        if (!isThere) throw new ClipGoneError('its files are gone');
        paths.push(await storage.localCopy(place, { file: path }, workDir));
      }
      const output = await remuxClip({
        ffmpeg: this.#ffmpeg,
        files: paths,
        workDir,
        clipMs: upload.clip.endMs - upload.clip.startMs,
        signal: this.#stop.signal,
      });
      return await storage.putMp4(place, output);
    } finally {
      await rm(workDir, { recursive: true, force: true });
    }
  }

  /** Files, parts and result may lie there at one time. */
  async #checkRoom(clipBytes: number): Promise<void> {
    const free = await (this.#options.freeBytes ?? freeBytesAt)(this.#options.workDir);
    if (free < clipBytes * 3) throw diskFull(`${free} bytes are free, the clip has ${clipBytes}`);
  }

  #explain(id: string, error: unknown): unknown {
    if (this.#stop.signal.aborted) return new AppError('unavailable', 'The server is stopping: ask again.');
    if (error instanceof NotConvertibleError) return this.#refuse(id, error.message, error);
    if (error instanceof FfmpegError && error.isDiskFull) return diskFull(error.message);
    if (error instanceof FfmpegError && error.hasRun) {
      this.#options.log.warn({ uploadId: id, reason: error.message, said: error.said.slice(-5) }, 'no MP4 of a clip');
      const sentence = error.isTimeout
        ? 'The clip could not be converted to MP4 in time.'
        : 'The clip can not be converted to MP4: its video is damaged.';
      return this.#refuse(id, sentence, error);
    }
    if (error instanceof ClipGoneError || isMissing(error))
      return new ClipGoneError('its files are gone', { cause: error });
    return error;
  }

  #refuse(id: string, sentence: string, cause: Error): AppError {
    this.#refused.set(id, sentence);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > maxRemembered && oldest !== undefined) this.#refused.delete(oldest);
    return new AppError('unreadable_document', sentence, { cause });
  }
}

const diskFull = (detail: string): AppError =>
  new AppError('unavailable', 'There is no room to convert the clip at the moment.', {
    cause: new Error(detail),
    headers: { 'Retry-After': '60' },
  });

async function freeBytesAt(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}
