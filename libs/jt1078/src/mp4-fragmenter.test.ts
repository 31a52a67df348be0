import { describe, expect, it } from '@jest/globals';
import { AdtsSplitter } from './aac.ts';
import type { FlvTag } from './flv-tag.ts';
import { Mp4Fragmenter, type Mp4FragmentOutput, type Mp4Init } from './mp4-fragmenter.ts';
import { DataType, PayloadType } from './tables.ts';
import { splitAccessUnits } from './testing/access-units.ts';
import { encodeAudio, encodeTimedVideo, encodeVideo, ffmpeg, frameHashes, probeVideo } from './testing/ffmpeg.ts';
import { packetizeFrames, runTcp, type SyntheticFrame } from './testing/pipeline.ts';
import type { VideoCodec } from './video-codec.ts';

const startMs = 1_700_000_000_000;

function videoFrames(stream: Buffer, codec: VideoCodec, timesMs?: readonly number[]): SyntheticFrame[] {
  return splitAccessUnits(stream, codec).map(({ data, isKeyFrame }, index) => ({
    data,
    dataType: isKeyFrame ? DataType.I : DataType.P,
    payloadType: codec === 'h264' ? PayloadType.H264 : PayloadType.H265,
    timestampMs: startMs + (timesMs?.[index] ?? index * 40),
  }));
}

function aacFrames(seconds: number, sampleRate: number): SyntheticFrame[] {
  const frames: SyntheticFrame[] = [];
  const splitter = new AdtsSplitter((data) =>
    frames.push({
      data,
      dataType: DataType.AUDIO,
      payloadType: PayloadType.AAC,
      timestampMs: startMs + Math.round((frames.length * 1024 * 1000) / sampleRate),
    }),
  );
  splitter.push(encodeAudio(['-c:a', 'aac', '-f', 'adts'], seconds, sampleRate));
  return frames;
}

const interleave = (...tracks: readonly SyntheticFrame[][]): SyntheticFrame[] =>
  tracks.flat().toSorted((a, b) => a.timestampMs - b.timestampMs);

interface Mp4Output {
  readonly inits: Mp4Init[];
  readonly fragments: Mp4FragmentOutput[];
  /** All segments, one after another. */
  readonly file: Buffer;
}

/** Sends tags of the given frames through a fragmenter, with the sequence headers that apply to each. */
function fragment(
  frames: readonly SyntheticFrame[],
  tracks = { video: true, audio: true },
  fragmentMs = 200,
  audioHeader: 'known' | 'as received' = 'known',
): Mp4Output {
  const { tags } = runTcp(Buffer.concat(packetizeFrames(frames)));
  const inits: Mp4Init[] = [];
  const fragments: Mp4FragmentOutput[] = [];
  const parts: Buffer[] = [];
  const fragmenter = new Mp4Fragmenter({
    tracks,
    fragmentMs,
    onInit: (init) => {
      inits.push(init);
      parts.push(init.data);
    },
    onFragment: (output) => {
      fragments.push(output);
      parts.push(...output.data);
    },
  });
  const headers: { video: FlvTag | null; audio: FlvTag | null } = {
    video: tags.find((tag) => tag.track === 'video' && tag.isSequenceHeader) ?? null,
    audio: audioHeader === 'known' ? (tags.find((tag) => tag.track === 'audio' && tag.isSequenceHeader) ?? null) : null,
  };
  for (const tag of tags) {
    if (tag.isSequenceHeader && (tag.track === 'video' || tag.track === 'audio')) headers[tag.track] = tag;
    else fragmenter.push(tag, { ...headers });
  }
  fragmenter.flush();
  return { inits, fragments, file: Buffer.concat(parts) };
}

const noB = ['-bf', '0'];
const noB265 = ['-x265-params', 'log-level=error:bframes=0'];

/** Decodes the audio of a file and returns the number of samples. */
const countSamples = (file: Buffer): number =>
  ffmpeg(['-f', 'mp4', '-i', 'pipe:0', '-vn', '-f', 's16le', 'pipe:1'], file).length / 2;

