import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { FlvTag } from './flv-tag.ts';
import { addHisiliconHeader } from './hisilicon.ts';
import type { MediaFrame } from './media-frame.ts';
import { readVideoTag } from './read-video-tag.ts';
import type { StreamMuxerOptions } from './stream-muxer.ts';
import { DataType, PayloadType } from './tables.ts';
import { encodeAdtsHeader } from './testing/encode-adts-header.ts';
import { createPipeline, type PipelineOutput, removeSpaces, type SyntheticFrame } from './testing/pipeline.ts';

fc.configureGlobal(propertySettings);

// CIF Main and PAL High, from the reference captures.
const cifSps = { sps: '674d001495a8582590', pps: '68ee3c80' };
const palSps = { sps: '6764001eacb2016824dff802000168800001f480005dc0078b1724', pps: '68ebc3cb22c0' };
const idrSlice = '6588aa';
const pSlice = '619abb';
const nonReferenceSlice = '019acc';

const annexB = (...units: string[]): Buffer => Buffer.from(units.map((unit) => `00000001${unit}`).join(''), 'hex');
const key = (sets = cifSps): Buffer => annexB(sets.sps, sets.pps, idrSlice);

interface MuxerRun extends PipelineOutput {
  push: (frame: Partial<MediaFrame> & { data: Buffer }) => void;
}

/** Pushes frames directly to the muxer, 40 ms apart unless specified. */
function mux(
  frames: readonly (Uint8Array | (Partial<SyntheticFrame> & { data: Buffer; discontinuity?: boolean }))[],
  options?: Partial<StreamMuxerOptions>,
): MuxerRun {
  const output = createPipeline(options);
  let timestampLow = -40;
  const push: MuxerRun['push'] = (frame) => {
    timestampLow = frame.timestampLow ?? timestampLow + 40;
    output.muxer.push({
      kind: 'video',
      sim: '013800138000',
      simBytes: 6,
      channel: 1,
      payloadType: PayloadType.H264,
      dataType: DataType.P,
      timestampHigh: 0,
      lastIFrameIntervalMs: 0,
      lastFrameIntervalMs: 0,
      packets: 1,
      arrivalMs: 0,
      discontinuity: false,
      ...frame,
      timestampLow,
    });
  };
  for (const frame of frames) {
    if (frame instanceof Uint8Array) push({ data: Buffer.from(frame) });
    else push({ ...frame, ...(frame.timestampMs === undefined ? {} : { timestampLow: frame.timestampMs }) });
  }
  return { ...output, push };
}

/** Summarizes video tags: `H` sequence header, `K` key frame, `d` disposable, `p` other pictures. */
const shape = (tags: readonly FlvTag[]): string =>
  tags
    .filter((tag) => tag.track === 'video')
    .map((tag) => (tag.isSequenceHeader ? 'H' : tag.isKeyFrame ? 'K' : tag.isDisposable ? 'd' : 'p'))
    .join('');

const units = (tag: FlvTag | undefined): string => (tag ? (readVideoTag(tag.body)?.data.toString('hex') ?? '') : '');

