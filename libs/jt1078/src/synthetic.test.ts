import { describe, expect, it } from '@jest/globals';
import { AdtsSplitter } from './aac.ts';
import { createFlvHeader } from './flv-tag.ts';
import { toLegacyHevcTag } from './flv-video.ts';
import { encodePacket } from './packet.ts';
import { readVideoTag } from './read-video-tag.ts';
import { DataType, PayloadType, SubpackageMark } from './tables.ts';
import { splitAccessUnits } from './testing/access-units.ts';
import { encodeAudio, encodeTimedVideo, encodeVideo, ffmpeg, frameHashes, probeVideo } from './testing/ffmpeg.ts';
import { demuxFlv, flvToAdts, flvToAnnexB } from './testing/flv-demuxer.ts';
import { splitNalUnits } from './testing/nal-units.ts';
import { parsePacket } from './testing/parse-packet.ts';
import { buildFlv, packetizeFrames, runTcp, type SyntheticFrame } from './testing/pipeline.ts';
import type { VideoCodec } from './video-codec.ts';

const defaultFrameMs = 40;
const ten = { sim: '00000000014482607571', simBytes: 10 as const };

/** Converts an encoder's stream to the frames of a camera. */
const videoFrames = (
  stream: Buffer,
  codec: VideoCodec,
  payloadType: number = codec === 'h264' ? 98 : 99,
): SyntheticFrame[] =>
  splitAccessUnits(stream, codec).map(({ data, isKeyFrame }, i) => ({
    data,
    dataType: isKeyFrame ? DataType.I : DataType.P,
    payloadType,
    timestampMs: 1_700_000_000_000 + i * defaultFrameMs,
  }));

const audioFrames = (frames: readonly Buffer[], payloadType: number, frameMs: number): SyntheticFrame[] =>
  frames.map((data, i) => ({
    data,
    dataType: DataType.AUDIO,
    payloadType,
    timestampMs: 1_700_000_000_000 + Math.round(i * frameMs),
  }));

/** Clears M on every packet. */
const withoutMarker = (packets: readonly Buffer[]): Buffer[] =>
  packets.map((packet) => {
    const copy = Buffer.from(packet);
    copy[5] = (copy[5] ?? 0) & 0x7f;
    return copy;
  });

const times = (flv: Buffer): number[] => flvToAnnexB(flv).timestampsMs;
const noB = ['-bf', '0'];
const noB265 = ['-x265-params', 'log-level=error:bframes=0'];

describe('synthetic H.265', () => {
  it.each([
    ['PT 99, 6-byte SIM', 99, {}],
    ['PT 99, 10-byte SIM', 99, ten],
    ['sent as PT 98', 98, {}],
  ])('plays in both FLV forms: %s', (_case, payloadType, sim) => {
    const stream = encodeVideo('libx265', noB265, 30, '352x288');
    const output = runTcp(Buffer.concat(packetizeFrames(videoFrames(stream, 'h265', payloadType), sim)), 1000);
    expect(output.muxer.video).toMatchObject({ codec: 'h265', width: 352, height: 288 });
    expect(output.muxer.counters).toMatchObject({
      videoFrames: 30,
      keyFrames: 3,
      codecMismatches: payloadType === 98 ? 3 : 0,
    });
    const enhanced = buildFlv(output);
    const legacy = Buffer.concat([
      createFlvHeader({ video: true, audio: false }),
      ...output.tags.filter((tag) => tag.track === 'video').map((tag) => toLegacyHevcTag(tag).wire),
    ]);
    for (const flv of [enhanced, legacy]) {
      const { codec, data, timestampsMs } = flvToAnnexB(flv);
      expect(codec).toBe('h265');
      expect(probeVideo(data, 'hevc')).toMatchObject({
        codec: 'hevc',
        width: 352,
        height: 288,
        profile: 'Main',
        frames: 30,
      });
      expect(frameHashes(data, 'hevc')).toEqual(frameHashes(stream, 'hevc'));
      expect(timestampsMs).toEqual(Array.from({ length: 30 }, (_, i) => i * defaultFrameMs));
    }
    const first = demuxFlv(legacy).find((tag) => tag.type === 9);
    expect(first?.body.subarray(0, 2).toString('hex')).toBe('1c00');
  });

  it('plays from the next key frame when it starts in the middle of a group', () => {
    const stream = encodeVideo('libx265', noB265, 30);
    const output = runTcp(Buffer.concat(packetizeFrames(videoFrames(stream, 'h265').slice(4))));
    expect(output.muxer.counters).toMatchObject({ videoFrames: 20, droppedVideoFrames: 6 });
    expect(frameHashes(flvToAnnexB(buildFlv(output)).data, 'hevc')).toEqual(frameHashes(stream, 'hevc').slice(10));
  });
});

