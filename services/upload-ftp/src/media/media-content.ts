import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ByteRange } from '../clips/byte-range.ts';
import type { ClipContent } from '../clips/clip-content.ts';
import { ClipNotFoundError } from '../clips/clip-storage.ts';
import { sniffedBytes } from '../clips/content-type.ts';
import type { MediaDirectory, MediaRef } from '../store/media-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { toObjectKey } from './media-files.ts';
import { detectMimeType, getExtension } from './media-type.ts';

export interface MediaSources {
  readonly directory: MediaDirectory;
  readonly objects: ObjectStore | null;
}

/** Returns the content of a file, ready to be sent; null if the file is not here. */
export async function openMediaContent(sources: MediaSources, ref: MediaRef): Promise<ClipContent | null> {
  const file = (await findLocalFile(sources, ref)) ?? (await findSharedFile(sources, ref));
  if (file === null) return null;
  const { sizeBytes, read } = file;
  const isEmpty = sizeBytes === 0;
  const first = { start: 0, end: Math.min(sniffedBytes, sizeBytes) - 1 };
  const firstBytes = isEmpty ? Buffer.alloc(0) : await buffer(await read(first));
  const contentType = detectMimeType(firstBytes);
  return {
    sizeBytes,
    // Different files have different ids.
    etag: `"${ref.fileId}"`,
    contentType,
    fileName: `${ref.fileId}${getExtension(contentType)}`,
    open: (range) => (isEmpty ? [] : [() => read(range)]),
  };
}

interface FoundFile {
  readonly sizeBytes: number;
  readonly read: (range: ByteRange) => Promise<Readable>;
}

async function findLocalFile({ directory }: MediaSources, ref: MediaRef): Promise<FoundFile | null> {
  const sizeBytes = await directory.sizeOf(ref);
  if (sizeBytes === null) return null;
  return { sizeBytes, read: async (range) => assertFound(await directory.read(ref, range)) };
}

async function findSharedFile({ objects }: MediaSources, ref: MediaRef): Promise<FoundFile | null> {
  if (objects === null) return null;
  const stored = await objects.find(toObjectKey(ref));
  if (stored === null) return null;
  return { ...stored, read: async (range) => assertFound(await objects.read(toObjectKey(ref), range)) };
}

function assertFound(bytes: Readable | null): Readable {
  if (bytes === null) throw new ClipNotFoundError('the file no longer exists');
  return bytes;
}
