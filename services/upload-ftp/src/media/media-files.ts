import type { MediaStored } from '@fleet/bus';
import type { IncomingFile } from './incoming-file.ts';

export type { IncomingFile } from './incoming-file.ts';

/** What is known of a file beside its bytes. */
export type MediaAbout = Omit<MediaStored, 'fileId' | 'server' | 'sizeBytes'> & {
  /** What tells the file from another of the same terminal with the same bytes. */
  readonly fileIdSeed: string;
};

/** There is no room for another file now. */
export class NoSpaceError extends Error {
  override readonly name = 'NoSpaceError';
}

/** Files that terminals send: received, kept, and told of in the stream MEDIA. */
export class MediaFiles {
  /** Begins to receive a file; a NoSpaceError where the disk takes no more. */
  async open(_imei: string): Promise<IncomingFile> {
    throw new NoSpaceError('not there yet');
  }

  /**
   * Keeps a received file. Resolves once it can not be lost any more, neither the file nor the telling of it: both are on disk, and normally in object storage
   * (where there is one) and in MEDIA, too; what could not be reached is reached later. The same file again (imei, seed, bytes) is the same one.
   * Whether it succeeds or throws, the incoming file is gone afterwards.
   */
  async keep(_file: IncomingFile, _about: MediaAbout): Promise<MediaStored> {
    throw new NoSpaceError('not there yet');
  }
}
