import { type FlvTag, TAG_HEADER_BYTES, tagOf } from './flv-tag.ts';
import type { VideoCodec } from './video-codec.ts';

/** FLV codec ids of onMetaData; H.265 in the enhanced form states its FourCC. */
export const FLV_H264 = 7;
export const FLV_H265_LEGACY = 12;
export const FLV_HVC1 = 0x68766331;

const LEGACY_HEADER_BYTES = 5;
const ENHANCED_SEQUENCE_BYTES = 5;
const ENHANCED_FRAME_BYTES = 8;

/** Bytes before the NAL units of a frame. */
export const frameHeaderBytes = (codec: VideoCodec): number =>
  codec === 'h264' ? LEGACY_HEADER_BYTES : ENHANCED_FRAME_BYTES;

/** Writes what stands before the NAL units of a frame: AVC, or enhanced FLV with FourCC hvc1. */
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
    at = target.writeUInt32BE(FLV_HVC1, at);
  }
  return target.writeIntBE(Math.min(compositionMs, 0x7fffff), at, 3);
}

/** The tag with the decoder configuration record, which a viewer needs before the first frame. */
export function videoSequenceHeader(codec: VideoCodec, record: Buffer, timestampMs: number): FlvTag {
  const head = codec === 'h264' ? [0x17, 0, 0, 0, 0] : [0x90, 0x68, 0x76, 0x63, 0x31];
  return tagOf('video', timestampMs, [Buffer.from(head), record], { isKeyFrame: true, isSequenceHeader: true });
}

/** The H.265 tag in the form of codec id 12 (`hevc=legacy`), made once for each tag; other tags come back as they are. */
export function legacyHevcTag(tag: FlvTag): FlvTag {
  const first = tag.wire[TAG_HEADER_BYTES] ?? 0;
  if (tag.track !== 'video' || first < 0x80) return tag;
  return tag.legacyForm(() => {
    const { body } = tag;
    const frameType = (first & 0x70) | FLV_H265_LEGACY;
    const head = tag.isSequenceHeader
      ? Buffer.from([frameType, 0, 0, 0, 0])
      : Buffer.concat([Buffer.from([frameType, 1]), body.subarray(ENHANCED_SEQUENCE_BYTES, ENHANCED_FRAME_BYTES)]);
    const rest = body.subarray(tag.isSequenceHeader ? ENHANCED_SEQUENCE_BYTES : ENHANCED_FRAME_BYTES);
    return tagOf('video', tag.timestampMs, [head, rest], tag);
  });
}
