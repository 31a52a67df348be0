import type { Readable } from 'node:stream';
import type { UploadRef } from '../store/clip-directory.ts';
import type { ByteRange } from './byte-range.ts';

/** Name of a stored thing: a file that the camera has sent, or the MP4 that was made of them. */
export type ClipName = { readonly file: string } | 'mp4';

export interface StoredClip {
  readonly sizeBytes: number;
  /** Another one whenever the bytes may be others. */
  readonly version: string;
}

/** Where the files of completed uploads are read from: a directory of this pod, or object storage that all pods share. */
export interface ClipStorage {
  /** Null when it is not there. */
  find(ref: UploadRef, name: ClipName): Promise<StoredClip | null>;

  /** Opens bytes of what `find` has found; fails before the first byte where that cannot be read. */
  read(ref: UploadRef, name: ClipName, range: ByteRange): Promise<Readable>;

  /** Path of a local copy to read from; one that has to be made lies in `workDir`. */
  localCopy(ref: UploadRef, name: ClipName, workDir: string): Promise<string>;

  /** Stores a finished local file as the MP4, in one step, unless there is one; the local file may be gone afterwards. */
  putMp4(ref: UploadRef, localFile: string): Promise<StoredClip>;
}

/** The upload's files are gone: it has been removed meanwhile. */
export class ClipNotFoundError extends Error {
  override readonly name = 'ClipGoneError';
}
