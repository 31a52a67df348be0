import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type ClipDirectory, isNotFoundError, type UploadRef } from '../store/clip-directory.ts';
import type { ByteRange } from './byte-range.ts';
import { type ClipName, ClipNotFoundError, type ClipStorage, type StoredClip } from './clip-storage.ts';

const mp4Name = 'clip.mp4';

/**
 * Stores clips in the directory that cameras upload them to. The MP4 is stored beside the files and removed with them.
 */
export class DirectoryStorage implements ClipStorage {
  readonly #directory: ClipDirectory;

  constructor(directory: ClipDirectory) {
    this.#directory = directory;
  }

  async find(ref: UploadRef, name: ClipName): Promise<StoredClip | null> {
    try {
      const found = await stat(this.#path(ref, name), { bigint: true });
      if (!found.isFile()) throw new Error(`the stored item of upload ${ref.id} is not a file`);
      return { sizeBytes: Number(found.size), version: found.mtimeNs.toString(36) };
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  async read(ref: UploadRef, name: ClipName, range: ByteRange): Promise<Readable> {
    try {
      const file = await open(this.#path(ref, name));
      return file.createReadStream({ ...range, highWaterMark: 256 * 1024 });
    } catch (error) {
      if (isNotFoundError(error))
        throw new ClipNotFoundError('the files of the upload no longer exist', { cause: error });
      throw error;
    }
  }

  async localCopy(ref: UploadRef, name: ClipName): Promise<string> {
    return this.#path(ref, name);
  }

  async putMp4(ref: UploadRef, localFile: string): Promise<StoredClip> {
    try {
      await rename(localFile, this.#path(ref, 'mp4'));
    } catch (error) {
      if (isNotFoundError(error))
        throw new ClipNotFoundError('the files of the upload no longer exist', { cause: error });
      throw error;
    }
    const stored = await this.find(ref, 'mp4');
    if (stored === null) throw new ClipNotFoundError('the files of the upload no longer exist');
    return stored;
  }

  #path(ref: UploadRef, name: ClipName): string {
    return name === 'mp4' ? join(this.#directory.uploadDir(ref), mp4Name) : this.#directory.filePath(ref, name.file);
  }
}
