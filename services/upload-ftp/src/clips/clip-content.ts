import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { UploadRecord } from '@fleet/storage';
import { sortByStartTime } from '../domain/uploaded-files.ts';
import type { UploadRef } from '../store/clip-directory.ts';
import { type ByteRange, splitRange } from './byte-range.ts';
import { ClipNotFoundError, type ClipStorage, type StoredClip } from './clip-storage.ts';
import { detectContentType, sniffedBytes, toDownloadName } from './content-type.ts';

/** The content of a clip in one form, ready to be sent. */
export interface ClipContent {
  readonly sizeBytes: number;
  readonly etag: string;
  readonly contentType: string;
  readonly fileName: string;
  /** Returns functions that open the streams of a range, in order. */
  open(range: ByteRange): (() => Promise<Readable>)[];
}

export const toUploadRef = (upload: UploadRecord): UploadRef => ({ imei: upload.clip.imei, id: upload._id });

const createEtag = (...parts: readonly (string | number)[]): string =>
  `"${createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 22)}"`;

/** Returns the upload's original files, concatenated in the order of their start. */
export async function openOriginal(upload: UploadRecord, storage: ClipStorage): Promise<ClipContent> {
  const ref = toUploadRef(upload);
  const files = sortByStartTime(upload.files);
  const sizes: number[] = [];
  for (const { path } of files) {
    const found = await storage.find(ref, { file: path });
    if (found === null) throw new ClipNotFoundError(`the file ${path} no longer exists`);
    sizes.push(found.sizeBytes);
  }
  const open = (range: ByteRange): (() => Promise<Readable>)[] =>
    splitRange(range, sizes).map((piece) => () => {
      const file = files[piece.index]?.path ?? '';
      return storage.read(ref, { file }, piece.range);
    });
  const sizeBytes = sizes.reduce((sum, size) => sum + size, 0);
  const name = upload.filename ?? upload._id;
  const readFirstBytes = async (): Promise<Buffer> => {
    const [first] = open({ start: 0, end: Math.min(sniffedBytes, sizeBytes) - 1 });
    return first === undefined ? Buffer.alloc(0) : buffer(await first());
  };
  return {
    sizeBytes,
    // A completed upload does not change, wherever it is stored.
    etag: createEtag('original', upload._id, ...sizes),
    contentType: await detectContentType(name, readFirstBytes),
    fileName: toDownloadName(name),
    open,
  };
}

/** Returns the clip's converted MP4. */
export const openMp4 = (upload: UploadRecord, storage: ClipStorage, stored: StoredClip): ClipContent => ({
  sizeBytes: stored.sizeBytes,
  etag: createEtag('mp4', upload._id, stored.sizeBytes, stored.version),
  contentType: 'video/mp4',
  fileName: toDownloadName(upload.filename ?? upload._id, '.mp4'),
  open: (range) => [() => storage.read(toUploadRef(upload), 'mp4', range)],
});
