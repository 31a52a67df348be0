import { describe, expect, it } from '@jest/globals';
import { getDeclaredType } from './attachment-type.ts';

describe('getDeclaredType', () => {
  it.each([
    ['a.jpg', 0, 'image', 'image/jpeg'],
    ['a.MP4', 2, 'video', 'video/mp4'],
    ['a.wav', null, 'audio', 'audio/wav'],
    // Type and name contradict each other: only the kind is used.
    ['a.jpg', 2, 'video', 'application/octet-stream'],
    ['a.bin', 4, 'other', 'application/octet-stream'],
    ['a.txt', 3, 'other', 'application/octet-stream'],
    ['a.html', null, 'other', 'application/octet-stream'],
    ['mp4', 2, 'video', 'application/octet-stream'],
  ])('returns for %s of type %s the kind %s and the content type %s', (name, type, kind, mimeType) => {
    expect(getDeclaredType(name, type)).toEqual({ kind, mimeType });
  });
});
