import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { UploadRef } from '../store/clip-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { ByteRange } from './byte-range.ts';
import { type ClipName, ClipNotFoundError, type ClipStorage, type StoredClip } from './clip-storage.ts';

const toObjectKey = (ref: UploadRef, name: ClipName): string =>
  `${ref.id}/${name === 'mp4' ? 'clip.mp4' : `files/${name.file}`}`;

/**
 * Stores clips in S3-compatible object storage, which every pod can serve and remove. Keys:
 * `<prefix><upload>/files/<path>` and `<prefix><upload>/clip.mp4`.
 */
export class S3Storage implements ClipStorage {
  readonly #objects: ObjectStore;
  #copies = 0;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  find(ref: UploadRef, name: ClipName): Promise<StoredClip | null> {
    return this.#objects.find(toObjectKey(ref, name));
  }

  async read(ref: UploadRef, name: ClipName, range: ByteRange): Promise<Readable> {
    return assertFound(await this.#objects.read(toObjectKey(ref, name), range));
  }

  async localCopy(ref: UploadRef, name: ClipName, workDir: string): Promise<string> {
    const stored = await this.find(ref, name);
    if (stored === null) throw new ClipNotFoundError('the files of the upload no longer exist');
    const path = join(workDir, `copy-${this.#copies++}`);
    if (stored.sizeBytes === 0) await (await open(path, 'w')).close();
    else {
      const range = { start: 0, end: stored.sizeBytes - 1 };
      await pipeline(assertFound(await this.#objects.readFast(toObjectKey(ref, name), range)), createWriteStream(path));
    }
    return path;
  }

  /** Stores the MP4 unless it exists, so that concurrent conversions of two pods store it once. */
  async putMp4(ref: UploadRef, localFile: string): Promise<StoredClip> {
    if ((await this.find(ref, 'mp4')) === null) await this.put(ref, 'mp4', localFile, 'video/mp4');
    const stored = await this.find(ref, 'mp4');
    if (stored === null) throw new ClipNotFoundError('the MP4 of the upload no longer exists');
    return stored;
  }

  put(ref: UploadRef, name: ClipName, localFile: string, contentType: string): Promise<void> {
    return this.#objects.put(toObjectKey(ref, name), localFile, contentType);
  }

  /** Removes all objects of an upload. Succeeds if there are none. */
  remove(uploadId: string): Promise<void> {
    return this.#objects.removeAll(`${uploadId}/`);
  }
}

function assertFound(body: Readable | null): Readable {
  if (body === null) throw new ClipNotFoundError('the files of the upload no longer exist');
  return body;
}
