import { createBox, createFullBox, uint32, uint64 } from './mp4-box.ts';

/** One sample of a fragment: a picture or an audio frame. */
export interface Mp4Sample {
  /** Bytes of the sample: length-prefixed NAL units, or a raw AAC frame. */
  readonly data: Buffer;
  /** In units of the track's time scale. */
  readonly duration: number;
  /** Display time minus decoding time, in units of the track's time scale. */
  readonly compositionOffset: number;
  /** True if decoding can begin with the sample. */
  readonly isSync: boolean;
}

/** Samples of one track in a fragment. */
interface Mp4TrackFragment {
  readonly trackId: number;
  /** Decoding time of the first sample, in units of the track's time scale. */
  readonly baseTime: number;
  readonly samples: readonly Mp4Sample[];
}

/** Run flags: data offset; duration, size, flags and composition offset of each sample (ISO/IEC 14496-12, 8.8.8). */
const runFlags = 0x000f01;
/** The base of data offsets is the start of `moof` (8.8.7). */
const defaultBaseIsMoof = 0x020000;
/** Sample flags (8.8.3.1): depends on no other sample; depends on others and is no sync sample. */
const syncSampleFlags = 0x02000000;
const dependentSampleFlags = 0x01010000;
const boxHeaderBytes = 8;

/**
 * Creates one fragment: `moof` and `mdat` (ISO/IEC 14496-12, 8.8.4). Returns buffers to write one after another; those of
 * the samples are not copied.
 */
export function createMp4Fragment(sequenceNumber: number, tracks: readonly Mp4TrackFragment[]): Buffer[] {
  const filled = tracks.filter(({ samples }) => samples.length > 0);
  const moofBytes = createMovieFragment(sequenceNumber, filled, 0).length;
  const samples = filled.flatMap((track) => track.samples);
  const dataBytes = samples.reduce((bytes, { data }) => bytes + data.length, 0);
  const head = Buffer.alloc(boxHeaderBytes);
  head.writeUInt32BE(boxHeaderBytes + dataBytes, 0);
  head.write('mdat', 4, 'latin1');
  const moof = createMovieFragment(sequenceNumber, filled, moofBytes + boxHeaderBytes);
  return [moof, head, ...samples.map(({ data }) => data)];
}

function createMovieFragment(sequenceNumber: number, tracks: readonly Mp4TrackFragment[], dataOffset: number): Buffer {
  let offset = dataOffset;
  const fragments = tracks.map((track) => {
    const fragment = createTrackFragment(track, offset);
    offset += track.samples.reduce((bytes, { data }) => bytes + data.length, 0);
    return fragment;
  });
  return createBox('moof', createFullBox('mfhd', 0, 0, uint32(sequenceNumber)), ...fragments);
}

function createTrackFragment({ trackId, baseTime, samples }: Mp4TrackFragment, dataOffset: number): Buffer {
  const entries = samples.map(({ data, duration, compositionOffset, isSync }) =>
    uint32(duration, data.length, isSync ? syncSampleFlags : dependentSampleFlags, compositionOffset),
  );
  return createBox(
    'traf',
    createFullBox('tfhd', 0, defaultBaseIsMoof, uint32(trackId)),
    createFullBox('tfdt', 1, 0, uint64(baseTime)),
    // Version 1: composition offsets may be negative.
    createFullBox('trun', 1, runFlags, uint32(samples.length, dataOffset), ...entries),
  );
}
