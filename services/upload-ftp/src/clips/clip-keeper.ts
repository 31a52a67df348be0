import type { Logger } from '@fleet/service-kit';
import type { UploadRecord, UploadRecords } from '@fleet/storage';
import type { ClipDirectory, UploadPlace } from '../store/clip-directory.ts';
import { Turns } from '../store/turns.ts';
import type { SweepTurn } from '../use-cases/turn-taker.ts';
import { placeOf } from './clip-content.ts';
import { contentTypeOf } from './content-type.ts';
import type { DirectoryStorage } from './directory-storage.ts';
import type { S3Storage } from './s3-storage.ts';

/** The `server.podId` of an upload whose files are in object storage. */
export const anyPod = 'any';

export interface ClipKeeperOptions {
  readonly directory: ClipDirectory;
  readonly local: DirectoryStorage;
  /** Null where clips stay in the directory. */
  readonly shared: S3Storage | null;
  readonly records: Pick<UploadRecords, 'find' | 'set'>;
  readonly log: Logger;
}

/**
 * Moves the files of completed uploads into object storage, where there is one. In an order that a crash can not harm: the objects, then the record, then
 * the directory; whatever was interrupted is done again by `sweep`. Without object storage there is nothing to do.
 */
export class ClipKeeper {
  readonly #options: ClipKeeperOptions;
  /** Moving and removing an upload never overlap. */
  readonly #turns = new Turns();
  #httpUrl = '';

  constructor(options: ClipKeeperOptions) {
    this.#options = options;
  }

  /** Where this pod's HTTP side is reached. */
  serveAt(httpUrl: string): void {
    this.#httpUrl = httpUrl;
  }

  /** Moves the files of an upload if it is completed; call it once it is. */
  keep(place: UploadPlace): Promise<void> {
    if (this.#options.shared === null) return Promise.resolve();
    return this.#turns.take(place.id, () => this.#keep(place));
  }

  /** Removes an upload's files wherever they are, all or none: those of the directory last and in one step. */
  remove(place: UploadPlace): Promise<void> {
    const { shared, records, directory } = this.#options;
    return this.#turns.take(place.id, async () => {
      // Nothing but completed uploads ever goes to object storage, which may be away just now.
      const status = shared === null ? null : ((await records.find(place.id))?.status ?? 'completed');
      if (status === 'completed') await shared?.remove(place.id);
      await directory.remove(place);
    });
  }

  /** Moves what lies in the directory and should not; answers behind which to go on, or null where all has been looked at. */
  async sweep({ from, isOver }: SweepTurn<UploadPlace>): Promise<UploadPlace | null> {
    const { shared, directory, log } = this.#options;
    if (shared === null) return null;
    for await (const place of directory.places(from)) {
      try {
        await this.keep(place);
      } catch (error) {
        // Most likely the storage is away: the others would wait for it one after the other. Where it is this one alone, it does not keep them from being moved.
        log.warn({ err: error, uploadId: place.id }, 'a clip could not be moved to object storage; tried again later');
        return place;
      }
      if (isOver()) return place;
    }
    return null;
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    await this.#turns.whenIdle();
  }

  async #keep(place: UploadPlace): Promise<void> {
    const { records, directory, log } = this.#options;
    const upload = await records.find(place.id);
    if (upload?.status !== 'completed' || upload.server === null) return;
    if (upload.server.podId !== anyPod) {
      if (!(await this.#store(upload))) return;
      const server = { podId: anyPod, httpUrl: this.#httpUrl };
      // Deleted meanwhile: then nobody will ask for what was stored just now.
      if ((await records.set(place.id, ['completed'], { server })) === null)
        return this.#options.shared?.remove(place.id);
      log.info({ uploadId: place.id, bytes: upload.filesize }, 'a clip was moved to object storage');
    }
    await directory.remove(place);
  }

  /** False when the files are not here: they are on another pod, or have been removed. */
  async #store(upload: UploadRecord): Promise<boolean> {
    const { shared, directory, local } = this.#options;
    const place = placeOf(upload);
    for (const { path } of upload.files) {
      const file = directory.filePath(place, path);
      const type = await contentTypeOf(path, async () => Buffer.alloc(0));
      if ((await local.find(place, { file: path })) === null) return false;
      await shared?.put(place, { file: path }, file, type);
    }
    if ((await local.find(place, 'mp4')) !== null) {
      const file = await local.localCopy(place, 'mp4');
      await shared?.put(place, 'mp4', file, 'video/mp4');
    }
    return true;
  }
}