describe('StreamMuxer video', () => {
  it('emits nothing before parameter sets and a key frame', () => {
    const { tags, muxer } = mux([
      annexB(pSlice),
      annexB(pSlice),
      annexB(idrSlice),
      annexB(cifSps.sps, cifSps.pps, pSlice),
      key(),
      annexB(pSlice),
    ]);
    expect(shape(tags)).toBe('HKp');
    expect(muxer.counters).toMatchObject({ videoFrames: 2, keyFrames: 1, droppedVideoFrames: 4 });
    expect(muxer.video).toEqual({
      codec: 'h264',
      width: 352,
      height: 288,
      profile: 77,
      level: 20,
      codecString: 'avc1.4d0014',
    });
  });

  it('emits one tag per picture with all slices, lengths instead of start codes, and no padding', () => {
    const data = Buffer.concat([key(), Buffer.from(removeSpaces('000001 6508dd 0000000000'), 'hex')]);
    const { tags } = mux([data]);
    expect(shape(tags)).toBe('HK');
    expect(units(tags[1])).toBe(removeSpaces(`00000003${idrSlice} 00000003 6508dd`));
    expect(tags[1]?.body.subarray(0, 5).toString('hex')).toBe('1701000000');
  });

  it('omits delimiters, filler and parameter sets, but not SEI', () => {
    const { tags } = mux([annexB('09f0', cifSps.sps, cifSps.pps, '06e5013280', idrSlice, '0cffff80', '0a', '0b')]);
    expect(units(tags[1])).toBe(removeSpaces(`00000005 06e5013280 00000003${idrSlice}`));
  });

  it('detects key frames by NAL type, not by the data type nibble', () => {
    const { tags } = mux([
      { data: key(), dataType: DataType.P },
      { data: annexB(pSlice), dataType: DataType.I },
      annexB(nonReferenceSlice),
    ]);
    expect(shape(tags)).toBe('HKpd');
  });

  it('repeats the sequence header before a key frame only if parameter sets have changed', () => {
    const { tags, muxer } = mux([
      key(),
      annexB(pSlice),
      key(),
      annexB(pSlice),
      key(palSps),
      annexB(pSlice),
      key(palSps),
    ]);
    expect(shape(tags)).toBe('HKpKpHKpK');
    expect(muxer.video).toMatchObject({ width: 720, height: 576, profile: 100 });
    expect(muxer.videoSequenceHeader?.body.toString('hex')).toContain(palSps.sps);
  });

  it('includes a changed set in the stream until the next key frame emits the sequence header', () => {
    const other = '68ee3c81';
    const { tags } = mux([key(), annexB(other, pSlice), annexB(pSlice), annexB(idrSlice)]);
    expect(shape(tags)).toBe('HKppHK');
    expect(units(tags[2])).toBe(removeSpaces(`00000004${other} 00000003${pSlice}`));
  });

  it('accepts parameter sets in separate frames', () => {
    const sets = [
      { data: annexB(cifSps.sps), timestampMs: 0 },
      { data: annexB(cifSps.pps), timestampMs: 0 },
    ];
    const { tags, muxer } = mux([
      ...sets,
      { data: annexB(idrSlice), timestampMs: 0 },
      { data: annexB(pSlice), timestampMs: 40 },
    ]);
    muxer.flush();
    expect(shape(tags)).toBe('HKp');
  });

  it('joins slices in separate frames from the first picture on', () => {
    const at = (timestampMs: number, unit: string): { data: Buffer; timestampMs: number } => ({
      data: annexB(unit),
      timestampMs,
    });
    const rows = [
      at(0, cifSps.sps),
      at(0, cifSps.pps),
      at(0, idrSlice),
      at(0, '6508dd'),
      at(40, pSlice),
      at(40, '6108ee'),
      at(80, pSlice),
    ];
    const { tags, muxer } = mux(rows);
    muxer.flush();
    expect(shape(tags)).toBe('HKpp');
    expect(units(tags[1])).toBe(removeSpaces(`00000003${idrSlice} 000000036508dd`));
    expect(units(tags[2])).toBe(removeSpaces(`00000003${pSlice} 000000036108ee`));
  });

  it('emits no incomplete picture when slices in separate frames are detected later', () => {
    const slices = [
      { data: key(), timestampMs: 0 },
      { data: annexB('6508dd'), timestampMs: 0 },
      { data: annexB(pSlice), timestampMs: 40 },
    ];
    const { tags, muxer } = mux([
      ...slices,
      { data: key(), timestampMs: 80 },
      { data: annexB('6508dd'), timestampMs: 80 },
    ]);
    muxer.flush();
    expect(shape(tags)).toBe('HKK');
    expect(units(tags[2])).toContain('6508dd');
  });

  it('waits for a key frame after a loss', () => {
    const { tags, muxer } = mux([
      key(),
      annexB(pSlice),
      { data: annexB(pSlice), discontinuity: true },
      annexB(pSlice),
      key(),
      annexB(pSlice),
    ]);
    expect(shape(tags)).toBe('HKpKp');
    expect(muxer.counters.droppedVideoFrames).toBe(2);
  });

  it('plays a stream without IDR from its recovery points, after two groups', () => {
    const open = annexB(cifSps.sps, cifSps.pps, '0606c4', pSlice);
    const { tags } = mux([open, annexB(pSlice), open, annexB(pSlice), open, annexB(pSlice), open]);
    expect(shape(tags)).toBe('HKpK');
    const withIdr = mux([open, annexB(pSlice), key(), annexB(pSlice), open]);
    expect(shape(withIdr.tags)).toBe('HKpp');
  });

  it('determines the codec from the bits, not the payload type, and counts the mismatch', () => {
    const { tags, muxer } = mux([
      { data: key(), payloadType: PayloadType.H265 },
      { data: annexB(pSlice), payloadType: PayloadType.H265 },
    ]);
    expect(shape(tags)).toBe('HKp');
    expect(muxer.video?.codec).toBe('h264');
    expect(muxer.counters.codecMismatches).toBe(1);
  });

  it('survives frames without units, with one byte, and with thousands of units', () => {
    const { tags, muxer } = mux([
      key(),
      Buffer.alloc(0),
      Buffer.from([0]),
      Buffer.alloc(50),
      annexB('61'),
      Buffer.from('00000141'.repeat(3000), 'hex'),
      annexB(pSlice),
    ]);
    expect(shape(tags).startsWith('HK')).toBe(true);
    expect(muxer.counters.keyFrames).toBe(1);
  });

  it('continues after a restart with a sequence header, a key frame and no time gap', () => {
    const { tags, muxer, push } = mux([key(), annexB(pSlice)]);
    muxer.restart();
    for (const data of [annexB(pSlice), key(), annexB(pSlice)])
      push({ data, timestampLow: 5_000_000, arrivalMs: 9000 });
    expect(shape(tags)).toBe('HKpHKp');
    const times = tags.filter((tag) => tag.track === 'video').map((tag) => tag.timestampMs);
    expect(times.every((at, i) => at >= (times[i - 1] ?? 0))).toBe(true);
    expect(times.at(-1)).toBeLessThan(300);
  });

  it('never emits decreasing tag times, whatever the device sends', () => {
    const frame = fc.record({
      data: fc.constantFrom(key(), annexB(pSlice), annexB(nonReferenceSlice), annexB('41e0ff'), key(palSps)),
      timestampLow: fc.oneof(fc.nat(5000), fc.nat(0xffffffff)),
      arrivalMs: fc.nat(1_000_000),
      audio: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 80 }), (frames) => {
        const { tags, push } = mux([]);
        for (const { audio, ...rest } of frames) {
          if (audio)
            push({
              ...rest,
              kind: 'audio',
              payloadType: PayloadType.G711A,
              dataType: DataType.AUDIO,
              data: Buffer.alloc(160, 0xd5),
            });
          else push(rest);
        }
        for (const track of ['video', 'audioCopy']) {
          const times = tags.filter((tag) => tag.track === track).map((tag) => tag.timestampMs);
          expect(times.every((at, i) => at >= (times[i - 1] ?? 0))).toBe(true);
        }
      }),
    );
  });
});