describe('Mp4Fragmenter', () => {
  it.each([
    ['h264', 'libx264', noB, /^avc1\.[0-9a-f]{6}$/i],
    ['h265', 'libx265', noB265, /^hvc1\./],
  ] as const)('preserves every %s picture and its time', (codec, encoder, options, codecs) => {
    const stream = encodeVideo(encoder, [...options], 30, '352x288');
    const { inits, fragments, file } = fragment(videoFrames(stream, codec));
    expect(inits).toHaveLength(1);
    expect(inits[0]).toMatchObject({ width: 352, height: 288, codecs: expect.stringMatching(codecs) });
    const probe = probeVideo(file, 'mp4');
    expect(probe).toMatchObject({ codec: codec === 'h264' ? 'h264' : 'hevc', width: 352, height: 288, frames: 30 });
    expect(probe.ptsMs).toEqual(Array.from({ length: 30 }, (_, index) => index * 40));
    expect(frameHashes(file, 'mp4')).toEqual(frameHashes(stream, codec === 'h264' ? 'h264' : 'hevc'));
    // A key frame every ten pictures, and fragments of at most 200 ms between them.
    expect(fragments.filter(({ isIndependent }) => isIndependent)).toHaveLength(3);
    expect(Math.max(...fragments.map(({ durationMs }) => durationMs))).toBeLessThanOrEqual(240);
    expect(fragments.reduce((sum, { durationMs }) => sum + durationMs, 0)).toBe(30 * 40);
  });

  it('preserves the display order of pictures that refer to later ones', () => {
    const { stream, ptsMs } = encodeTimedVideo('libx264', ['-bf', '2']);
    const { file } = fragment(videoFrames(stream, 'h264', ptsMs));
    expect(frameHashes(file, 'mp4')).toEqual(frameHashes(stream, 'h264'));
  });

  it.each([8000, 44_100])('muxes AAC of %i Hz with the video, without gaps', (sampleRate) => {
    const stream = encodeVideo('libx264', noB, 50);
    const audio = aacFrames(2, sampleRate);
    const { inits, file } = fragment(interleave(videoFrames(stream, 'h264'), audio));
    expect(inits.map(({ codecs }) => codecs)).toEqual([expect.stringMatching(/^avc1\.[0-9a-f]{6},mp4a\.40\.2$/i)]);
    expect(frameHashes(file, 'mp4')).toEqual(frameHashes(stream, 'h264'));
    const samples = countSamples(file);
    expect(samples).toBeGreaterThan((audio.length - 3) * 1024);
    expect(samples).toBeLessThanOrEqual(audio.length * 1024);
  });

  it('completes late audio with silence until the end of the last picture', () => {
    const stream = encodeVideo('libx264', noB, 50);
    const audio = aacFrames(2, 8000);
    const frames = interleave(videoFrames(stream, 'h264'), audio.slice(0, -5));
    const samples = countSamples(fragment(frames).file);
    // The pictures take two seconds.
    expect(samples).toBeGreaterThanOrEqual(16_000);
    expect(samples).toBeLessThan(16_000 + 1024);
  });

  it('muxes audio alone', () => {
    const audio = aacFrames(2, 8000);
    const { inits, fragments, file } = fragment(audio, { video: false, audio: true });
    expect(inits).toEqual([expect.objectContaining({ codecs: 'mp4a.40.2', width: null, height: null })]);
    expect(fragments.every(({ isIndependent }) => isIndependent)).toBe(true);
    expect(countSamples(file)).toBe(audio.length * 1024);
  });

  it('omits audio that was not requested', () => {
    const stream = encodeVideo('libx264', noB, 30);
    const { inits } = fragment(interleave(videoFrames(stream, 'h264'), aacFrames(1, 8000)), {
      video: true,
      audio: false,
    });
    expect(inits[0]?.codecs).not.toContain('mp4a');
  });

  it('waits for the format of the audio, which a transcoder may deliver after the first picture', () => {
    const video = videoFrames(encodeVideo('libx264', noB, 50), 'h264');
    const late = aacFrames(1, 8000).map((frame) => ({ ...frame, timestampMs: frame.timestampMs + 600 }));
    const { inits, fragments } = fragment(interleave(video, late), { video: true, audio: true }, 200, 'as received');
    expect(inits).toEqual([expect.objectContaining({ codecs: expect.stringContaining('mp4a.40.2') })]);
    expect(fragments.reduce((sum, { durationMs }) => sum + durationMs, 0)).toBe(2_000);
  });

  it('emits a new initialization segment when the size of the picture changes', () => {
    const small = videoFrames(encodeVideo('libx264', noB, 20, '176x144'), 'h264');
    const large = videoFrames(encodeVideo('libx264', noB, 20, '352x288'), 'h264').map((frame) => ({
      ...frame,
      timestampMs: frame.timestampMs + 800,
    }));
    const { inits } = fragment([...small, ...large]);
    expect(inits.map(({ width, height }) => [width, height])).toEqual([
      [176, 144],
      [352, 288],
    ]);
  });
});
