import type { VideoCodec } from './clip-spec.ts';

/** One picture with its parameter sets in Annex B format: the content of one JT/T 1078 video frame. */
interface AccessUnit {
  data: Buffer;
  isKeyFrame: boolean;
}

/** Splits an Annex B stream into NAL units, each with its start code. */
export function splitNalUnits(stream: Buffer): Buffer[] {
  const starts: number[] = [];
  let at = stream.indexOf('000001', 0, 'hex');
  while (at !== -1) {
    starts.push(at > 0 && stream[at - 1] === 0 ? at - 1 : at);
    at = stream.indexOf('000001', at + 3, 'hex');
  }
  return starts.map((start, index) => stream.subarray(start, starts[index + 1] ?? stream.length));
}

/** Returns the NAL unit type of a unit with its start code. */
export function nalType(unit: Buffer, codec: VideoCodec): number {
  const header = unit[unit[2] === 1 ? 3 : 4] ?? 0;
  return codec === 'h264' ? header & 0x1f : (header >> 1) & 0x3f;
}

const isDelimiter = (type: number, codec: VideoCodec): boolean => type === (codec === 'h264' ? 9 : 35);

const isRandomAccess = (type: number, codec: VideoCodec): boolean =>
  codec === 'h264' ? type === 5 : type >= 16 && type <= 21;

/**
 * Splits a stream in which the encoder has placed an access unit delimiter before every picture. Omits the delimiters,
 * since cameras send none. Deliberately independent of the platform's own parser, which it helps to test.
 */
export function splitDelimitedStream(stream: Buffer, codec: VideoCodec): AccessUnit[] {
  const units: AccessUnit[] = [];
  let parts: Buffer[] = [];
  let isKeyFrame = false;
  const finish = (): void => {
    if (parts.length > 0) units.push({ data: Buffer.concat(parts), isKeyFrame });
    parts = [];
    isKeyFrame = false;
  };
  for (const unit of splitNalUnits(stream)) {
    const type = nalType(unit, codec);
    if (isDelimiter(type, codec)) {
      finish();
      continue;
    }
    if (isRandomAccess(type, codec)) isKeyFrame = true;
    parts.push(unit);
  }
  finish();
  return units;
}
