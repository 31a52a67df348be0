import { AdpcmEncoder, addHisiliconHeader, PayloadType } from '@fleet/jt1078';
import type { AudioCodec, ClipSpec } from './clip-spec.ts';

/** Encoding and framing of a codec. G.726 and ADPCM terminals in the field send frames of 40 ms. */
export interface AudioFormat {
  payloadType: number;
  sampleRate: number;
  channels: number;
  /** ffmpeg output arguments. */
  output: readonly string[];
  /** Bytes of one frame as ffmpeg outputs it; null if frames state their own length (ADTS). */
  frameBytes: number | null;
  frameMs: number;
}

const audioFormats: Readonly<Record<Exclude<AudioCodec, 'none'>, AudioFormat>> = {
  g711a: {
    payloadType: PayloadType.G711A,
    sampleRate: 8000,
    channels: 1,
    output: ['-f', 'alaw'],
    frameBytes: 320,
    frameMs: 40,
  },
  g711u: {
    payloadType: PayloadType.G711U,
    sampleRate: 8000,
    channels: 1,
    output: ['-f', 'mulaw'],
    frameBytes: 320,
    frameMs: 40,
  },
  g726: {
    payloadType: PayloadType.G726,
    sampleRate: 8000,
    channels: 1,
    output: ['-c:a', 'g726le', '-code_size', '4', '-f', 'g726le'],
    frameBytes: 160,
    frameMs: 40,
  },
  adpcm: {
    payloadType: PayloadType.ADPCMA,
    sampleRate: 8000,
    channels: 1,
    output: ['-f', 's16le'],
    frameBytes: 640,
    frameMs: 40,
  },
  aac: {
    payloadType: PayloadType.AAC,
    sampleRate: 8000,
    channels: 1,
    output: ['-c:a', 'aac', '-b:a', '24k', '-f', 'adts'],
    frameBytes: null,
    frameMs: 128,
  },
  // Some cameras send AAC without ADTS, so that only 0x1003 states rate and channels.
  'aac-raw': {
    payloadType: PayloadType.AAC,
    sampleRate: 44_100,
    channels: 2,
    output: ['-c:a', 'aac', '-b:a', '64k', '-f', 'adts'],
    frameBytes: null,
    frameMs: 1_024_000 / 44_100,
  },
};

/** Returns the format of a codec, or null for a camera without a microphone. */
export function getAudioFormat(codec: AudioCodec): AudioFormat | null {
  return codec === 'none' ? null : audioFormats[codec];
}

/** Returns the ffmpeg input for a clip's audio: a tone with a beep every second, so that drift is audible. */
export function audioInputArguments(spec: ClipSpec, format: AudioFormat): string[] {
  const source = `sine=frequency=${spec.toneHz}:beep_factor=3:sample_rate=${format.sampleRate}:duration=${spec.seconds}`;
  return ['-f', 'lavfi', '-i', source];
}

/** Returns the ffmpeg output arguments for a clip's audio. */
export function audioOutputArguments(format: AudioFormat): string[] {
  return ['-ac', String(format.channels), '-ar', String(format.sampleRate), ...format.output];
}

/** Size of an ADTS header without a checksum. */
const adtsHeaderBytes = 7;

/** Splits a stream into ADTS frames, headers included, as carried by PT 19. */
export function splitAdts(stream: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  let at = 0;
  while (at + 7 <= stream.length) {
    const isSync = stream[at] === 0xff && ((stream[at + 1] ?? 0) & 0xf0) === 0xf0;
    const length = (((stream[at + 3] ?? 0) & 0x03) << 11) | ((stream[at + 4] ?? 0) << 3) | ((stream[at + 5] ?? 0) >> 5);
    if (!isSync || length < 7 || at + length > stream.length) break;
    frames.push(stream.subarray(at, at + length));
    at += length;
  }
  return frames;
}

function splitFixed(stream: Buffer, size: number): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + size <= stream.length; at += size) frames.push(stream.subarray(at, at + size));
  return frames;
}

function readSamples(bytes: Buffer): Int16Array {
  return Int16Array.from({ length: bytes.length >> 1 }, (_unused, index) => bytes.readInt16LE(index * 2));
}

/** Splits ffmpeg's output into the frames of JT/T 1078 packets. */
export function splitAudioFrames(raw: Buffer, spec: ClipSpec, format: AudioFormat): Buffer[] {
  const rawFrames = format.frameBytes === null ? splitAdts(raw) : splitFixed(raw, format.frameBytes);
  if (spec.audio === 'adpcm') {
    const encoder = new AdpcmEncoder({ hisiliconHeader: true });
    return rawFrames.map((frame) => encoder.encode(readSamples(frame)));
  }
  if (spec.audio === 'aac-raw') return rawFrames.map((frame) => frame.subarray(adtsHeaderBytes));
  return spec.hisiliconHeader ? rawFrames.map((frame) => addHisiliconHeader(frame)) : rawFrames;
}
