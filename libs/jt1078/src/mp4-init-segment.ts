import { type AacConfig, encodeAudioSpecificConfig } from './aac.ts';
import { createBox, createFullBox, uint16, uint32 } from './mp4-box.ts';
import type { VideoCodec } from './video-codec.ts';

/** Units of video times in fragmented MP4, per second. */
export const mp4VideoTimescale = 90_000;

/** Track ids of fragmented MP4. */
export const Mp4Track = { VIDEO: 1, AUDIO: 2 } as const;

/** Video of an initialization segment. */
export interface Mp4Video {
  readonly codec: VideoCodec;
  readonly width: number;
  readonly height: number;
  /** AVC or HEVC decoder configuration record. */
  readonly record: Buffer;
}

/** Tracks of an initialization segment; null without the track. */
interface Mp4Tracks {
  readonly video: Mp4Video | null;
  readonly audio: AacConfig | null;
}

const identityMatrix = uint32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
const undefinedLanguage = 0x55c4;

/** Creates the initialization segment of fragmented MP4: `ftyp` and `moov` (ISO/IEC 14496-12, 8.2 and 8.8). */
export function createMp4InitSegment({ video, audio }: Mp4Tracks): Buffer {
  const tracks: Buffer[] = [];
  const defaults: Buffer[] = [];
  if (video !== null) {
    tracks.push(createVideoTrack(video));
    defaults.push(createTrackDefaults(Mp4Track.VIDEO));
  }
  if (audio !== null) {
    tracks.push(createAudioTrack(audio));
    defaults.push(createTrackDefaults(Mp4Track.AUDIO));
  }
  const fileType = createBox('ftyp', Buffer.from('iso5'), uint32(512), Buffer.from('iso5iso6mp41cmfc'));
  const movie = createBox('moov', createMovieHeader(), ...tracks, createBox('mvex', ...defaults));
  return Buffer.concat([fileType, movie]);
}

/** Returns the RFC 6381 string of an AAC configuration. */
export const formatAacCodecString = (config: AacConfig): string => `mp4a.40.${config.objectType}`;

const createMovieHeader = (): Buffer =>
  createFullBox(
    'mvhd',
    0,
    0,
    uint32(0, 0, 1000, 0, 0x10000),
    uint16(0x0100, 0),
    uint32(0, 0),
    identityMatrix,
    uint32(0, 0, 0, 0, 0, 0, Mp4Track.AUDIO + 1),
  );

const createTrackDefaults = (trackId: number): Buffer => createFullBox('trex', 0, 0, uint32(trackId, 1, 0, 0, 0));

function createVideoTrack({ codec, width, height, record }: Mp4Video): Buffer {
  // hvc1: the parameter sets are in the record alone, as Apple's players require.
  const [entry, configuration] = codec === 'h264' ? ['avc1', 'avcC'] : ['hvc1', 'hvcC'];
  const sampleEntry = createBox(
    entry ?? '',
    uint16(0, 0, 0, 1, 0, 0),
    uint32(0, 0, 0),
    uint16(width, height),
    uint32(0x480000, 0x480000, 0),
    uint16(1),
    Buffer.alloc(32),
    uint16(0x18, 0xffff),
    createBox(configuration ?? '', record),
  );
  return createTrack({
    trackId: Mp4Track.VIDEO,
    timescale: mp4VideoTimescale,
    handler: 'vide',
    size: { width, height },
    mediaHeader: createFullBox('vmhd', 0, 1, uint16(0, 0, 0, 0)),
    sampleEntry,
  });
}

function createAudioTrack(config: AacConfig): Buffer {
  const sampleEntry = createBox(
    'mp4a',
    uint16(0, 0, 0, 1),
    uint32(0, 0),
    uint16(config.channels, 16, 0, 0),
    uint32(config.sampleRate << 16),
    createFullBox('esds', 0, 0, createElementaryStreamDescriptor(encodeAudioSpecificConfig(config))),
  );
  return createTrack({
    trackId: Mp4Track.AUDIO,
    timescale: config.sampleRate,
    handler: 'soun',
    size: { width: 0, height: 0 },
    mediaHeader: createFullBox('smhd', 0, 0, uint16(0, 0)),
    sampleEntry,
  });
}

/** Creates the ES_Descriptor of an AAC track (ISO/IEC 14496-1, 7.2.6.5). */
function createElementaryStreamDescriptor(specificConfig: Buffer): Buffer {
  const decoderSpecific = createDescriptor(5, specificConfig);
  // Object type 0x40: MPEG-4 audio. Stream type 5: audio, with the reserved bit.
  const decoderConfig = createDescriptor(4, Buffer.from([0x40, 0x15, 0, 0, 0]), uint32(0, 0), decoderSpecific);
  return createDescriptor(
    3,
    uint16(Mp4Track.AUDIO),
    Buffer.from([0]),
    decoderConfig,
    createDescriptor(6, Buffer.from([2])),
  );
}

function createDescriptor(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
}

interface TrackOptions {
  readonly trackId: number;
  readonly timescale: number;
  readonly handler: 'vide' | 'soun';
  readonly size: { readonly width: number; readonly height: number };
  readonly mediaHeader: Buffer;
  readonly sampleEntry: Buffer;
}

function createTrack({ trackId, timescale, handler, size, mediaHeader, sampleEntry }: TrackOptions): Buffer {
  const trackHeader = createFullBox(
    'tkhd',
    0,
    // Enabled, in the movie, in the preview.
    7,
    uint32(0, 0, trackId, 0, 0, 0, 0),
    uint16(0, 0, handler === 'soun' ? 0x0100 : 0, 0),
    identityMatrix,
    uint32(size.width << 16, size.height << 16),
  );
  const media = createBox(
    'mdia',
    createFullBox('mdhd', 0, 0, uint32(0, 0, timescale, 0), uint16(undefinedLanguage, 0)),
    createFullBox('hdlr', 0, 0, uint32(0), Buffer.from(handler), uint32(0, 0, 0), Buffer.from([0])),
    createBox('minf', mediaHeader, createDataInformation(), createEmptySampleTable(sampleEntry)),
  );
  return createBox('trak', trackHeader, media);
}

/** Creates `dinf` with one reference: the media is in the same file. */
const createDataInformation = (): Buffer =>
  createBox('dinf', createFullBox('dref', 0, 0, uint32(1), createFullBox('url ', 0, 1)));

const createEmptySampleTable = (sampleEntry: Buffer): Buffer =>
  createBox(
    'stbl',
    createFullBox('stsd', 0, 0, uint32(1), sampleEntry),
    createFullBox('stts', 0, 0, uint32(0)),
    createFullBox('stsc', 0, 0, uint32(0)),
    createFullBox('stsz', 0, 0, uint32(0, 0)),
    createFullBox('stco', 0, 0, uint32(0)),
  );
