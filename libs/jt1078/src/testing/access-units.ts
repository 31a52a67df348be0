import { NalIndex } from '../nal-units.ts';
import { getUnitRole, isFirstSlice, isRandomAccess, type VideoCodec } from '../video-codec.ts';

/** One picture of an elementary stream with the preceding parameter sets, which a terminal sends as one frame. */
export interface AccessUnit {
  /** View of the stream, including start codes. */
  data: Buffer;
  isKeyFrame: boolean;
  /** Number of NAL units. */
  units: number;
}

/** Splits an Annex B elementary stream into access units. */
export function splitAccessUnits(stream: Buffer, codec: VideoCodec): AccessUnit[] {
  const result: AccessUnit[] = [];
  const index = new NalIndex();
  let from = -1;
  let hasSlice = false;
  let isKeyFrame = false;
  let units = 0;
  const closeUnit = (end: number): void => {
    if (hasSlice) result.push({ data: stream.subarray(from, end), isKeyFrame, units });
    from = end;
    hasSlice = false;
    isKeyFrame = false;
    units = 0;
  };
  let scanned = 0;
  while (scanned < stream.length) {
    // The index is bounded, so a long stream is scanned in pieces. Each begins with the last unit of the previous one.
    index.scan(stream.subarray(scanned));
    const offset = scanned;
    for (let i = 0; i < index.count; i++) {
      const start = offset + index.start(i);
      const startCodeAt = start - (stream[start - 4] === 0 ? 4 : 3);
      if (from < 0) from = startCodeAt;
      const first = stream[start] ?? 0;
      const role = getUnitRole(codec, first);
      if (hasSlice && (role === 'slice' ? isFirstSlice(codec, stream, start) : role !== 'other'))
        closeUnit(startCodeAt);
      units++;
      if (role === 'slice') {
        hasSlice = true;
        isKeyFrame ||= isRandomAccess(codec, first);
      }
      scanned = offset + index.end(i);
    }
    if (!index.isOverfull) scanned = stream.length;
  }
  if (from >= 0) closeUnit(stream.length);
  return result;
}
