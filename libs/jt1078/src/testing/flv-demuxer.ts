import { type AacConfig, parseAudioSpecificConfig } from '../aac.ts';
import { FlvTagType, tagHeaderBytes, tagTrailerBytes } from '../flv-tag.ts';
import { readParameterSets, readVideoTag } from '../read-video-tag.ts';
import type { VideoCodec } from '../video-codec.ts';
import { encodeAdtsHeader } from './encode-adts-header.ts';

/** One tag read from FLV bytes. */
export interface DemuxedTag {
  type: number;
  timestampMs: number;
  body: Buffer;
}

const fileHeaderBytes = 13;
const startCode = Buffer.from([0, 0, 0, 1]);

/**
 * Parses FLV bytes into tags. Throws when the bytes are not FLV or a previous tag size is wrong.
 */
export class FlvDemuxer {
  /** Tracks declared by the file header; null before it was read. */
  header: { video: boolean; audio: boolean } | null = null;
  readonly #onTag: (tag: DemuxedTag) => void;
  #pending: Buffer = Buffer.alloc(0);

  constructor(onTag: (tag: DemuxedTag) => void) {
    this.#onTag = onTag;
  }

  push(chunk: Buffer): void {
    const data = Buffer.concat([this.#pending, chunk]);
    let at = 0;
    if (this.header === null) {
      if (data.length < fileHeaderBytes) {
        this.#pending = data;
        return;
      }
      if (data.toString('latin1', 0, 3) !== 'FLV' || data.readUInt32BE(9) !== 0)
        throw new TypeError('missing FLV header');
      const flags = data[4] ?? 0;
      this.header = { video: (flags & 1) !== 0, audio: (flags & 4) !== 0 };
      at = fileHeaderBytes;
    }
    while (data.length - at >= tagHeaderBytes) {
      const size = data.readUIntBE(at + 1, 3);
      const end = at + tagHeaderBytes + size;
      if (data.length < end + tagTrailerBytes) break;
      if (data.readUInt32BE(end) !== tagHeaderBytes + size) throw new TypeError(`wrong previous tag size at ${end}`);
      this.#onTag({
        type: data[at] ?? 0,
        timestampMs: data.readUIntBE(at + 4, 3) + (data[at + 7] ?? 0) * 0x1000000,
        body: data.subarray(at + tagHeaderBytes, end),
      });
      at = end + tagTrailerBytes;
    }
    this.#pending = data.subarray(at);
  }
}

/** Returns all tags of FLV bytes. */
export function demuxFlv(flv: Buffer): DemuxedTag[] {
  const tags: DemuxedTag[] = [];
  new FlvDemuxer((tag) => tags.push(tag)).push(flv);
  return tags;
}

function appendUnits(parts: Buffer[], data: Buffer): void {
  for (let at = 0; at + 4 <= data.length; ) {
    const length = data.readUInt32BE(at);
    parts.push(startCode, data.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
}

/** Extracts the video of an FLV stream as an Annex B elementary stream, for tools without support for H.265 in FLV. */
export function flvToAnnexB(flv: Buffer): { codec: VideoCodec | null; data: Buffer; timestampsMs: number[] } {
  const parts: Buffer[] = [];
  const timestampsMs: number[] = [];
  let codec: VideoCodec | null = null;
  for (const tag of demuxFlv(flv)) {
    const video = tag.type === FlvTagType.VIDEO ? readVideoTag(tag.body) : null;
    if (!video) continue;
    codec = video.codec;
    if (video.isSequenceHeader) {
      for (const unit of readParameterSets(video.codec, video.data)) parts.push(startCode, unit);
      continue;
    }
    timestampsMs.push(tag.timestampMs + video.compositionMs);
    appendUnits(parts, video.data);
  }
  return { codec, data: Buffer.concat(parts), timestampsMs };
}

/** Extracts the AAC of an FLV stream as ADTS. */
export function flvToAdts(flv: Buffer): Buffer {
  const parts: Buffer[] = [];
  let config: AacConfig | null = null;
  for (const { type, body } of demuxFlv(flv)) {
    if (type !== FlvTagType.AUDIO || (body[0] ?? 0) >> 4 !== 10) continue;
    const data = body.subarray(2);
    if (body[1] === 0) config = parseAudioSpecificConfig(data);
    else if (config) parts.push(encodeAdtsHeader(config, data.length), data);
  }
  return Buffer.concat(parts);
}
