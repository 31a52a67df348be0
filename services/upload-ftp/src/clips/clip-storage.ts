import type { Readable } from 'node:stream';
import type { UploadRef } from '../store/clip-directory.ts';
import type { ByteRange } from './byte-range.ts';

/** Name of a stored item: a file from the camera, or the MP4 converted from all files. */
export type ClipName = { readonly file: string } | 'mp4';

export interface StoredClip {
  readonly sizeBytes: number;
  /** Changes whenever the bytes may have changed. */
  readonly version: string;
}

/** Storage of the files of completed uploads: a directory of this pod, or object storage shared by all pods. */
export interface ClipStorage {
  /** Returns null if the item does not exist. */
  find(ref: UploadRef, name: ClipName): Promise<StoredClip | null>;

  /** Opens a range of an item that `find` returned. Fails before the first byte if the item cannot be read. */
  read(ref: UploadRef, name: ClipName, range: ByteRange): Promise<Readable>;

  /** Returns the path of a local copy. A copy that has to be created is placed in `workDir`. */
  localCopy(ref: UploadRef, name: ClipName, workDir: string): Promise<string>;

  /** Stores a finished local file as the MP4 in one step, unless one exists. The local file may be gone afterwards. */
  putMp4(ref: UploadRef, localFile: string): Promise<StoredClip>;
}

/** Thrown when an upload's files no longer exist because the upload was removed. */
export class ClipNotFoundError extends Error {
  override readonly name = 'ClipGoneError';
}
