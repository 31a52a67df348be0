import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { imageSize } from './image-size.ts';

const hex = (...parts: readonly string[]): Buffer => Buffer.from(parts.join('').replaceAll(' ', ''), 'hex');
const riff = (chunk: string, body: string): Buffer =>
  Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'), Buffer.from(chunk, 'latin1'), hex('00000000', body)]);

describe('imageSize', () => {
  it('reads the size from the header without decoding the picture', () => {
    const png = readFileSync(new URL('../../testing/licence.png', import.meta.url));
    expect(imageSize(png, 'image/png')).toEqual({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) });
    const jpeg = hex('ffd8', 'ffe0 0004 0000', 'ffc4 0003 00', 'ff ffc2 000b 08 0102 0304 01 011100', 'ffda');
    expect(imageSize(jpeg, 'image/jpeg')).toEqual({ width: 0x304, height: 0x102 });
    expect(imageSize(riff('VP8X', '00000000 0f2700 1f4e00'), 'image/webp')).toEqual({
      width: 10_000,
      height: 20_000,
    });
    expect(imageSize(riff('VP8L', '2f ffffff0f'), 'image/webp')).toEqual({ width: 16_384, height: 16_384 });
    expect(imageSize(riff('VP8 ', '000000 9d012a 8002 e001'), 'image/webp')).toEqual({ width: 640, height: 480 });
  });

  it('returns the size of the largest frame, because decoders may use any', () => {
    const frame = (size: string) => `ffc0 000b 08 ${size} 01 011100`;
    const jpeg = hex('ffd8', frame('ffff ffff'), frame('0010 0010'), 'ffda');
    expect(imageSize(jpeg, 'image/jpeg')).toEqual({ width: 65_535, height: 65_535 });
  });

  it.each([
    ['image/png', hex('89504e470d0a1a0a')],
    ['image/jpeg', hex('ffd8ff')],
    ['image/jpeg', hex('ffd8 ffe0 0004 0000 00')],
    ['image/jpeg', hex('ffd8 ffda')],
    ['image/jpeg', hex('ffd8 ffc0 000b')],
    ['image/webp', riff('VP8X', '00')],
    ['image/webp', riff('ABCD', '00000000000000000000000000000000')],
  ] as const)('returns null for a truncated or unknown %s', (mimeType, bytes) => {
    expect(imageSize(bytes, mimeType)).toBeNull();
  });
});
