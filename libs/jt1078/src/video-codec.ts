import { H264Nal } from './h264.ts';
import { getH265NalType, H265Nal } from './h265.ts';
import { NalIndex } from './nal-units.ts';
import { PayloadType } from './tables.ts';

/** Video codecs that can be muxed into FLV. */
export type VideoCodec = 'h264' | 'h265';

/** Returns the codec declared by a payload type, or null. The parameter sets take precedence. */
export function getDeclaredCodec(payloadType: number): VideoCodec | null {
  if (payloadType === PayloadType.H264) return 'h264';
  return payloadType === PayloadType.H265 ? 'h265' : null;
}

/** Returns the codec whose parameter sets begin with these two bytes, or null. */
export function detectParameterSetCodec(first: number, second: number): VideoCodec | null {
  if ((first & 0x9f) === H264Nal.SPS && first >= 0x20) return 'h264';
  return (first === 0x40 || first === 0x42 || first === 0x44) && second === 1 ? 'h265' : null;
}

/** Role of a NAL unit in muxing. */
export type UnitRole = 'slice' | 'parameterSet' | 'sei' | 'drop' | 'other';

/** Returns the role of an H.264 unit by its first byte. */
function getH264UnitRole(first: number): UnitRole {
  const type = first & 0x1f;
  if (type >= 1 && type <= H264Nal.IDR) return 'slice';
  if (type === H264Nal.SPS || type === H264Nal.PPS) return 'parameterSet';
  if (type === H264Nal.SEI) return 'sei';
  return type >= H264Nal.AUD && type <= H264Nal.FILLER ? 'drop' : 'other';
}

/** Returns the role of an H.265 unit by its first byte. */
function getH265UnitRole(first: number): UnitRole {
  const type = getH265NalType(first);
  if (type <= H265Nal.LAST_IRAP) return 'slice';
  if (type >= H265Nal.VPS && type <= H265Nal.PPS) return 'parameterSet';
  if (type === H265Nal.SEI || type === H265Nal.SEI_SUFFIX) return 'sei';
  return type >= H265Nal.AUD && type <= H265Nal.FILLER ? 'drop' : 'other';
}

/** Returns the role of a NAL unit by its first byte. */
export const getUnitRole = (codec: VideoCodec, first: number): UnitRole =>
  codec === 'h264' ? getH264UnitRole(first) : getH265UnitRole(first);

/** Returns true for a slice at which decoding can begin: IDR, or H.265 types 16 to 21. */
export function isRandomAccess(codec: VideoCodec, first: number): boolean {
  if (codec === 'h264') return (first & 0x1f) === H264Nal.IDR;
  const type = getH265NalType(first);
  return type >= H265Nal.BLA_W_LP && type <= H265Nal.CRA;
}

/** Returns true for a slice that no other picture refers to. `subLayers` is that of the SPS (H.265). */
export function isNonReference(codec: VideoCodec, first: number, second: number, subLayers: number): boolean {
  if (codec === 'h264') return (first & 0x60) === 0;
  return getH265NalType(first) < 16 && (getH265NalType(first) & 1) === 0 && (second & 7) >= subLayers;
}

/** Returns true for the first slice of a picture: first_mb_in_slice 0, first_slice_segment_in_pic_flag 1. */
export function isFirstSlice(codec: VideoCodec, data: Uint8Array, start: number): boolean {
  return ((data[start + (codec === 'h264' ? 1 : 2)] ?? 0) & 0x80) !== 0;
}

const units = new NalIndex();

/** Returns true when an Annex B frame contains picture data. */
export function hasSlice(data: Buffer, payloadType: number): boolean {
  const codec = getDeclaredCodec(payloadType) ?? 'h264';
  units.scan(data);
  for (let i = 0; i < units.count; i++) if (getUnitRole(codec, data[units.start(i)] ?? 0) === 'slice') return true;
  return false;
}

/** Returns true when Annex B bytes begin a new picture: parameter sets, SEI, a delimiter, or a first slice. */
export function startsAccessUnit(data: Buffer, payloadType: number): boolean {
  const codec = getDeclaredCodec(payloadType) ?? 'h264';
  units.scan(data.subarray(0, 64));
  const start = units.start(0);
  return units.count > 0 && (getUnitRole(codec, data[start] ?? 0) !== 'slice' || isFirstSlice(codec, data, start));
}
