import { describe, expect, it } from '@jest/globals';
import { createAacSequenceHeader, createAacTag, createG711Tag, createMp3Tag } from './flv-audio.ts';
import { createScriptTag } from './flv-script.ts';
import { createFlvHeader, createTag, tagHeaderBytes, writeTagHeader } from './flv-tag.ts';
import { createVideoSequenceHeader, toLegacyHevcTag, writeFrameHeader } from './flv-video.ts';
import { readParameterSets, readVideoTag } from './read-video-tag.ts';
import { demuxFlv, FlvDemuxer } from './testing/flv-demuxer.ts';
import { removeSpaces } from './testing/pipeline.ts';

describe('FLV encoding', () => {
  it.each([
    [true, false, '01'],
    [false, true, '04'],
    [true, true, '05'],
  ])('encodes a file header with video %s, audio %s', (video, audio, flags) => {
    expect(createFlvHeader({ video, audio }).toString('hex')).toBe(`464c5601${flags}0000000900000000`);
  });

  it('encodes a tag as header, body and previous tag size', () => {
    const tag = createTag('video', 0x01020304, [Buffer.from('1700', 'hex'), Buffer.from('aa', 'hex')], {
      isKeyFrame: true,
    });
    expect(tag.wire.toString('hex')).toBe(removeSpaces('09 000003 020304 01 000000 1700aa 0000000e'));
    expect(tag.bodyAndTrailer.toString('hex')).toBe(removeSpaces('1700aa 0000000e'));
    expect(tag).toMatchObject({ type: 9, bodyLength: 3, isKeyFrame: true, isDisposable: false });
    expect(tag.bodyAndTrailer.buffer).toBe(tag.wire.buffer);
  });

  it.each([
    [0, '00000000'],
    [0xffffff, 'ffffff00'],
    [16_777_216, '00000001'],
    [0x7fffffff, 'ffffff7f'],
    [0x80000000, '00000080'],
  ])("writes a viewer's own tag header with 32-bit time %i", (timestampMs, hex) => {
    const tag = createTag('audio', 5, [Buffer.from('af01', 'hex')]);
    const target = Buffer.alloc(2 + tagHeaderBytes);
    expect(writeTagHeader(target, 2, tag, timestampMs)).toBe(2 + tagHeaderBytes);
    expect(target.toString('hex')).toBe(`000008000002${hex}000000`);
    const [read] = demuxFlv(
      Buffer.concat([createFlvHeader({ video: false, audio: true }), target.subarray(2), tag.bodyAndTrailer]),
    );
    expect(read).toMatchObject({ type: 8, timestampMs });
  });

  it('encodes a script tag without undefined values', () => {
    const tag = createScriptTag({ duration: 0, hasAudio: false, framerate: undefined, encoder: 'x' });
    expect(tag.body.toString('hex')).toBe(
      '02000a' +
        Buffer.from('onMetaData').toString('hex') +
        removeSpaces('08 00000003 0008') +
        Buffer.from('duration').toString('hex') +
        removeSpaces('000000000000000000 0008') +
        Buffer.from('hasAudio').toString('hex') +
        removeSpaces('0100 0007') +
        Buffer.from('encoder').toString('hex') +
        removeSpaces('02000178 000009'),
    );
  });

  it('encodes audio tags', () => {
    expect(createAacSequenceHeader({ objectType: 2, sampleRate: 16_000, channels: 1 }, 0).body.toString('hex')).toBe(
      'af001408',
    );
    expect(createAacTag(Buffer.from('21', 'hex'), 0).body.toString('hex')).toBe('af0121');
    expect(createG711Tag('alaw', Buffer.from('d5', 'hex'), 0).body.toString('hex')).toBe('72d5');
    expect(createG711Tag('mulaw', Buffer.from('ff', 'hex'), 0).body.toString('hex')).toBe('82ff');
    const header = { sampleRate: 44_100, channels: 2, samples: 1152 };
    expect(createMp3Tag(Buffer.from('fffb', 'hex'), header, 0).body.toString('hex')).toBe('2ffffb');
  });

  it('encodes video tags in H.264, enhanced H.265 and codec id 12', () => {
    const record = Buffer.from('01aabb', 'hex');
    expect(createVideoSequenceHeader('h264', record, 0).body.toString('hex')).toBe('170000000001aabb');
    const header = createVideoSequenceHeader('h265', record, 7);
    expect(header.body.toString('hex')).toBe('906876633101aabb');
    const legacy = toLegacyHevcTag(header);
    expect(legacy.body.toString('hex')).toBe('1c0000000001aabb');
    expect(legacy).toMatchObject({ timestampMs: 7, isSequenceHeader: true, isKeyFrame: true });
    expect(toLegacyHevcTag(header)).toBe(legacy);
    const head = Buffer.alloc(8);
    writeFrameHeader(head, 0, 'h265', false, 0x010203);
    expect(head.toString('hex')).toBe('a168766331010203');
    const frame = toLegacyHevcTag(
      createTag('video', 9, [head, Buffer.from('000000010a', 'hex')], { isDisposable: true }),
    );
    expect(frame.body.toString('hex')).toBe(removeSpaces('2c01010203 000000010a'));
    expect(frame.isDisposable).toBe(true);
    const avc = createTag('video', 0, [Buffer.from('1701000000', 'hex')]);
    expect(toLegacyHevcTag(avc)).toBe(avc);
  });

  it('demuxes tags from chunks of any size and rejects bytes that are not FLV', () => {
    const bytes = Buffer.concat([
      createFlvHeader({ video: true, audio: true }),
      createScriptTag({ duration: 0 }).wire,
      createAacTag(Buffer.from('aa', 'hex'), 70_000).wire,
    ]);
    for (let size = 1; size <= bytes.length; size++) {
      const types: number[] = [];
      const demuxer = new FlvDemuxer((tag) => types.push(tag.type));
      for (let at = 0; at < bytes.length; at += size) demuxer.push(bytes.subarray(at, at + size));
      expect(types).toEqual([18, 8]);
      expect(demuxer.header).toEqual({ video: true, audio: true });
    }
    expect(() => demuxFlv(Buffer.alloc(20))).toThrow(/FLV/);
    bytes[bytes.length - 1] = 0xff;
    expect(() => demuxFlv(bytes)).toThrow(/previous tag size/);
  });

  it('parses encoded video tags', () => {
    expect(readVideoTag(Buffer.from('2701000028aa', 'hex'))).toMatchObject({
      codec: 'h264',
      isKeyFrame: false,
      compositionMs: 40,
    });
    expect(readVideoTag(Buffer.from('9368766331aa', 'hex'))).toMatchObject({
      codec: 'h265',
      isKeyFrame: true,
      compositionMs: 0,
    });
    expect(readVideoTag(Buffer.from('2200', 'hex'))).toBeNull();
    const record = Buffer.from('014d0014ffe1000267aa01000268bb', 'hex');
    expect(readParameterSets('h264', record).map((unit) => unit.toString('hex'))).toEqual(['67aa', '68bb']);
  });
});
