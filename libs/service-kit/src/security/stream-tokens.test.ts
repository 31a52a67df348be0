import { describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { ConfigError } from '../runtime/config.ts';
import { checkStreamTokenSettings, streamTokenSettings } from './stream-token-settings.ts';
import { assertGranted, type StreamGrant, StreamTokens } from './stream-tokens.ts';

const lifetimeSeconds = 600;
const createTokens = (secrets = 'a-secret-for-tests-only') => new StreamTokens({ secrets, lifetimeSeconds });
const tokens = createTokens();
const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);

const user = { kind: 'user', accountId: 3, userId: 7, sessionId: 11, mintedByKeyId: null, keyId: 5 } as const;
const grant: StreamGrant = { imei: '13800138000', channel: 2, kind: 'live', caller: user };
const link = { linkId: 9, slug: 'A1b2C3d4E5f6G7h8I9j0K1' };

const change = (token: string, claims: object): string => {
  const [header, body = '', signature] = token.split('.');
  const changed = { ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object), ...claims };
  return [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
};

describe('stream tokens', () => {
  it('name stream, user and account, and expire after the lifetime', async () => {
    const now = new Date('2026-08-01T10:00:00.700Z');
    const { token, expiresAt } = tokens.issue(grant, now);
    expect(decodeJwt(token)).toEqual({
      aud: 'stream',
      imei: '13800138000',
      ch: 2,
      kind: 'live',
      sub: '7',
      acc: 3,
      sid: 11,
      key: 5,
      iat: 1_785_578_400,
      exp: 1_785_579_000,
    });
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'HS256' });
    expect(expiresAt.toISOString()).toBe('2026-08-01T10:10:00.000Z');
  });

  it.each([
    ['a user with a session and a key', user],
    ['a user with a token that a key minted', { ...user, sessionId: null, mintedByKeyId: 5, keyId: null }],
    ['a bare key', { kind: 'key', accountId: 3, keyId: 5 } as const],
    ['an anonymous caller', { kind: 'anonymous' } as const],
  ])('return their stream and %s', async (_name, caller) => {
    const { token } = tokens.issue({ ...grant, caller });
    expect(await tokens.verify(token)).toEqual({ ...grant, caller });
  });

  it('name a bare key as key:<id>', async () => {
    const { token } = tokens.issue({ ...grant, caller: { kind: 'key', accountId: 3, keyId: 5 } });
    expect(decodeJwt(token)).toMatchObject({ sub: 'key:5', acc: 3 });
  });

  it('are 401 after their lifetime', async () => {
    const { token } = tokens.issue(grant, minutesAgo(11));
    await expect(tokens.verify(token)).rejects.toMatchObject({ status: 401, code: 'token_expired' });
    expect(await tokens.verify(tokens.issue(grant, minutesAgo(9)).token)).toEqual(grant);
  });

  it('are valid after their lifetime for a stream that is open already', async () => {
    const { token } = tokens.issue(grant, minutesAgo(60));
    expect(await tokens.verify(token, { acceptsExpired: true })).toEqual(grant);
    const { token: guest } = await tokens.issueForLink(link, minutesAgo(60));
    expect(await tokens.verifyForLink(guest, { acceptsExpired: true })).toEqual(link);
    const forged = change(token, { ch: 1 });
    await expect(tokens.verify(forged, { acceptsExpired: true })).rejects.toMatchObject({ code: 'token_invalid' });
  });

  it('are 401 if they are forged or malformed', async () => {
    const { token } = tokens.issue(grant);
    const [header = '', body = '', signature = ''] = token.split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const kid = decodeProtectedHeader(token).kid ?? '';
    const forged = [
      '',
      'x',
      'a.b.c',
      '.'.repeat(4_000),
      'x'.repeat(10_000),
      `${token}x`,
      `${header}.${body}`,
      `${header}.${body}.`,
      `${none}.${body}.`,
      change(token, { ch: 1 }),
      change(token, { exp: 9_999_999_999 }),
      createTokens('another-secret-of-tests').issue(grant).token,
      await new SignJWT({ imei: '1', ch: 1, kind: 'live', sub: '1', acc: 1 })
        .setProtectedHeader({ alg: 'HS256', kid })
        .setAudience('stream')
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(Buffer.from('a-secret-for-tests-only')),
      `${header}.${body}.${signature.toUpperCase()}`,
    ];
    for (const each of forged)
      await expect(tokens.verify(each)).rejects.toMatchObject({ status: 401, code: 'token_invalid' });
  });

  it('are 403 for another device, channel or kind', () => {
    expect(() => assertGranted(grant, grant)).not.toThrow();
    for (const other of [{ imei: '13800138001' }, { channel: 1 }, { kind: 'history' as const }])
      expect(() => assertGranted(grant, { ...grant, ...other })).toThrow(
        expect.objectContaining({ status: 403, code: 'permission_denied' }),
      );
  });

  it('stay valid while their secret is rotated out', async () => {
    const [before, rotated] = [
      createTokens('old-secret-of-sixteen'),
      createTokens('new-secret-16, old-secret-of-sixteen'),
    ];
    const { token } = before.issue(grant);
    expect(await rotated.verify(token)).toEqual(grant);
    const { token: next } = rotated.issue(grant);
    await expect(before.verify(next)).rejects.toMatchObject({ status: 401 });
    expect(await createTokens('new-secret-16').verify(next)).toEqual(grant);
  });
});

describe('tokens of share links', () => {
  it('return the link and reveal nothing', async () => {
    const { token, expiresAt } = await tokens.issueForLink(link);
    expect(await tokens.verifyForLink(token)).toEqual(link);
    expect(expiresAt.getTime()).toBeGreaterThan(Date.now() + 590_000);
    expect(Buffer.from(token.replaceAll('.', ''), 'base64url').toString('latin1')).not.toContain(link.slug);
  });

  it('are 401 if they are expired, forged, or of another kind', async () => {
    const { token: expired } = await tokens.issueForLink(link, minutesAgo(11));
    await expect(tokens.verifyForLink(expired)).rejects.toMatchObject({ status: 401, code: 'token_expired' });
    const { token } = await tokens.issueForLink(link);
    const { token: ofStream } = tokens.issue(grant);
    const { token: ofOther } = await createTokens('another-secret-of-tests').issueForLink(link);
    for (const each of ['', 'x', `${token}x`, token.slice(0, -4), ofStream, ofOther])
      await expect(tokens.verifyForLink(each)).rejects.toMatchObject({ status: 401, code: 'token_invalid' });
    await expect(tokens.verify(token)).rejects.toMatchObject({ status: 401, code: 'token_invalid' });
  });
});

describe('the settings of stream tokens', () => {
  const check = (STREAM_TOKEN_SECRET: string, NODE_ENV = 'production') =>
    checkStreamTokenSettings({ STREAM_TOKEN_SECRET, NODE_ENV });
  const { default: development } = streamTokenSettings.STREAM_TOKEN_SECRET;

  it('reject the development value in production, also beside another secret', () => {
    expect(() => check(development, 'development')).not.toThrow();
    expect(() => check('a-secret-of-production')).not.toThrow();
    expect(() => check(development)).toThrow(ConfigError);
    expect(() => check(`a-secret-of-production,${development}`)).toThrow('development value');
  });

  it('reject a short secret', () => {
    expect(() => check('a-secret-of-production,short')).toThrow('fewer than 16 characters');
    expect(() => check(',,,,,,,,,,,,,,,,,')).toThrow(ConfigError);
  });
});
