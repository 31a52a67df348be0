import { BitReader, unescapeNal } from './nal-units.ts';

/** Picture properties declared by a sequence parameter set. */
export interface SpsInfo {
  profile: number;
  level: number;
  width: number;
  height: number;
  chromaFormat: number;
  bitDepthLuma: number;
  bitDepthChroma: number;
  /**
   * Maximum number of pictures that precede another in coded order and follow it in display order; null if undeclared.
   */
  reorderFrames: number | null;
  /** Number of temporal sub-layers (H.265); 1 in H.264. */
  subLayers: number;
  /** Codec string of RFC 6381. */
  codecString: string;
}

/** NAL unit types of H.264 table 7-1. */
export const H264Nal = {
  SLICE: 1,
  IDR: 5,
  SEI: 6,
  SPS: 7,
  PPS: 8,
  AUD: 9,
  END_OF_SEQUENCE: 10,
  END_OF_STREAM: 11,
  FILLER: 12,
} as const;

const highProfiles = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
/** Larger than any real picture; protects the arithmetic from hostile parameter sets. */
const maxSidePixels = 16_384;

function skipScalingLists(reader: BitReader, count: number): void {
  for (let i = 0; i < count && !reader.isOverrun; i++) {
    if (reader.bit() === 0) continue;
    let last = 8;
    let next = 8;
    for (let j = 0; j < (i < 6 ? 16 : 64); j++) {
      if (next !== 0) next = (last + reader.signed() + 256) % 256;
      if (next !== 0) last = next;
    }
  }
}

interface SampleFormat {
  chromaFormat: number;
  bitDepthLuma: number;
  bitDepthChroma: number;
  hasSeparatePlanes: boolean;
}

function readFormat(reader: BitReader, profile: number): SampleFormat {
  const format: SampleFormat = { chromaFormat: 1, bitDepthLuma: 8, bitDepthChroma: 8, hasSeparatePlanes: false };
  if (!highProfiles.has(profile)) return format;
  format.chromaFormat = reader.unsigned();
  if (format.chromaFormat === 3) format.hasSeparatePlanes = reader.bit() === 1;
  format.bitDepthLuma = 8 + reader.unsigned();
  format.bitDepthChroma = 8 + reader.unsigned();
  reader.skip(1);
  if (reader.bit() === 1) skipScalingLists(reader, format.chromaFormat === 3 ? 12 : 8);
  return format;
}

function readPictureOrder(reader: BitReader): number {
  reader.unsigned(); // log2_max_frame_num_minus4
  const type = reader.unsigned();
  if (type === 0) reader.unsigned();
  if (type !== 1) return type;
  reader.skip(1);
  reader.signed();
  reader.signed();
  const cycle = reader.unsigned();
  for (let i = 0; i < cycle && !reader.isOverrun; i++) reader.signed();
  return type;
}

function readSize(reader: BitReader, format: SampleFormat): { width: number; height: number } {
  const widthMbs = reader.unsigned() + 1;
  const heightUnits = reader.unsigned() + 1;
  const framesOnly = reader.bit();
  if (framesOnly === 0) reader.skip(1);
  reader.skip(1);
  let width = widthMbs * 16;
  let height = heightUnits * 16 * (2 - framesOnly);
  if (reader.bit() === 1) {
    const isMono = format.chromaFormat === 0 || format.hasSeparatePlanes;
    const unitX = isMono || format.chromaFormat === 3 ? 1 : 2;
    const unitY = (!isMono && format.chromaFormat === 1 ? 2 : 1) * (2 - framesOnly);
    width -= (reader.unsigned() + reader.unsigned()) * unitX;
    height -= (reader.unsigned() + reader.unsigned()) * unitY;
  }
  return { width, height };
}

function skipHrd(reader: BitReader): void {
  const count = reader.unsigned() + 1;
  reader.skip(8);
  for (let i = 0; i < count && !reader.isOverrun; i++) {
    reader.unsigned();
    reader.unsigned();
    reader.skip(1);
  }
  reader.skip(20);
}

