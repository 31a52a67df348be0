import { describe, expect, it } from '@jest/globals';
import { signMediaPath, verifyMediaPath } from './media.ts';

const secret = 'a-secret-for-tests-only';
const path = { kind: 'live', imei: '123456789012', channel: 1 } as const;

function signed(lifetimeMs = 60_000) {
  const url = new URL(
    signMediaPath(secret, {
      ...path,
      imei: `00000000${path.imei}`,
      baseUrl: 'http://media:8085/',
      lifetimeMs,
      query: { audio: 'copy', hevc: undefined },
    }),
  );
  return { url, query: Object.fromEntries(url.searchParams) };
}

describe('signed media URLs', () => {
  it('name the stream by its canonical number and carry the query', () => {
    const { url, query } = signed();
    expect(url.pathname).toBe('/live/123456789012_1.flv');
    expect(query).toMatchObject({ audio: 'copy' });
    expect(query['hevc']).toBeUndefined();
    expect(verifyMediaPath(secret, path, query)).toBe('valid');
    expect(verifyMediaPath(secret, { ...path, imei: '000123456789012' }, query)).toBe('valid');
  });

  it('equal the signature of other implementations', () => {
    // printf 'live/123456789012/1/2000000000' | openssl dgst -sha256 -hmac a-secret-for-tests-only
    const signature = 'e195c48ec9ff12e07cae79c9add2ee3500408ee97cc4dcd33604fbb391bed23d';
    expect(verifyMediaPath(secret, path, { expires: '2000000000', signature }, 1_999_999_999_000)).toBe('valid');
    expect(verifyMediaPath(secret, path, { expires: '2000000000', signature }, 2_000_000_000_000)).toBe('expired');
  });

  it('are invalid for another stream, kind, time or secret', () => {
    const { query } = signed();
    expect(verifyMediaPath(secret, { ...path, channel: 2 }, query)).toBe('invalid');
    expect(verifyMediaPath(secret, { ...path, kind: 'history' }, query)).toBe('invalid');
    expect(verifyMediaPath(secret, { ...path, imei: '1' }, query)).toBe('invalid');
    expect(verifyMediaPath('another', path, query)).toBe('invalid');
    expect(verifyMediaPath(secret, path, { ...query, expires: String(Number(query['expires']) + 1) })).toBe('invalid');
    expect(verifyMediaPath(secret, path, { ...query, signature: 'zz' })).toBe('invalid');
    expect(verifyMediaPath(secret, path, { ...query, expires: ['1', '2'] })).toBe('invalid');
    expect(verifyMediaPath(secret, path, {})).toBe('missing');
    expect(verifyMediaPath(secret, path, signed(-5_000).query)).toBe('expired');
  });
});
