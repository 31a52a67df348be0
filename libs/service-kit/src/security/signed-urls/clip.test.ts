import { describe, expect, it } from '@jest/globals';
import { type ClipPath, signClipPath, verifyClipPath } from './clip.ts';
import { verifyMediaPath } from './media.ts';

const secret = 'a-secret-for-tests-only';
const path: ClipPath = { uploadId: '0123456789abcdef01234567', format: 'mp4' };

function signed(lifetimeMs = 60_000) {
  const url = new URL(signClipPath(secret, { ...path, baseUrl: 'http://upload:8086/', lifetimeMs }));
  return { url, query: Object.fromEntries(url.searchParams) };
}

describe('signed clip URLs', () => {
  it('name the upload and the form', () => {
    const { url, query } = signed();
    expect(url.href).toMatch(/^http:\/\/upload:8086\/clips\/0123456789abcdef01234567\/mp4\?expires=\d+&signature=/);
    expect(verifyClipPath(secret, path, query)).toBe('valid');
  });

  it('equal the signature of other implementations', () => {
    // printf 'clip/0123456789abcdef01234567/mp4/2000000000' | openssl dgst -sha256 -hmac a-secret-for-tests-only
    const signature = '11d6bb0a670b10ba9cc7ff12ea65827a47b5e49ebb4f72a7860f8f2f8f9de32f';
    expect(verifyClipPath(secret, path, { expires: '2000000000', signature }, 1_999_999_999_000)).toBe('valid');
    expect(verifyClipPath(secret, path, { expires: '2000000000', signature }, 2_000_000_000_000)).toBe('expired');
  });

  it('are invalid for another upload, form, time or secret, and for a stream', () => {
    const { query } = signed();
    expect(verifyClipPath(secret, { ...path, format: 'original' }, query)).toBe('invalid');
    expect(verifyClipPath(secret, { ...path, uploadId: 'f'.repeat(24) }, query)).toBe('invalid');
    expect(verifyClipPath('another', path, query)).toBe('invalid');
    expect(verifyClipPath(secret, path, { ...query, expires: '9999999999' })).toBe('invalid');
    expect(verifyClipPath(secret, path, {})).toBe('missing');
    expect(verifyClipPath(secret, path, signed(-5_000).query)).toBe('expired');
    expect(verifyMediaPath(secret, { kind: 'live', imei: path.uploadId, channel: 1 }, query)).toBe('invalid');
  });
});
