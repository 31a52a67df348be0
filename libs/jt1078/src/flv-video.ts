import { createTag, type FlvTag, tagHeaderBytes } from './flv-tag.ts';
import type { VideoCodec } from './video-codec.ts';

/** FLV codec ids of onMetaData. H.265 in the enhanced form uses its FourCC. */
export const flvH264 = 7;
export const flvH265Legacy = 12;
export const flvHvc1 = 0x68766331;

const legacyHeaderBytes = 5;
const enhancedSequenceBytes = 5;
const enhancedFrameBytes = 8;

/** Returns the number of bytes before the NAL units of a frame. */
export const getFrameHeaderBytes = (codec: VideoCodec): number =>
  codec === 'h264' ? legacyHeaderBytes : enhancedFrameBytes;

/** Writes the bytes before the NAL units of a frame: AVC, or enhanced FLV with FourCC hvc1. */
export function writeFrameHeader(
  target: Buffer,
  offset: number,
  codec: VideoCodec,
  isKeyFrame: boolean,
  compositionMs: number,
): number {
  let at = offset;
  if (codec === 'h264') {
    target[at++] = isKeyFrame ? 0x17 : 0x27;
    target[at++] = 1;
  } else {
    target[at++] = isKeyFrame ? 0x91 : 0xa1;
    at = target.writeUInt32BE(flvHvc1, at);
  }
  return target.writeIntBE(Math.min(compositionMs, 0x7fffff), at, 3);
}

/** Creates the tag with the decoder configuration record, which a viewer needs before the first frame. */
export function createVideoSequenceHeader(codec: VideoCodec, record: Buffer, timestampMs: number): FlvTag {
  const header = codec === 'h264' ? [0x17, 0, 0, 0, 0] : [0x90, 0x68, 0x76, 0x63, 0x31];
  return createTag('video', timestampMs, [Buffer.from(header), record], { isKeyFrame: true, isSequenceHeader: true });
}

/** Converts an H.265 tag to codec id 12 (`hevc=legacy`), once per tag. Returns other tags unchanged. */
export function toLegacyHevcTag(tag: FlvTag): FlvTag {
  const first = tag.wire[tagHeaderBytes] ?? 0;
  if (tag.track !== 'video' || first < 0x80) return tag;
  return tag.getLegacyForm(() => {
    const { body } = tag;
    const frameType = (first & 0x70) | flvH265Legacy;
    const header = tag.isSequenceHeader
      ? Buffer.from([frameType, 0, 0, 0, 0])
      : Buffer.concat([Buffer.from([frameType, 1]), body.subarray(enhancedSequenceBytes, enhancedFrameBytes)]);
    const payload = body.subarray(tag.isSequenceHeader ? enhancedSequenceBytes : enhancedFrameBytes);
    return createTag('video', tag.timestampMs, [header, payload], tag);
  });
}
