import { KeyedMutex, type Logger } from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';
import type { ClipDirectory, UploadRef } from '../store/clip-directory.ts';
import type { JobSlice } from '../use-cases/resumable-job.ts';
import { toUploadRef } from './clip-content.ts';
import { detectContentType } from './content-type.ts';
import type { DirectoryStorage } from './directory-storage.ts';
import type { S3Storage } from './s3-storage.ts';

/** The `server.podId` of an upload whose files are in object storage. */
export const anyPod = 'any';

export interface ClipArchiverOptions {
  readonly directory: ClipDirectory;
  readonly local: DirectoryStorage;
  /** Null if clips stay in the directory. */
  readonly shared: S3Storage | null;
  readonly records: Pick<UploadRepository, 'find' | 'set'>;
  readonly log: Logger;
}

/**
 * Moves the files of completed uploads to object storage, if configured. It writes the objects first, then the record,
 * and then removes the directory, so that a crash loses nothing. `sweep` repeats interrupted moves. Without object
 * storage it does nothing.
 */
export class ClipArchiver {
  readonly #options: ClipArchiverOptions;
  /** Prevents that moving and removing of one upload overlap. */
  readonly #mutex = new KeyedMutex();
  #httpUrl = '';

  constructor(options: ClipArchiverOptions) {
    this.#options = options;
  }

  /** Sets the URL of this pod's HTTP server. */
  setHttpUrl(httpUrl: string): void {
    this.#httpUrl = httpUrl;
  }

  /** Moves the files of an upload if it is completed. Call it after the upload has completed. */
  archive(ref: UploadRef): Promise<void> {
    if (this.#options.shared === null) return Promise.resolve();
    return this.#mutex.runExclusive(ref.id, () => this.#archive(ref));
  }

  /**
   * Removes an upload's files wherever they are stored, all or none. The files in the directory are removed last, in
   * one step.
   */
  remove(ref: UploadRef): Promise<void> {
    const { shared, records, directory } = this.#options;
    return this.#mutex.runExclusive(ref.id, async () => {
      // Only completed uploads are in object storage, which may be unavailable now.
      const status = shared === null ? null : ((await records.find(ref.id))?.status ?? 'completed');
      if (status === 'completed') await shared?.remove(ref.id);
      await directory.remove(ref);
    });
  }

  /**
   * Moves completed uploads that are still in the directory. Returns the cursor to continue after, or null at the end.
   */
  async sweep({ cursor, isOver }: JobSlice<UploadRef>): Promise<UploadRef | null> {
    const { shared, directory, log } = this.#options;
    if (shared === null) return null;
    for await (const ref of directory.listUploads(cursor)) {
      try {
        await this.archive(ref);
      } catch (error) {
        // The storage is probably unavailable, so the slice ends here instead of waiting for each upload. The next
        // slice continues after this upload, so that a single failure does not block the others.
        log.warn({ err: error, uploadId: ref.id }, 'could not move a clip to object storage, retrying later');
        return ref;
      }
      if (isOver()) return ref;
    }
    return null;
  }

  /** Waits for running operations. */
  async stop(): Promise<void> {
    await this.#mutex.waitUntilIdle();
  }

  async #archive(ref: UploadRef): Promise<void> {
    const { records, directory, log } = this.#options;
    const upload = await records.find(ref.id);
    if (upload?.status !== 'completed' || upload.server === null) return;
    if (upload.server.podId !== anyPod) {
      if (!(await this.#copyToShared(upload))) return;
      const server = { podId: anyPod, httpUrl: this.#httpUrl };
      // The upload was deleted while it was moved, so the copied objects are removed.
      if ((await records.set(ref.id, ['completed'], { server })) === null) return this.#options.shared?.remove(ref.id);
      log.info({ uploadId: ref.id, bytes: upload.filesize }, 'moved a clip to object storage');
    }
    await directory.remove(ref);
  }

  /** Returns false if the files are not here: they are on another pod or have been removed. */
  async #copyToShared(upload: UploadRecord): Promise<boolean> {
    const { shared, directory, local } = this.#options;
    const ref = toUploadRef(upload);
    for (const { path } of upload.files) {
      const file = directory.filePath(ref, path);
      const type = await detectContentType(path, async () => Buffer.alloc(0));
      if ((await local.find(ref, { file: path })) === null) return false;
      await shared?.put(ref, { file: path }, file, type);
    }
    if ((await local.find(ref, 'mp4')) !== null) {
      const file = await local.localCopy(ref, 'mp4');
      await shared?.put(ref, 'mp4', file, 'video/mp4');
    }
    return true;
  }
}
