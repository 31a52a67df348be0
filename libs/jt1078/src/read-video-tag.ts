import { flvHvc1 } from './flv-video.ts';
import type { VideoCodec } from './video-codec.ts';

/** Parsed body of a video tag. */
interface DemuxedVideo {
  codec: VideoCodec;
  isKeyFrame: boolean;
  isSequenceHeader: boolean;
  compositionMs: number;
  /** The decoder configuration record, or length-prefixed NAL units. */
  data: Buffer;
}

/** Parses a video tag: AVC, codec id 12, or enhanced FLV with hvc1. Returns null for anything else. */
export function readVideoTag(body: Buffer): DemuxedVideo | null {
  const first = body[0] ?? 0;
  const isKeyFrame = ((first >> 4) & 7) === 1;
  if (first < 0x80) {
    const codec = (first & 0x0f) === 7 ? 'h264' : (first & 0x0f) === 12 ? 'h265' : null;
    if (codec === null || body.length < 5) return null;
    const isSequenceHeader = body[1] === 0;
    return { codec, isKeyFrame, isSequenceHeader, compositionMs: body.readIntBE(2, 3), data: body.subarray(5) };
  }
  const packetType = first & 0x0f;
  if (body.length < 5 || body.readUInt32BE(1) !== flvHvc1 || ![0, 1, 3].includes(packetType)) return null;
  const hasComposition = packetType === 1;
  return {
    codec: 'h265',
    isKeyFrame,
    isSequenceHeader: packetType === 0,
    compositionMs: hasComposition ? body.readIntBE(5, 3) : 0,
    data: body.subarray(hasComposition ? 8 : 5),
  };
}

/** Returns the parameter sets of an AVC or HEVC decoder configuration record. */
export function readParameterSets(codec: VideoCodec, record: Buffer): Buffer[] {
  const units: Buffer[] = [];
  let at = codec === 'h264' ? 5 : 23;
  const readUnits = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const length = record.readUInt16BE(at);
      units.push(record.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  };
  if (codec === 'h264') {
    readUnits((record[at++] ?? 0) & 0x1f);
    readUnits(record[at++] ?? 0);
    return units;
  }
  for (let arrays = record[22] ?? 0; arrays > 0; arrays--) {
    at += 3;
    readUnits(record.readUInt16BE(at - 2));
  }
  return units;
}
