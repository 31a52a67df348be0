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
  /** Null where clips stay in the directory. */
  readonly shared: S3Storage | null;
  readonly records: Pick<UploadRepository, 'find' | 'set'>;
  readonly log: Logger;
}

/**
 * Moves the files of completed uploads into object storage, where there is one. In an order that a crash cannot harm: the objects, then the record, then
 * the directory; whatever was interrupted is done again by `sweep`. Without object storage there is nothing to do.
 */
export class ClipArchiver {
  readonly #options: ClipArchiverOptions;
  /** Moving and removing an upload never overlap. */
  readonly #mutex = new KeyedMutex();
  #httpUrl = '';

  constructor(options: ClipArchiverOptions) {
    this.#options = options;
  }

  /** Where this pod's HTTP side is reached. */
  setHttpUrl(httpUrl: string): void {
    this.#httpUrl = httpUrl;
  }

  /** Moves the files of an upload if it is completed; call it once it is. */
  archive(ref: UploadRef): Promise<void> {
    if (this.#options.shared === null) return Promise.resolve();
    return this.#mutex.runExclusive(ref.id, () => this.#archive(ref));
  }

  /** Removes an upload's files wherever they are, all or none: those of the directory last and in one step. */
  remove(ref: UploadRef): Promise<void> {
    const { shared, records, directory } = this.#options;
    return this.#mutex.runExclusive(ref.id, async () => {
      // Nothing but completed uploads ever goes to object storage, which may be away just now.
      const status = shared === null ? null : ((await records.find(ref.id))?.status ?? 'completed');
      if (status === 'completed') await shared?.remove(ref.id);
      await directory.remove(ref);
    });
  }

  /** Moves what lies in the directory and should not; answers behind which to go on, or null where all has been looked at. */
  async sweep({ cursor, isOver }: JobSlice<UploadRef>): Promise<UploadRef | null> {
    const { shared, directory, log } = this.#options;
    if (shared === null) return null;
    for await (const ref of directory.listUploads(cursor)) {
      try {
        await this.archive(ref);
      } catch (error) {
        // Most likely the storage is away: the others would wait for it one after the other. Where it is this one alone, it does not keep them from being moved.
        log.warn({ err: error, uploadId: ref.id }, 'a clip could not be moved to object storage; tried again later');
        return ref;
      }
      if (isOver()) return ref;
    }
    return null;
  }

  /** Waits for what is under way. */
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
      // Deleted meanwhile: then nobody will ask for what was stored just now.
      if ((await records.set(ref.id, ['completed'], { server })) === null) return this.#options.shared?.remove(ref.id);
      log.info({ uploadId: ref.id, bytes: upload.filesize }, 'a clip was moved to object storage');
    }
    await directory.remove(ref);
  }

  /** False when the files are not here: they are on another pod, or have been removed. */
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
