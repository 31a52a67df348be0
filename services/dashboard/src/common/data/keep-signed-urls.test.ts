import { describe, expect, it } from '@jest/globals';
import { keepSignedUrls } from './keep-signed-urls.ts';

const inSeconds = (seconds: number): number => Math.ceil(Date.now() / 1000) + seconds;
const file = (id: number, expires: number, signature: string) => ({
  id,
  url: `https://fleet.example/api/dashcam-media/${id}/file?user=1&expires=${expires}&signature=${signature}`,
});

describe('keepSignedUrls', () => {
  it('returns the former response if only signatures differ', () => {
    const before = { data: [file(1, inSeconds(28_000), 'aa'), file(2, inSeconds(28_000), 'ab')] };
    const after = { data: [file(1, inSeconds(28_800), 'ba'), file(2, inSeconds(28_800), 'bb')] };
    expect(keepSignedUrls(before, after)).toBe(before);
  });

  it('keeps the address of a file whose row has moved, and takes those of new files and other fields', () => {
    const known = file(1, inSeconds(28_000), 'aa');
    const added = file(2, inSeconds(28_800), 'bb');
    const after = { data: [added, { ...file(1, inSeconds(28_800), 'ba'), is_protected: true }] };
    expect(keepSignedUrls({ data: [known] }, after)).toEqual({ data: [added, { ...known, is_protected: true }] });
  });

  it('replaces an address that expires soon', () => {
    const after = { url: file(1, inSeconds(28_800), 'bb').url };
    expect(keepSignedUrls({ url: file(1, inSeconds(300), 'aa').url }, after)).toEqual(after);
  });

  it('takes the first response as it is', () => {
    const first = { data: [file(1, inSeconds(28_800), 'aa')], meta: null };
    expect(keepSignedUrls(undefined, first)).toBe(first);
  });
});