const audio = (payloadType: number, data: Buffer): Partial<MediaFrame> & { data: Buffer } => ({
  kind: 'audio',
  payloadType,
  dataType: DataType.AUDIO,
  data,
});

describe('StreamMuxer audio', () => {
  it.each([
    ['G.711A', PayloadType.G711A, Buffer.alloc(320, 0xd5), { format: 'alaw', durationMs: 40 }],
    [
      'G.711A with Hisilicon header',
      PayloadType.G711A,
      addHisiliconHeader(Buffer.alloc(320, 0xd5)),
      { format: 'alaw', durationMs: 40 },
    ],
    ['G.711U', PayloadType.G711U, Buffer.alloc(160, 0xff), { format: 'mulaw', durationMs: 20 }],
    ['G.726 at 24 kbit/s', PayloadType.G726, Buffer.alloc(120, 1), { format: 'g726le', codeSize: 3, durationMs: 40 }],
    ['ADPCM', PayloadType.ADPCMA, addHisiliconHeader(Buffer.alloc(164)), { format: 's16le', durationMs: 40 }],
    ['S16BE', PayloadType.S16BE_MONO, Buffer.alloc(640), { format: 's16be', durationMs: 40 }],
    ['G.722', PayloadType.G722, Buffer.alloc(160), { format: 'g722', sampleRate: 16_000, durationMs: 20 }],
    [
      'AMR-NB',
      PayloadType.AMR,
      Buffer.concat([Buffer.from([0x3c]), Buffer.alloc(31)]),
      { format: 'amrnb', durationMs: 20 },
    ],
  ])('passes %s to the transcoder without its header', (_case, payloadType, data, expected) => {
    const { transcode, muxer, push } = mux([]);
    push(audio(payloadType, data));
    expect(transcode).toMatchObject([{ channels: 1, timestampMs: 0, ...expected }]);
    expect(transcode[0]?.data.subarray(0, 4).toString('hex')).not.toBe('0001a000');
    expect(muxer.audio?.needsTranscoding).toBe(true);
  });

  it('emits G.711 in separate tags for audio=copy', () => {
    const { tags, push, muxer } = mux([]);
    push(audio(PayloadType.G711A, addHisiliconHeader(Buffer.alloc(160, 0xd5))));
    expect(tags.map((tag) => [tag.track, tag.body[0], tag.bodyLength])).toEqual([['audioCopy', 0x72, 161]]);
    expect(muxer.audio?.canCopy).toBe(true);
  });

  it('counts unknown and invalid audio, and continues with video', () => {
    const { tags, push, muxer } = mux([key()]);
    for (const payloadType of [PayloadType.G729, 110, 127, PayloadType.WMA9STD])
      push(audio(payloadType, Buffer.alloc(20)));
    push(audio(PayloadType.G726, Buffer.alloc(33)));
    push(audio(PayloadType.MP3, Buffer.alloc(40)));
    push({ data: annexB(pSlice) });
    expect(shape(tags)).toBe('HKp');
    expect(muxer.counters).toMatchObject({ audioFrames: 0, droppedAudioFrames: 6 });
    expect(muxer.audio).toBeNull();
  });

  it('accepts one or more AAC frames with ADTS, and emits the config initially and on changes', () => {
    const raw = Buffer.from('2110aabb', 'hex');
    const frame = (sampleRate: number): Buffer =>
      Buffer.concat([encodeAdtsHeader({ objectType: 2, sampleRate, channels: 1 }, raw.length), raw]);
    const { tags, push, muxer } = mux([]);
    push(audio(PayloadType.AAC, Buffer.concat([frame(16_000), frame(16_000)])));
    push(audio(PayloadType.AAC, frame(16_000)));
    push(audio(PayloadType.AAC, frame(44_100)));
    expect(tags.map((tag) => tag.body.toString('hex'))).toEqual([
      'af001408',
      'af012110aabb',
      'af012110aabb',
      'af012110aabb',
      'af001208',
      'af012110aabb',
    ]);
    expect(tags.map((tag) => tag.timestampMs)).toEqual([0, 0, 64, 128, 192, 192]);
    expect(muxer.audio).toMatchObject({ codec: 'AAC', needsTranscoding: false });
    expect(muxer.audioSequenceHeader).toBe(tags[4]);
  });

  it('applies the known form of the device to AAC without ADTS', () => {
    const data = Buffer.from('2110aabb', 'hex');
    const plain = mux([]);
    plain.push(audio(PayloadType.AAC, data));
    expect(plain.tags.map((tag) => tag.body.toString('hex'))).toEqual(['af001588', 'af012110aabb']);
    const configured = mux([], { aac: { sampleRate: 16_000, channels: 1 } });
    configured.push(audio(PayloadType.AAC, data));
    expect(configured.tags[0]?.body.toString('hex')).toBe('af001408');
  });

  it('requests the form of AAC without ADTS once, and starts the audio with it', () => {
    const data = Buffer.from('2110aabb', 'hex');
    let requests = 0;
    const { push, tags, muxer } = mux([], { onAacUnknown: () => (requests += 1) });
    expect(muxer.isAacAwaited).toBe(false);
    for (let frame = 0; frame < 2; frame += 1) push(audio(PayloadType.AAC, data));
    expect([requests, tags.length, muxer.audio, muxer.isAacAwaited]).toEqual([1, 0, null, true]);
    muxer.setAac({ sampleRate: 44_100, channels: 2 });
    push(audio(PayloadType.AAC, data));
    expect(tags.map((tag) => tag.body.toString('hex'))).toEqual(['af001210', 'af012110aabb']);
    expect(muxer.audio).toMatchObject({ sampleRate: 44_100, channels: 2 });
    expect([requests, muxer.isAacAwaited]).toEqual([1, false]);
  });

  it('emits transcoded AAC as audio tags with non-decreasing times', () => {
    const raw = Buffer.from('2110', 'hex');
    const adts = Buffer.concat([encodeAdtsHeader({ objectType: 2, sampleRate: 16_000, channels: 1 }, 2), raw]);
    const { tags, muxer } = mux([]);
    for (const at of [100, 164, 150]) muxer.pushTranscodedAac(adts, at);
    muxer.pushTranscodedAac(Buffer.from('no'), 300);
    expect(tags.map((tag) => tag.timestampMs)).toEqual([100, 100, 164, 164]);
    expect(tags.every((tag) => tag.track === 'audio')).toBe(true);
  });

  it('knows the sequence header of transcoded AAC before its first frame, and emits it with that', () => {
    const adts = (channels: number): Buffer =>
      Buffer.concat([encodeAdtsHeader({ objectType: 2, sampleRate: 16_000, channels }, 2), Buffer.from('2110', 'hex')]);
    const { tags, muxer, push } = mux([], { transcodedSampleRate: 16_000 });
    push(audio(PayloadType.G711A, Buffer.alloc(160)));
    const header = muxer.audioSequenceHeader;
    expect(header?.body.toString('hex')).toBe('af001408');
    expect(tags.filter(({ track }) => track === 'audio')).toEqual([]);
    muxer.pushTranscodedAac(adts(1), 100);
    muxer.pushTranscodedAac(adts(1), 164);
    expect(tags.filter(({ track }) => track === 'audio').map((tag) => tag === header)).toEqual([true, false, false]);
    push(audio(PayloadType.S16BE_STEREO, Buffer.alloc(320)));
    expect(muxer.audioSequenceHeader?.body.toString('hex')).toBe('af001410');
  });

  describe('of a camera that stops sending it', () => {
    const config = { objectType: 2, sampleRate: 16_000, channels: 1 };
    const adts = Buffer.concat([encodeAdtsHeader(config, 2), Buffer.from('2110', 'hex')]);
    const aacTimes = (tags: readonly FlvTag[]): number[] =>
      tags.filter(({ track, body }) => track === 'audio' && body[1] === 1).map(({ timestampMs }) => timestampMs);
    /** Pictures from 0 to 4 seconds, with audio in the first one. */
    const run = () => {
      const muxing = mux([], { transcodedSampleRate: 16_000 });
      for (let at = 0; at <= 4_000; at += 40) {
        if (at <= 960) muxing.push({ ...audio(PayloadType.G711A, Buffer.alloc(320)), timestampLow: at });
        if (at % 64 === 0 && at <= 960) muxing.muxer.pushTranscodedAac(adts, at);
        muxing.push({ data: at === 0 ? key() : annexB(pSlice), timestampLow: at });
      }
      return muxing;
    };

    it('is completed with silence, as browsers wait for it', () => {
      const { tags } = run();
      const times = aacTimes(tags);
      expect(times.slice(0, 4)).toEqual([0, 320, 640, 960]);
      const silence = times.slice(4);
      expect(silence[0]).toBeGreaterThanOrEqual(1_000);
      expect(silence.at(-1)).toBeGreaterThan(4_000 - 128);
      expect(silence.at(-1)).toBeLessThanOrEqual(4_000 - 64);
      // Without a gap.
      expect(silence).toEqual(silence.map((_time, index) => (silence[0] ?? 0) + index * 64));
      expect(tags.findLast(({ track }) => track === 'audio')?.body.toString('hex')).toBe('af0100c800802380');
    });

    it('continues when the camera sends it again, without the part that comes too late', () => {
      const { tags, muxer, push } = run();
      const before = aacTimes(tags);
      push({ ...audio(PayloadType.G711A, Buffer.alloc(320)), timestampLow: 4_000 });
      for (const at of [3_800, 3_968, 4_032]) muxer.pushTranscodedAac(adts, at);
      expect(aacTimes(tags).slice(before.length)).toEqual([3_968, 4_032]);
      push({ data: annexB(pSlice), timestampLow: 4_120 });
      expect(aacTimes(tags)).toHaveLength(before.length + 2);
    });

    it('is not completed while it arrives, however late its times are', () => {
      const { tags, muxer, push } = mux([], { transcodedSampleRate: 16_000 });
      push({ data: key(), timestampLow: 4_000 });
      for (let at = 4_040; at <= 8_000; at += 40) {
        push({ ...audio(PayloadType.G711A, Buffer.alloc(320)), timestampLow: at - 2_000 });
        push({ data: annexB(pSlice), timestampLow: at });
      }
      muxer.pushTranscodedAac(adts, 100);
      expect(aacTimes(tags)).toEqual([100]);
    });
  });

  it('has no sequence header once the camera sends MP3', () => {
    const { muxer, push } = mux([], { transcodedSampleRate: 16_000 });
    push(audio(PayloadType.G711A, Buffer.alloc(160)));
    const mp3 = Buffer.alloc(417);
    mp3.set([0xff, 0xfb, 0x90, 0x00]);
    push(audio(PayloadType.MP3, mp3));
    expect([muxer.audio?.codec, muxer.audioSequenceHeader]).toEqual(['MP3', null]);
  });
});

describe('StreamMuxer metadata', () => {
  const has = (tag: FlvTag, text: string): boolean => tag.body.includes(text);

  it("describes the viewer's tracks, with audio only if requested and present", () => {
    const { muxer, push } = mux([key()]);
    expect(has(muxer.createMetadata({ audio: 'aac' }), 'audiocodecid')).toBe(false);
    push(audio(PayloadType.G711A, Buffer.alloc(160)));
    const bytes = muxer.createMetadata({ audio: 'aac' }).body;
    expect(bytes.subarray(bytes.indexOf('audiocodecid') + 12, bytes.indexOf('audiocodecid') + 21).readDoubleBE(1)).toBe(
      10,
    );
    const copy = muxer.createMetadata({ audio: 'copy' }).body;
    expect(copy.readDoubleBE(copy.indexOf('audiocodecid') + 13)).toBe(7);
    expect(has(muxer.createMetadata({ audio: 'none' }), 'audiocodecid')).toBe(false);
    const width = muxer.createMetadata({ audio: 'none' }).body;
    expect(width.readDoubleBE(width.indexOf('width') + 6)).toBe(352);
    expect(width.readDoubleBE(width.indexOf('videocodecid') + 13)).toBe(7);
  });
});
