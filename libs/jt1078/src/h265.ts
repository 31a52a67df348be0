import type { SpsInfo } from './h264.ts';
import { BitReader, unescapeNal } from './nal-units.ts';

/** NAL unit types of H.265 table 7-1. */
export const H265Nal = {
  BLA_W_LP: 16,
  CRA: 21,
  LAST_IRAP: 23,
  VPS: 32,
  SPS: 33,
  PPS: 34,
  AUD: 35,
  END_OF_SEQUENCE: 36,
  END_OF_STREAM: 37,
  FILLER: 38,
  SEI: 39,
  SEI_SUFFIX: 40,
} as const;

/** Returns the NAL unit type from the first header byte of an H.265 unit. */
export const getH265NalType = (headerByte: number): number => (headerByte >> 1) & 0x3f;

const maxSidePixels = 16_384;

/** Returns the 12 bytes of general profile, tier and level: SPS bytes 3 to 14 without emulation bytes. */
const profileBytes = (rbsp: Uint8Array): Uint8Array => rbsp.subarray(3, 15);

function reverseBits(value: number): number {
  let reversed = 0;
  for (let i = 0; i < 32; i++) reversed = reversed * 2 + ((value >>> i) & 1);
  return reversed;
}

/** Formats the RFC 6381 string of ISO/IEC 14496-15 annex E.3. */
function formatCodecString(rbsp: Uint8Array): string {
  const bytes = Buffer.from(profileBytes(rbsp));
  const [first = 0] = bytes;
  const space = ['', 'A', 'B', 'C'][first >> 6] ?? '';
  const tier = (first & 0x20) === 0 ? 'L' : 'H';
  const constraints = [...bytes.subarray(5, 11)].map((byte) => byte.toString(16).toUpperCase());
  while (constraints.at(-1) === '0') constraints.pop();
  const compatibility = reverseBits(bytes.readUInt32BE(1)).toString(16).toUpperCase();
  return ['hvc1', `${space}${first & 0x1f}`, compatibility, `${tier}${bytes[11] ?? 0}`, ...constraints].join('.');
}

function skipSubLayerProfiles(reader: BitReader, subLayersMinus1: number): void {
  if (subLayersMinus1 === 0) return;
  const present: number[] = [];
  for (let i = 0; i < 8; i++) present.push(reader.bits(2));
  for (let i = 0; i < subLayersMinus1; i++) {
    const flags = present[i] ?? 0;
    if ((flags & 2) !== 0) reader.skip(88);
    if ((flags & 1) !== 0) reader.skip(8);
  }
}

/** Parses an H.265 sequence parameter set (7.3.2.2). Returns null when it is invalid. */
export function parseH265Sps(nal: Uint8Array): SpsInfo | null {
  const rbsp = unescapeNal(nal);
  if (rbsp.length < 16) return null;
  const subLayersMinus1 = ((rbsp[2] ?? 0) >> 1) & 7;
  const reader = new BitReader(rbsp, 15);
  skipSubLayerProfiles(reader, subLayersMinus1);
  reader.unsigned(); // sps_seq_parameter_set_id
  const chromaFormat = reader.unsigned();
  const hasSeparatePlanes = chromaFormat === 3 && reader.bit() === 1;
  let width = reader.unsigned();
  let height = reader.unsigned();
  if (reader.bit() === 1) {
    const isSubsampledX = !hasSeparatePlanes && (chromaFormat === 1 || chromaFormat === 2);
    const isSubsampledY = !hasSeparatePlanes && chromaFormat === 1;
    width -= (reader.unsigned() + reader.unsigned()) * (isSubsampledX ? 2 : 1);
    height -= (reader.unsigned() + reader.unsigned()) * (isSubsampledY ? 2 : 1);
  }
  const bitDepthLuma = 8 + reader.unsigned();
  const bitDepthChroma = 8 + reader.unsigned();
  reader.unsigned(); // log2_max_pic_order_cnt_lsb_minus4
  const reorderFrames = readReorderPictures(reader, subLayersMinus1);
  if (reader.isOverrun || chromaFormat > 3 || bitDepthLuma > 16 || bitDepthChroma > 16) return null;
  if (width < 8 || height < 8 || width > maxSidePixels || height > maxSidePixels) return null;
  return {
    profile: (rbsp[3] ?? 0) & 0x1f,
    level: rbsp[14] ?? 0,
    width,
    height,
    chromaFormat,
    bitDepthLuma,
    bitDepthChroma,
    reorderFrames,
    subLayers: subLayersMinus1 + 1,
    codecString: formatCodecString(rbsp),
  };
}

/** Reads sps_max_num_reorder_pics of the highest sub-layer. */
function readReorderPictures(reader: BitReader, subLayersMinus1: number): number | null {
  const first = reader.bit() === 1 ? 0 : subLayersMinus1;
  let reorder = 0;
  for (let i = first; i <= subLayersMinus1; i++) {
    reader.unsigned();
    reorder = reader.unsigned();
    reader.unsigned();
  }
  return reorder > 16 ? null : reorder;
}

/** Encodes the HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3.1) of the parameter sets as received. */
export function encodeHevcDecoderConfiguration(
  vps: readonly Buffer[],
  sps: readonly Buffer[],
  pps: readonly Buffer[],
  info: SpsInfo,
): Buffer {
  const rbsp = unescapeNal(sps[0] ?? Buffer.alloc(16));
  const isNested = (rbsp[2] ?? 0) & 1;
  const head = Buffer.alloc(23);
  head[0] = 1;
  head.set(profileBytes(rbsp), 1);
  head.set([0xf0, 0x00, 0xfc, 0xfc | info.chromaFormat, 0xf8 | (info.bitDepthLuma - 8)], 13);
  head.set([0xf8 | (info.bitDepthChroma - 8), 0, 0, (info.subLayers << 3) | (isNested << 2) | 3, 3], 18);
  const parts: Buffer[] = [head];
  const arrays = [
    [H265Nal.VPS, vps],
    [H265Nal.SPS, sps],
    [H265Nal.PPS, pps],
  ] as const;
  for (const [type, units] of arrays) {
    parts.push(Buffer.from([0x80 | type, 0, units.length]));
    for (const unit of units) parts.push(Buffer.from([unit.length >> 8, unit.length & 0xff]), unit);
  }
  return Buffer.concat(parts);
}
