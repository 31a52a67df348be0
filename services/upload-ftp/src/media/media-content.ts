import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ByteRange } from '../clips/byte-range.ts';
import type { ClipContent } from '../clips/clip-content.ts';
import { ClipGoneError } from '../clips/clip-storage.ts';
import { sniffedBytes } from '../clips/content-type.ts';
import type { MediaDirectory, MediaPlace } from '../store/media-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { mediaKey } from './media-files.ts';
import { extensionOf, mimeTypeOf } from './media-type.ts';

export interface MediaSources {
  readonly directory: MediaDirectory;
  readonly objects: ObjectStore | null;
}

/** What is handed out of a file; null when it is not here. */
export async function mediaContent(sources: MediaSources, place: MediaPlace): Promise<ClipContent | null> {
  const found = (await localFile(sources, place)) ?? (await sharedFile(sources, place));
  if (found === null) return null;
  const { sizeBytes, read } = found;
  const isEmpty = sizeBytes === 0;
  const first = { start: 0, end: Math.min(sniffedBytes, sizeBytes) - 1 };
  const beginning = isEmpty ? Buffer.alloc(0) : await buffer(await read(first));
  const contentType = mimeTypeOf(beginning);
  return {
    sizeBytes,
    // Another file has another id.
    etag: `"${place.fileId}"`,
    contentType,
    fileName: `${place.fileId}${extensionOf(contentType)}`,
    open: (range) => (isEmpty ? [] : [() => read(range)]),
  };
}

interface Found {
  readonly sizeBytes: number;
  readonly read: (range: ByteRange) => Promise<Readable>;
}

async function localFile({ directory }: MediaSources, place: MediaPlace): Promise<Found | null> {
  const sizeBytes = await directory.sizeOf(place);
  if (sizeBytes === null) return null;
  return { sizeBytes, read: async (range) => present(await directory.read(place, range)) };
}

async function sharedFile({ objects }: MediaSources, place: MediaPlace): Promise<Found | null> {
  if (objects === null) return null;
  const stored = await objects.find(mediaKey(place));
  if (stored === null) return null;
  return { ...stored, read: async (range) => present(await objects.read(mediaKey(place), range)) };
}

function present(bytes: Readable | null): Readable {
  if (bytes === null) throw new ClipGoneError('the file is gone');
  return bytes;
}
