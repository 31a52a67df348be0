import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { MediaPreview } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';
import pLimit, { type LimitFunction } from 'p-limit';
import { ClipNotFoundError, type ClipStorage } from '../clips/clip-storage.ts';
import { Ffmpeg } from '../clips/ffmpeg.ts';
import { sortByStartTime } from '../domain/uploaded-files.ts';
import type { MediaFiles } from '../media/media-files.ts';
import type { MediaRef } from '../store/media-directory.ts';
import { type RenderedThumbnail, renderThumbnail } from './render-thumbnail.ts';

interface PreviewsDeps {
  readonly media: Pick<MediaFiles, 'localCopy' | 'storeDerived'>;
  readonly records: Pick<UploadRepository, 'find'>;
  readonly findStorage: (upload: UploadRecord) => ClipStorage;
  /** Directory for temporary files, on the file system of the files. */
  readonly workDir: string;
  readonly ffmpegPath: string;
  readonly maxParallel: number;
}

/** A file of a terminal, or an uploaded clip. */
type PreviewSource = { readonly fileId: string } | { readonly uploadId: string };

const timeoutMs = 30_000;
/** An upload may begin with files without pictures. */
const maxTriedFiles = 3;

/** Creates thumbnails of pictures and videos, some at a time. */
export class Previews {
  readonly #deps: PreviewsDeps;
  readonly #ffmpeg: Ffmpeg;
  readonly #limit: LimitFunction;
  readonly #stopping = new AbortController();

  constructor(deps: PreviewsDeps) {
    this.#deps = deps;
    this.#ffmpeg = new Ffmpeg({ path: deps.ffmpegPath, timeoutMs });
    this.#limit = pLimit(deps.maxParallel);
  }

  /** Returns null if the source has no readable picture. Throws 404 if it does not exist here. */
  create(imei: string, source: PreviewSource): Promise<MediaPreview | null> {
    return this.#limit(async () => {
      this.#stopping.signal.throwIfAborted();
      await mkdir(this.#deps.workDir, { recursive: true, mode: 0o750 });
      const workDir = await mkdtemp(join(this.#deps.workDir, 'preview-'));
      try {
        return await ('fileId' in source
          ? this.#createOfFile({ imei, fileId: source.fileId }, workDir)
          : this.#createOfUpload(source.uploadId, workDir));
      } finally {
        await rm(workDir, { recursive: true, force: true });
      }
    });
  }

  /** Aborts all. */
  stop(): void {
    this.#stopping.abort();
  }

  async #createOfFile(ref: MediaRef, workDir: string): Promise<MediaPreview | null> {
    const path = await this.#deps.media.localCopy(ref, join(workDir, 'source'));
    if (path === null) throw new AppError('not_found', 'There is no such file.');
    const output = join(workDir, 'thumbnail');
    const rendered = await renderThumbnail(this.#ffmpeg, path, output, this.#stopping.signal);
    return rendered === null ? null : this.#store(ref, rendered, output, rendered.durationMs);
  }

  async #createOfUpload(uploadId: string, workDir: string): Promise<MediaPreview | null> {
    const upload = await this.#deps.records.find(uploadId);
    if (upload?.status !== 'completed') throw new AppError('not_found', 'There is no such upload.');
    const files = sortByStartTime(upload.files).filter(({ bytes }) => bytes > 0);
    const ref = { imei: upload.clip.imei, id: uploadId };
    for (const { path } of files.slice(0, maxTriedFiles)) {
      const output = join(workDir, 'thumbnail');
      const source = await this.#copyClip(upload, path, workDir);
      const rendered = await renderThumbnail(this.#ffmpeg, source, output, this.#stopping.signal);
      if (rendered === null) continue;
      const { startMs, endMs } = upload.clip;
      const durationMs = files.length === 1 && rendered.durationMs !== null ? rendered.durationMs : endMs - startMs;
      return this.#store({ imei: ref.imei, fileId: uploadId }, rendered, output, durationMs);
    }
    return null;
  }

  async #copyClip(upload: UploadRecord, file: string, workDir: string): Promise<string> {
    const ref = { imei: upload.clip.imei, id: upload._id };
    try {
      return await this.#deps.findStorage(upload).localCopy(ref, { file }, workDir);
    } catch (cause) {
      if (!(cause instanceof ClipNotFoundError)) throw cause;
      throw new AppError('not_found', 'There is no such upload.', { cause });
    }
  }

  async #store(
    { imei, fileId: sourceId }: MediaRef,
    { source, thumbnail }: RenderedThumbnail,
    path: string,
    durationMs: number | null,
  ): Promise<MediaPreview> {
    const fileId = createHash('sha256').update(`thumbnail/${sourceId}`).digest('hex').slice(0, 24);
    const server = await this.#deps.media.storeDerived({ imei, fileId }, path, 'image/jpeg');
    return { ...source, durationMs, thumbnail: { fileId, server, ...thumbnail } };
  }
}
