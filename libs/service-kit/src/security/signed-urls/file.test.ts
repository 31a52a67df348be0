import { describe, expect, it } from '@jest/globals';
import { verifyClipPath } from './clip.ts';
import { type FilePath, signFilePath, verifyFilePath } from './file.ts';

const secret = 'a-secret-for-tests-only';
const path: FilePath = { imei: '13812345678', fileId: '0123456789abcdef01234567' };

function signed(lifetimeMs = 60_000) {
  const url = new URL(signFilePath(secret, { ...path, baseUrl: 'http://upload:8086/', lifetimeMs }));
  return { url, query: Object.fromEntries(url.searchParams) };
}

describe('signed URLs of media files', () => {
  it('name the terminal and the file', () => {
    const { url, query } = signed();
    expect(url.href).toMatch(
      /^http:\/\/upload:8086\/files\/13812345678\/0123456789abcdef01234567\?expires=\d+&signature=/,
    );
    expect(verifyFilePath(secret, path, query)).toBe('valid');
  });

  it('are invalid for another terminal, file, time or secret, and for a clip', () => {
    const { query } = signed();
    expect(verifyFilePath(secret, { ...path, imei: '13812345679' }, query)).toBe('invalid');
    expect(verifyFilePath(secret, { ...path, fileId: 'f'.repeat(24) }, query)).toBe('invalid');
    expect(verifyFilePath('another', path, query)).toBe('invalid');
    expect(verifyFilePath(secret, path, { ...query, expires: '9999999999' })).toBe('invalid');
    expect(verifyFilePath(secret, path, {})).toBe('missing');
    expect(verifyFilePath(secret, path, signed(-5_000).query)).toBe('expired');
    expect(verifyClipPath(secret, { uploadId: path.fileId, format: 'mp4' }, query)).toBe('invalid');
  });
});
