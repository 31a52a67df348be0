import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type ClipDirectory, isMissing, type UploadPlace } from '../store/clip-directory.ts';
import type { ByteRange } from './byte-range.ts';
import { ClipGoneError, type ClipName, type ClipStorage, type StoredClip } from './clip-storage.ts';

const mp4Name = 'clip.mp4';

/** Clips in the directory that cameras have uploaded them to; the MP4 lies beside the files, and goes with them. */
export class DirectoryStorage implements ClipStorage {
  readonly #directory: ClipDirectory;

  constructor(directory: ClipDirectory) {
    this.#directory = directory;
  }

  async find(place: UploadPlace, name: ClipName): Promise<StoredClip | null> {
    try {
      const found = await stat(this.#path(place, name), { bigint: true });
      if (!found.isFile()) throw new Error(`what is stored of upload ${place.id} is no file`);
      return { sizeBytes: Number(found.size), version: found.mtimeNs.toString(36) };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async read(place: UploadPlace, name: ClipName, range: ByteRange): Promise<Readable> {
    try {
      const file = await open(this.#path(place, name));
      return file.createReadStream({ ...range, highWaterMark: 256 * 1024 });
    } catch (error) {
      if (isMissing(error)) throw new ClipGoneError('its files are gone', { cause: error });
      throw error;
    }
  }

  async localCopy(place: UploadPlace, name: ClipName): Promise<string> {
    return this.#path(place, name);
  }

  async putMp4(place: UploadPlace, localFile: string): Promise<StoredClip> {
    try {
      await rename(localFile, this.#path(place, 'mp4'));
    } catch (error) {
      if (isMissing(error)) throw new ClipGoneError('its files are gone', { cause: error });
      throw error;
    }
    const stored = await this.find(place, 'mp4');
    if (stored === null) throw new ClipGoneError('its files are gone');
    return stored;
  }

  #path(place: UploadPlace, name: ClipName): string {
    return name === 'mp4'
      ? join(this.#directory.uploadDir(place), mp4Name)
      : this.#directory.filePath(place, name.file);
  }
}
