import { stopReasonTrailer, streamPositionTrailer } from '@fleet/bus';
import { type FlvTag, toLegacyHevcTag, writeTagHeader } from '@fleet/jt1078';
import { type EndReason, toStopReason } from './end-reason.ts';

/** Tag with the timestamp of one viewer. */
export interface TimedTag {
  readonly tag: FlvTag;
  readonly timestampMs: number;
}

/** Wire format of a viewer. */
export interface ChunkFormat {
  /** HTTP/1.1 chunked framing. A chunk is encoded together with its tag, so one write carries both. */
  readonly isChunked: boolean;
  readonly isLegacyHevc: boolean;
}

const tagHeaderBytes = 11;
/** Eight hex digits and CRLF; leading zeros are allowed in a chunk size. */
const chunkHeaderBytes = 10;
const chunkOverheadBytes = chunkHeaderBytes + 2;

/** Returns the end of a chunked body, with the reason as a trailer if viewers need to know it. */
export function createLastChunk(endReason: EndReason, positionMs: number): Buffer {
  const reason = toStopReason(endReason);
  const trailers = [
    ...(reason === undefined ? [] : [`${stopReasonTrailer}: ${reason}\r\n`]),
    ...(reason === 'moved' ? [`${streamPositionTrailer}: ${positionMs}\r\n`] : []),
  ];
  return Buffer.from(`0\r\n${trailers.join('')}\r\n`);
}

/** Encodes bytes other than tags as one chunk. */
export function toChunk(data: Buffer, isChunked: boolean): Buffer {
  if (!isChunked) return data;
  const chunk = Buffer.allocUnsafe(data.length + chunkOverheadBytes);
  const offset = beginChunk(chunk, data.length);
  data.copy(chunk, offset);
  endChunk(chunk);
  return chunk;
}

/** Encodes tags for one viewer as one chunk. */
export function encodeTags(tags: readonly TimedTag[], format: ChunkFormat): Buffer {
  const formattedTags = format.isLegacyHevc
    ? tags.map(({ tag, timestampMs }) => ({ tag: toLegacyHevcTag(tag), timestampMs }))
    : tags;
  let size = 0;
  for (const { tag } of formattedTags) size += tagHeaderBytes + tag.bodyAndTrailer.length;
  const chunk = Buffer.allocUnsafe(format.isChunked ? size + chunkOverheadBytes : size);
  let offset = format.isChunked ? beginChunk(chunk, size) : 0;
  for (const { tag, timestampMs } of formattedTags) {
    offset = writeTagHeader(chunk, offset, tag, timestampMs);
    offset += tag.bodyAndTrailer.copy(chunk, offset);
  }
  if (format.isChunked) endChunk(chunk);
  return chunk;
}

function beginChunk(target: Buffer, size: number): number {
  target.write(`${size.toString(16).padStart(8, '0')}\r\n`, 0, 'latin1');
  return chunkHeaderBytes;
}

function endChunk(target: Buffer): void {
  target[target.length - 2] = 0x0d;
  target[target.length - 1] = 0x0a;
}

/** Maximum number of cached formats of one tag. Viewers that joined within one group of pictures share a format. */
const maxFormats = 8;

interface CachedChunk {
  readonly timestampMs: number;
  readonly format: ChunkFormat;
  readonly chunk: Buffer;
}

/**
 * Caches the encoded tag that is being delivered, shared by viewers with the same time base and format. Copying the
 * body once per format is cheaper than passing header and body to the kernel separately. Nothing in it outlives the
 * write, as queues hold the tags.
 */
export class ChunkCache {
  #tag: FlvTag | null = null;
  #cached: CachedChunk[] = [];

  get(tag: FlvTag, timestampMs: number, format: ChunkFormat): Buffer {
    if (this.#tag !== tag) {
      this.#tag = tag;
      this.#cached = [];
    }
    for (const cached of this.#cached)
      if (cached.timestampMs === timestampMs && isSameFormat(cached.format, format)) return cached.chunk;
    const chunk = encodeTags([{ tag, timestampMs }], format);
    if (this.#cached.length < maxFormats) this.#cached.push({ timestampMs, format, chunk });
    return chunk;
  }
}

const isSameFormat = (a: ChunkFormat, b: ChunkFormat): boolean =>
  a.isChunked === b.isChunked && a.isLegacyHevc === b.isLegacyHevc;
