/** FLV tag types. */
export const FlvTagType = { AUDIO: 8, VIDEO: 9, SCRIPT: 18 } as const;

/** Length of the header before each tag's body. */
export const tagHeaderBytes = 11;
/** Length of the previous tag size after each body. */
export const tagTrailerBytes = 4;

/**
 * Track of a tag. `audio` is playable in browsers (AAC or MP3, from the camera or transcoded), `audioCopy` is the
 * camera's G.711 for `audio=copy`. A camera that sends AAC or MP3 has only `audio` tags, which serve both.
 */
type FlvTrack = 'script' | 'video' | 'audio' | 'audioCopy';

/** Properties of a tag besides its bytes. */
interface TagFlags {
  isKeyFrame?: boolean;
  isSequenceHeader?: boolean;
  isDisposable?: boolean;
}

/** Holds one FLV tag, encoded once and written to every viewer. */
export class FlvTag {
  readonly type: number;
  readonly track: FlvTrack;
  /** Time on the stream's clock. */
  readonly timestampMs: number;
  readonly isKeyFrame: boolean;
  readonly isSequenceHeader: boolean;
  /** True for a picture that no other refers to, which may be dropped for a slow viewer. */
  readonly isDisposable: boolean;
  /** The whole tag for a viewer on the stream's own clock: header with `timestampMs`, body, previous tag size. */
  readonly wire: Buffer;
  #bodyAndTrailer: Buffer | null = null;
  #legacy: FlvTag | null = null;

  /** Creates a tag whose body of `bodyLength` bytes is yet to be written, at `tagHeaderBytes` of `wire`. */
  constructor(track: FlvTrack, timestampMs: number, bodyLength: number, flags: TagFlags = {}) {
    this.track = track;
    this.type = track === 'video' ? FlvTagType.VIDEO : track === 'script' ? FlvTagType.SCRIPT : FlvTagType.AUDIO;
    this.timestampMs = Math.max(0, Math.round(timestampMs));
    this.isKeyFrame = flags.isKeyFrame ?? false;
    this.isSequenceHeader = flags.isSequenceHeader ?? false;
    this.isDisposable = flags.isDisposable ?? false;
    this.wire = Buffer.allocUnsafe(tagHeaderBytes + bodyLength + tagTrailerBytes);
    writeTagHeader(this.wire, 0, this, this.timestampMs);
    this.wire.writeUInt32BE(tagHeaderBytes + bodyLength, tagHeaderBytes + bodyLength);
  }

  get bodyLength(): number {
    return this.wire.length - tagHeaderBytes - tagTrailerBytes;
  }

  /** The body, a view of `wire`. */
  get body(): Buffer {
    return this.wire.subarray(tagHeaderBytes, this.wire.length - tagTrailerBytes);
  }

  /** Body and previous tag size, a view of `wire`. Follows a viewer's own 11-byte header (`writeTagHeader`). */
  get bodyAndTrailer(): Buffer {
    this.#bodyAndTrailer ??= this.wire.subarray(tagHeaderBytes);
    return this.#bodyAndTrailer;
  }

  /** Returns the same tag in another form, created on first use and then shared. */
  getLegacyForm(create: () => FlvTag): FlvTag {
    this.#legacy ??= create();
    return this.#legacy;
  }
}

/** Creates a tag with the given body. */
export function createTag(track: FlvTrack, timestampMs: number, body: readonly Uint8Array[], flags?: TagFlags): FlvTag {
  const tag = new FlvTag(
    track,
    timestampMs,
    body.reduce((sum, part) => sum + part.length, 0),
    flags,
  );
  let at = tagHeaderBytes;
  for (const part of body) {
    tag.wire.set(part, at);
    at += part.length;
  }
  return tag;
}

/**
 * Writes the 11-byte header of a tag for a viewer whose time is `timestampMs` (32 bits, the extension byte holds the
 * upper 8). Write `bodyAndTrailer` after it. Returns the offset after the header.
 */
export function writeTagHeader(
  target: Buffer,
  offset: number,
  tag: Pick<FlvTag, 'type' | 'bodyLength'>,
  timestampMs: number,
): number {
  target[offset] = tag.type;
  target.writeUIntBE(tag.bodyLength, offset + 1, 3);
  target.writeUIntBE(timestampMs & 0xffffff, offset + 4, 3);
  target[offset + 7] = (timestampMs >>> 24) & 0xff;
  target.writeUIntBE(0, offset + 8, 3);
  return offset + tagHeaderBytes;
}

/** Creates the first 13 bytes of an FLV stream. The flags are binding: players wait for each declared track. */
export const createFlvHeader = (tracks: { video: boolean; audio: boolean }): Buffer =>
  Buffer.from([0x46, 0x4c, 0x56, 1, (tracks.video ? 1 : 0) | (tracks.audio ? 4 : 0), 0, 0, 0, 9, 0, 0, 0, 0]);