describe('synthetic H.264', () => {
  it('plays with 10-byte SIM, M always 0, and mixed 3- and 4-byte start codes', () => {
    const stream = encodeVideo('libx264', ['-slices', '2', ...noB], 30, '352x288');
    expect(stream.toString('hex')).toContain('000001');
    const output = runTcp(Buffer.concat(withoutMarker(packetizeFrames(videoFrames(stream, 'h264'), ten))), 77);
    const flv = buildFlv(output);
    expect(probeVideo(flv, 'flv')).toMatchObject({ codec: 'h264', width: 352, height: 288, frames: 30 });
    expect(frameHashes(flv, 'flv')).toEqual(frameHashes(stream, 'h264'));
    expect(new Set(output.packets.map((packet) => packet.sim))).toEqual(new Set([ten.sim]));
  });

  it.each([
    ['as fragments of one frame', false],
    ['each atomic', true],
  ])('plays when split into one packet per NAL unit: %s', (_case, isAtomic) => {
    const stream = encodeVideo('libx264', ['-slices', '3', ...noB], 30);
    let sequence = 0;
    const packets = videoFrames(stream, 'h264').flatMap((frame) => {
      const units = splitNalUnits(frame.data);
      return units.map((unit, i) => {
        const mark =
          i === 0 ? SubpackageMark.FIRST : i === units.length - 1 ? SubpackageMark.LAST : SubpackageMark.MIDDLE;
        return encodePacket({
          sim: '13800138000',
          channel: 1,
          payloadType: 98,
          dataType: frame.dataType,
          timestamp: frame.timestampMs,
          sequence: sequence++,
          subpackage: isAtomic || units.length === 1 ? SubpackageMark.ATOMIC : mark,
          body: Buffer.concat([Buffer.from([0, 0, 0, 1]), unit]),
        });
      });
    });
    const flv = buildFlv(runTcp(Buffer.concat(packets)));
    expect(probeVideo(flv, 'flv').frames).toBe(30);
    expect(frameHashes(flv, 'flv')).toEqual(frameHashes(stream, 'h264'));
    expect(times(flv)).toEqual(Array.from({ length: 30 }, (_, i) => i * defaultFrameMs));
  });

  it('plays when frames are split with all marks 0', () => {
    const stream = encodeVideo('libx264', noB, 30, '352x288');
    const packets = packetizeFrames(videoFrames(stream, 'h264')).map((packet) => {
      const copy = Buffer.from(packet);
      copy[15] = (copy[15] ?? 0) & 0xf0;
      return copy;
    });
    const flv = buildFlv(runTcp(Buffer.concat(packets)));
    expect(frameHashes(flv, 'flv')).toEqual(frameHashes(stream, 'h264'));
  });

  it('plays from the next key frame when it starts in the middle of a frame', () => {
    const stream = encodeVideo('libx264', noB, 30, '352x288');
    const packets = packetizeFrames(videoFrames(stream, 'h264'));
    const flv = buildFlv(runTcp(Buffer.concat(packets.slice(1))));
    expect(frameHashes(flv, 'flv')).toEqual(frameHashes(stream, 'h264').slice(10));
  });

  it('emits no incomplete picture after a lost packet', () => {
    const stream = encodeVideo('libx264', noB, 30, '352x288');
    const packets = packetizeFrames(videoFrames(stream, 'h264'));
    const withoutLostPackets = packets.findIndex(
      (packet) => parsePacket(packet, 6)?.subpackage === SubpackageMark.MIDDLE,
    );
    const flv = buildFlv(runTcp(Buffer.concat(packets.filter((_, i) => i !== withoutLostPackets))));
    const whole = frameHashes(stream, 'h264');
    expect(frameHashes(flv, 'flv')).toEqual(whole.slice(10));
  });

  it('changes its size in mid-stream', () => {
    const small = encodeVideo('libx264', noB, 10, '176x144');
    const large = encodeVideo('libx264', noB, 10, '352x288');
    const frames = videoFrames(small, 'h264').concat(
      videoFrames(large, 'h264').map((frame) => ({ ...frame, timestampMs: frame.timestampMs + 10 * defaultFrameMs })),
    );
    const output = runTcp(Buffer.concat(packetizeFrames(frames)));
    expect(output.tags.filter((tag) => tag.isSequenceHeader).length).toBe(2);
    expect(output.muxer.video).toMatchObject({ width: 352, height: 288 });
    expect(frameHashes(flvToAnnexB(buildFlv(output)).data, 'h264').length).toBe(20);
  });
});

