import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encodeAvcDecoderConfiguration, parseH264Sps, readH264SliceType } from './h264.ts';
import { encodeHevcDecoderConfiguration, parseH265Sps } from './h265.ts';
import { NalIndex, startsWithStartCode, unescapeNal } from './nal-units.ts';
import { splitAccessUnits } from './testing/access-units.ts';
import { encodeVideo, probeVideo } from './testing/ffmpeg.ts';
import { splitNalUnits } from './testing/nal-units.ts';
import { removeSpaces } from './testing/pipeline.ts';
import { detectParameterSetCodec, isNonReference, isRandomAccess } from './video-codec.ts';

fc.configureGlobal(propertySettings);

const hex = (units: readonly Buffer[]): string[] => units.map((unit) => unit.toString('hex'));

describe('NAL units', () => {
  it('are split at 3- and 4-byte start codes in one frame, without trailing zeros', () => {
    const data = Buffer.from(removeSpaces('0000000167aa0000000168bb000001 65cc00030000 00'), 'hex');
    expect(hex(splitNalUnits(data))).toEqual(['67aa', '68bb', '65cc0003']);
    expect(splitNalUnits(Buffer.from('112233', 'hex'))).toEqual([]);
    expect(splitNalUnits(Buffer.from('000001000001', 'hex'))).toEqual([]);
  });

  it('are limited in number per frame', () => {
    const index = new NalIndex();
    index.scan(Buffer.from('00000141'.repeat(5000), 'hex'));
    expect(index.isOverfull).toBe(true);
    expect(index.count).toBe(1024);
  });

  it('are parsed with start codes and emulation prevention', () => {
    expect(
      ['000001', '00000001', '0000000001', '000002', '00'].map((code) => startsWithStartCode(Buffer.from(code, 'hex'))),
    ).toEqual([true, true, true, false, false]);
    expect(Buffer.from(unescapeNal(Buffer.from('67000003000300000301', 'hex'))).toString('hex')).toBe(
      '6700000003000001',
    );
  });

  it('determine the codec only if they are parameter sets', () => {
    const codes = [0x6742, 0x2742, 0x4742, 0x4001, 0x4201, 0x4401, 0x6501, 0x2601, 0x0201, 0x0742];
    expect(codes.map((code) => detectParameterSetCodec(code >> 8, code & 0xff))).toEqual([
      'h264',
      'h264',
      'h264',
      'h265',
      'h265',
      'h265',
      null,
      null,
      null,
      null,
    ]);
  });

  it('determine key frames and non-reference pictures by their type', () => {
    expect([0x65, 0x25, 0x61, 0x41, 0x01].map((byte) => isRandomAccess('h264', byte))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    const h265 = (type: number): number => type << 1;
    expect([15, 16, 19, 20, 21, 22, 1].map((type) => isRandomAccess('h265', h265(type)))).toEqual([
      false,
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    expect([0x01, 0x41, 0x65].map((byte) => isNonReference('h264', byte, 0, 1))).toEqual([true, false, false]);
    expect([0, 1, 8, 9, 19].map((type) => isNonReference('h265', h265(type), 1, 1))).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
    // A higher temporal sub-layer may refer to a lower one.
    expect(isNonReference('h265', h265(0), 1, 2)).toBe(false);
  });
});

describe('sequence parameter sets', () => {
  // From the documentation of the reference captures: CIF Main without VUI, and with timing; PAL High with zero
  // cropping.
  it.each([
    ['674d001495a8582590', 77, 20, 352, 288],
    ['674d00149db85825a10000030001000003000884', 77, 20, 352, 288],
    ['6764001eacb2016824dff802000168800001f480005dc0078b1724', 100, 30, 720, 576],
  ])('of H.264 are parsed: %s', (sps, profile, level, width, height) => {
    expect(parseH264Sps(Buffer.from(sps, 'hex'))).toMatchObject({ profile, level, width, height, subLayers: 1 });
  });

  it.each([
    ['libx264', '1920x1080', ['-bf', '0'], 0],
    ['libx264', '854x480', ['-profile:v', 'high', '-bf', '3'], 2],
    ['libx264', '130x98', ['-profile:v', 'baseline'], 0],
    ['libx265', '1920x1080', ['-x265-params', 'log-level=error:bframes=0'], 0],
    ['libx265', '854x480', [], 2],
  ] as const)('of %s %s yield the cropped size reported by ffprobe', (codec, size, options, reorder) => {
    const stream = encodeVideo(codec, [...options], 3, size);
    const isH264 = codec === 'libx264';
    const probe = probeVideo(stream, isH264 ? 'h264' : 'hevc');
    const sps = splitNalUnits(stream).find(
      (unit) => detectParameterSetCodec(unit[0] ?? 0, unit[1] ?? 0) !== null && (isH264 || unit[0] === 0x42),
    );
    const info = sps && (isH264 ? parseH264Sps(sps) : parseH265Sps(sps));
    expect(info).toMatchObject({
      width: probe.width,
      height: probe.height,
      level: probe.level,
      reorderFrames: reorder,
    });
    expect(info?.codecString).toMatch(isH264 ? /^avc1\.[0-9a-f]{6}$/ : /^hvc1\.1\.6\.L\d+\.90$/);
  });

  it('never throw on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (data) => {
        for (const info of [parseH264Sps(data), parseH265Sps(data)]) expect(info === null || info.width > 0).toBe(true);
        expect(readH264SliceType(data)).toBeLessThan(5);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
});

describe('decoder configuration records', () => {
  it('encode AVC Main to the reference bytes', () => {
    const sps = Buffer.from('674d001495a8582590', 'hex');
    const pps = Buffer.from('68ee3c80', 'hex');
    const info = parseH264Sps(sps);
    if (!info) throw new Error('no info');
    expect(encodeAvcDecoderConfiguration([sps], [pps], info).toString('hex')).toBe(
      removeSpaces('014d0014ff e1 0009 674d001495a8582590 01 0004 68ee3c80'),
    );
  });

  it('include chroma format and bit depths of AVC High', () => {
    const sps = Buffer.from('6764001eacb2016824dff802000168800001f480005dc0078b1724', 'hex');
    const info = parseH264Sps(sps);
    if (!info) throw new Error('no info');
    expect(encodeAvcDecoderConfiguration([sps], [Buffer.from('68eb', 'hex')], info).toString('hex')).toMatch(
      /fdf8f800$/,
    );
  });

  it('include HEVC profile bytes without emulation prevention, and three arrays', () => {
    const units = splitNalUnits(encodeVideo('libx265', [], 1));
    const [vps, sps, pps] = [0x40, 0x42, 0x44].map((first) => units.filter((unit) => unit[0] === first));
    const info = sps?.[0] && parseH265Sps(sps[0]);
    if (!info || !vps || !sps || !pps) throw new Error('no parameter sets');
    const record = encodeHevcDecoderConfiguration(vps, sps, pps, info);
    expect(record.length).toBe(23 + 3 * 5 + [vps, sps, pps].reduce((sum, [unit]) => sum + (unit?.length ?? 0), 0));
    expect(record.subarray(0, 13).toString('hex')).toMatch(/^0101600000009000000000/);
    expect(record.subarray(13, 23).toString('hex')).toBe('f000fcfdf8f800000f03');
    expect([record[23], record[22]]).toEqual([0xa0, 3]);
  });
});

describe('splitAccessUnits', () => {
  it.each([
    ['libx264', 'h264', ['-slices', '3']],
    ['libx264', 'h264', ['-aud', '1', '-bf', '2']],
    ['libx265', 'h265', ['-x265-params', 'log-level=error:slices=2:aud=1']],
  ] as const)('%s: returns one unit per picture with all bytes', (encoder, codec, options) => {
    const stream = encodeVideo(encoder, [...options], 30);
    const units = splitAccessUnits(stream, codec);
    expect(units.length).toBe(30);
    expect(units.filter((unit) => unit.isKeyFrame).length).toBe(3);
    expect(Buffer.concat(units.map((unit) => unit.data)).equals(stream)).toBe(true);
  });

  it('splits streams with more units than one scan covers', () => {
    const stream = Buffer.from(
      removeSpaces('00000001 6588').repeat(1500) + removeSpaces('00000001 4180').repeat(1500),
      'hex',
    );
    const units = splitAccessUnits(stream, 'h264');
    expect(units.length).toBe(3000);
    expect(units.filter((unit) => unit.isKeyFrame).length).toBe(1500);
  });
});
