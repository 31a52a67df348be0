import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { detectMediaType, detectMimeType, toDeclaredType } from './media-type.ts';

const hex = (text: string): Buffer => Buffer.concat([Buffer.from(text.replaceAll(' ', ''), 'hex'), Buffer.alloc(600)]);
const ascii = (text: string): Buffer => Buffer.concat([Buffer.from(text, 'latin1'), Buffer.alloc(600)]);

describe('detectMediaType and detectMimeType', () => {
  it.each([
    ['image/jpeg', hex('ffd8ffe0')],
    ['image/jpeg', hex('ffd8ffe1')],
    ['image/png', ascii('\x89PNG\r\n\x1a\n')],
    ['image/gif', ascii('GIF89a')],
    ['image/tiff', ascii('II*\0')],
    ['image/tiff', ascii('MM\0*')],
    ['image/bmp', ascii('BM')],
    ['image/webp', ascii('RIFF....WEBP')],
    ['audio/wav', ascii('RIFF....WAVE')],
    ['audio/mpeg', ascii('ID3')],
    ['audio/mpeg', hex('fffb9064')],
    ['audio/aac', hex('fff15080')],
    ['audio/amr', ascii('#!AMR\n')],
    ['video/x-ms-wmv', hex('3026b2758e66cf11a6d900aa0062ce6c')],
    ['video/mp4', ascii('\0\0\0\x20ftypisom')],
    ['video/x-msvideo', ascii('RIFF....AVI ')],
    ['video/h264', hex('00000001 67640029')],
    ['application/octet-stream', hex('ffffffff')],
    ['application/octet-stream', ascii('<html><script>')],
    ['application/octet-stream', ascii('<svg xmlns="http://www.w3.org/2000/svg">')],
    ['application/octet-stream', Buffer.alloc(0)],
    ['application/octet-stream', Buffer.from('ff', 'hex')],
  ])('detects %s', (type, bytes) => {
    expect(detectMimeType(bytes)).toBe(type);
  });

  it('prefers the detected type to the declared one and falls back to it', () => {
    const stated = { kind: 'image', mimeType: 'image/jpeg' } as const;
    expect(detectMediaType(ascii('\x89PNG\r\n\x1a\n'), stated)).toEqual({ kind: 'image', mimeType: 'image/png' });
    expect(detectMediaType(ascii('\0\0\0\x20ftypisom'), stated)).toEqual({ kind: 'video', mimeType: 'video/mp4' });
    expect(detectMediaType(ascii('anything'), stated)).toEqual(stated);
  });
});

describe('toDeclaredType (JT/T 808-2013 table 80)', () => {
  it.each([
    [0, 0, 'image', 'image/jpeg'],
    [0, 1, 'image', 'image/tiff'],
    [1, 2, 'audio', 'audio/mpeg'],
    [1, 3, 'audio', 'audio/wav'],
    [2, 4, 'video', 'video/x-ms-wmv'],
    [2, 0, 'video', 'application/octet-stream'],
    [2, 9, 'video', 'application/octet-stream'],
    [9, 3, 'audio', 'audio/wav'],
    [9, 9, 'other', 'application/octet-stream'],
  ] as const)('maps type %d and format %d', (type, format, kind, mimeType) => {
    expect(toDeclaredType(type, format)).toEqual({ kind, mimeType });
  });

  it('has its formats listed in the README', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    expect(readme).toContain('JPEG, PNG, GIF, BMP, WebP, TIFF, MP3, AAC, AMR, WAV, WMV');
  });
});