describe('synthetic B frames with presentation times in coded order', () => {
  it.each([
    ['libx264', ['-bf', '3', '-b_strategy', '0'], 'h264', 'h264'],
    ['libx265', ['-x265-params', 'log-level=error:bframes=3:b-adapt=0'], 'h265', 'hevc'],
  ] as const)('play with increasing decoding times: %s', (encoder, options, codec, format) => {
    const { stream, ptsMs: pts } = encodeTimedVideo(encoder, [...options]);
    const frames = videoFrames(stream, codec).map((frame, i) => ({
      ...frame,
      timestampMs: 1_700_000_000_000 + (pts[i] ?? 0),
    }));
    expect(pts.some((at, i) => at < (pts[i - 1] ?? 0))).toBe(true);
    const output = runTcp(Buffer.concat(packetizeFrames(frames)));
    const flv = buildFlv(output);
    const read = demuxFlv(flv).flatMap((tag) => {
      const video = tag.type === 9 ? readVideoTag(tag.body) : null;
      return video && !video.isSequenceHeader ? [{ dts: tag.timestampMs, composition: video.compositionMs }] : [];
    });
    expect(read.every(({ dts }, i) => i === 0 || dts > (read[i - 1]?.dts ?? 0))).toBe(true);
    expect(read.every(({ composition }) => composition >= 0)).toBe(true);
    const base = pts[0] ?? 0;
    expect(read.slice(4).map(({ dts, composition }) => dts + composition)).toEqual(pts.slice(4).map((at) => at - base));
    expect(frameHashes(flvToAnnexB(flv).data, format)).toEqual(frameHashes(stream, format));
  });
});

describe('synthetic audio', () => {
  const extractAdts = (rate: number): Buffer[] => {
    const frames: Buffer[] = [];
    new AdtsSplitter((frame) => frames.push(frame)).push(encodeAudio(['-c:a', 'aac', '-f', 'adts'], 1, rate));
    return frames;
  };

  it.each([
    ['with ADTS', false],
    ['without ADTS', true],
  ])('plays AAC %s from FLV', (_case, isRaw) => {
    const frames = extractAdts(16_000);
    const sent = isRaw ? frames.map((frame) => frame.subarray(7)) : frames;
    const output = runTcp(Buffer.concat(packetizeFrames(audioFrames(sent, PayloadType.AAC, 64))), 500, {
      aac: { sampleRate: 16_000, channels: 1 },
    });
    expect(output.transcode).toEqual([]);
    const flv = buildFlv(output, ['audio']);
    const pcm = (data: Buffer, format: string): Buffer =>
      ffmpeg(['-f', format, '-i', 'pipe:0', '-f', 's16le', 'pipe:1'], data);
    expect(pcm(flvToAdts(flv), 'aac').equals(pcm(Buffer.concat(frames), 'aac'))).toBe(true);
    expect(pcm(flv, 'flv').length).toBeGreaterThan(30_000);
    expect(
      demuxFlv(flv)
        .filter((tag) => tag.type === 8)
        .slice(1)
        .map((tag) => tag.timestampMs),
    ).toEqual(frames.map((_, i) => i * 64));
  });

  it.each([2, 3, 4, 5])('passes G.726 with %i bits per code to ffmpeg in the expected bit order', (codeSize) => {
    const coded = encodeAudio(['-c:a', 'g726le', '-code_size', String(codeSize), '-f', 'g726le'], 1);
    const frameBytes = 40 * codeSize;
    const frames = Array.from({ length: Math.floor(coded.length / frameBytes) }, (_, i) =>
      coded.subarray(i * frameBytes, (i + 1) * frameBytes),
    );
    const { transcode } = runTcp(Buffer.concat(packetizeFrames(audioFrames(frames, PayloadType.G726, 40))));
    expect(new Set(transcode.map((input) => `${input.format} ${input.codeSize}`))).toEqual(
      new Set([`g726le ${codeSize}`]),
    );
    const data = Buffer.concat(transcode.map((input) => input.data));
    const decode = ['-f', 'g726le', '-code_size', String(codeSize), '-i', 'pipe:0', '-f', 's16le', 'pipe:1'];
    expect(ffmpeg(decode, data).length).toBe(frames.length * 640);
    expect(transcode.map((input) => input.timestampMs)).toEqual(frames.map((_, i) => i * 40));
  });

  it('copies MP3 into FLV unchanged', () => {
    const mp3 = encodeAudio(
      ['-c:a', 'libmp3lame', '-b:a', '32k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
      1,
      16_000,
    );
    // Frames of a constant rate have one length: 576 samples at 16 kHz and 32 kbit/s.
    const frames = Array.from({ length: Math.floor(mp3.length / 144) }, (_, i) => mp3.subarray(i * 144, (i + 1) * 144));
    const flv = buildFlv(runTcp(Buffer.concat(packetizeFrames(audioFrames(frames, PayloadType.MP3, 36)))), ['audio']);
    const pcm = ffmpeg(['-f', 'flv', '-i', 'pipe:0', '-f', 's16le', 'pipe:1'], flv);
    expect(pcm.length / 2).toBe(frames.length * 576);
  });
});