/** Reads max_num_reorder_frames of the VUI (annex E). Returns null if it is absent or invalid. */
function readReorderFrames(reader: BitReader): number | null {
  if (reader.bit() === 1 && reader.bits(8) === 255) reader.skip(32); // aspect ratio
  if (reader.bit() === 1) reader.skip(1); // overscan
  if (reader.bit() === 1) {
    reader.skip(4);
    if (reader.bit() === 1) reader.skip(24);
  }
  if (reader.bit() === 1) {
    reader.unsigned();
    reader.unsigned();
  }
  if (reader.bit() === 1) reader.skip(65); // timing
  const hasNal = reader.bit();
  if (hasNal === 1) skipHrd(reader);
  const hasVcl = reader.bit();
  if (hasVcl === 1) skipHrd(reader);
  if (hasNal + hasVcl > 0) reader.skip(1);
  reader.skip(1);
  if (reader.bit() === 0) return null;
  reader.skip(1);
  for (let i = 0; i < 4; i++) reader.unsigned();
  const frames = reader.unsigned();
  return reader.isOverrun || frames > 16 ? null : frames;
}

/** Parses an H.264 sequence parameter set (7.3.2.1.1). Returns null when it is invalid. */
export function parseH264Sps(nal: Uint8Array): SpsInfo | null {
  const rbsp = unescapeNal(nal);
  const [, profile = 0, constraints = 0, level = 0] = rbsp;
  const reader = new BitReader(rbsp, 4);
  reader.unsigned();
  const format = readFormat(reader, profile);
  const pictureOrderType = readPictureOrder(reader);
  reader.unsigned(); // max_num_ref_frames
  reader.skip(1);
  const { width, height } = readSize(reader, format);
  const hasVui = reader.bit() === 1;
  if (reader.isOverrun || profile === 0) return null;
  if (width < 16 || height < 16 || width > maxSidePixels || height > maxSidePixels) return null;
  const cannotReorder = profile === 66 || pictureOrderType === 2;
  const hex = Buffer.from([profile, constraints, level]).toString('hex');
  return {
    profile,
    level,
    width,
    height,
    chromaFormat: format.chromaFormat,
    bitDepthLuma: format.bitDepthLuma,
    bitDepthChroma: format.bitDepthChroma,
    reorderFrames: cannotReorder ? 0 : hasVui ? readReorderFrames(reader) : null,
    subLayers: 1,
    codecString: `avc1.${hex}`,
  };
}

/** Returns the slice_type of a slice: 0 P, 1 B, 2 I (modulo 5), or -1 when it cannot be read. */
export function readH264SliceType(nal: Uint8Array): number {
  const reader = new BitReader(unescapeNal(nal.subarray(0, 16)), 1);
  reader.unsigned();
  const type = reader.unsigned();
  return reader.isOverrun || type > 9 ? -1 : type % 5;
}

/** Returns true when an SEI unit begins with a recovery point message. */
export function isRecoveryPoint(nal: Uint8Array): boolean {
  return nal[1] === 6;
}

const encodeLengthPrefixed = (units: readonly Buffer[]): Buffer[] =>
  units.flatMap((unit) => [Buffer.from([unit.length >> 8, unit.length & 0xff]), unit]);

/** Encodes the AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1) of the parameter sets as received. */
export function encodeAvcDecoderConfiguration(sps: readonly Buffer[], pps: readonly Buffer[], info: SpsInfo): Buffer {
  const [first = Buffer.alloc(4)] = sps;
  const parts = [
    Buffer.from([1, first[1] ?? 0, first[2] ?? 0, first[3] ?? 0, 0xff, 0xe0 | sps.length]),
    ...encodeLengthPrefixed(sps),
    Buffer.from([pps.length]),
    ...encodeLengthPrefixed(pps),
  ];
  if ([100, 110, 122, 144].includes(info.profile)) {
    parts.push(
      Buffer.from([0xfc | info.chromaFormat, 0xf8 | (info.bitDepthLuma - 8), 0xf8 | (info.bitDepthChroma - 8), 0]),
    );
  }
  return Buffer.concat(parts);
}
