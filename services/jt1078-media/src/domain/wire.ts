import { type FlvTag, legacyHevcTag, writeTagHeader } from '@fleet/jt1078';

/** A tag at a viewer's own time. */
export interface TimedTag {
  readonly tag: FlvTag;
  readonly timestampMs: number;
}

/** How a viewer's bytes differ from another's. */
export interface WireForm {
  /** HTTP/1.1 chunked framing; a chunk is made with the tag, so that one write carries both. */
  readonly isChunked: boolean;
  readonly isLegacyHevc: boolean;
}

const TAG_HEADER_BYTES = 11;
/** Eight hex digits and CRLF; leading zeros are allowed in a chunk size. */
const CHUNK_HEAD_BYTES = 10;
const CHUNK_BYTES = CHUNK_HEAD_BYTES + 2;

/** The end of a chunked body. */
export const lastChunk = Buffer.from('0\r\n\r\n');

/** One chunk around bytes that are no tag. */
export function chunkOf(data: Buffer, isChunked: boolean): Buffer {
  if (!isChunked) return data;
  const chunk = Buffer.allocUnsafe(data.length + CHUNK_BYTES);
  const at = beginChunk(chunk, data.length);
  data.copy(chunk, at);
  endChunk(chunk);
  return chunk;
}

/** The bytes of some tags for one viewer, as one chunk. */
export function writeTags(tags: readonly TimedTag[], form: WireForm): Buffer {
  const shown = form.isLegacyHevc
    ? tags.map(({ tag, timestampMs }) => ({ tag: legacyHevcTag(tag), timestampMs }))
    : tags;
  let size = 0;
  for (const { tag } of shown) size += TAG_HEADER_BYTES + tag.rest.length;
  const wire = Buffer.allocUnsafe(form.isChunked ? size + CHUNK_BYTES : size);
  let at = form.isChunked ? beginChunk(wire, size) : 0;
  for (const { tag, timestampMs } of shown) {
    at = writeTagHeader(wire, at, tag, timestampMs);
    at += tag.rest.copy(wire, at);
  }
  if (form.isChunked) endChunk(wire);
  return wire;
}

function beginChunk(target: Buffer, size: number): number {
  target.write(`${size.toString(16).padStart(8, '0')}\r\n`, 0, 'latin1');
  return CHUNK_HEAD_BYTES;
}

function endChunk(target: Buffer): void {
  target[target.length - 2] = 0x0d;
  target[target.length - 1] = 0x0a;
}

/** So many different forms of one tag are kept: viewers that joined within one group of pictures share theirs. */
const MAX_FORMS = 8;

interface KnownWire {
  readonly timestampMs: number;
  readonly form: WireForm;
  readonly wire: Buffer;
}

/**
 * The bytes of the tag that is being delivered, made once for all viewers of the same time and form. A copy of the body for each is cheaper than handing
 * the kernel header and body apart; nothing of it outlives the write, as queues hold the tags.
 */
export class WireCache {
  #tag: FlvTag | null = null;
  #known: KnownWire[] = [];

  get(tag: FlvTag, timestampMs: number, form: WireForm): Buffer {
    if (this.#tag !== tag) {
      this.#tag = tag;
      this.#known = [];
    }
    for (const known of this.#known)
      if (known.timestampMs === timestampMs && isSame(known.form, form)) return known.wire;
    const wire = writeTags([{ tag, timestampMs }], form);
    if (this.#known.length < MAX_FORMS) this.#known.push({ timestampMs, form, wire });
    return wire;
  }
}

const isSame = (a: WireForm, b: WireForm): boolean => a.isChunked === b.isChunked && a.isLegacyHevc === b.isLegacyHevc;
