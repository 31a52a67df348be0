import { NalIndex } from '../nal-units.ts';

/** Returns the NAL units of an Annex B frame, as views. */
export function splitNalUnits(data: Buffer): Buffer[] {
  const index = new NalIndex();
  index.scan(data);
  return Array.from({ length: index.count }, (_, i) => data.subarray(index.start(i), index.end(i)));
}
