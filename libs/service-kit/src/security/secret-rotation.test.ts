import { describe, expect, it } from '@jest/globals';
import { Encryption } from './encryption.ts';
import { findSecretFault } from './secret-list.ts';
import { signQuery, verifyQuery } from './signed-urls/query.ts';
import { type StreamGrant, StreamTokens } from './stream-tokens.ts';

const former = 'the former secret of 32 characters';
const next = 'the secret that replaces it and is longer';

/** The settings of a rotation, in order. While services restart, two neighbours are in use. */
const steps = [former, `${former},${next}`, `${next}, ${former}`, next];
const neighbours = steps.flatMap((signing, index) =>
  [index - 1, index, index + 1].flatMap((other) => {
    const verifying = steps[other];
    return verifying === undefined ? [] : [{ signing, verifying }];
  }),
);

const caller = { kind: 'key', accountId: 1, keyId: 2 } as const;
const grant: StreamGrant = { imei: '13800138000', channel: 1, kind: 'live', caller };

describe.each(neighbours)('a rotation, signed with $signing and verified with $verifying', ({ signing, verifying }) => {
  it('keeps signed URLs valid', () => {
    const query = signQuery(signing, 'live/1/1', 60_000);
    expect(verifyQuery(verifying, 'live/1/1', query, Date.now())).toBe('valid');
  });

  it('keeps stream tokens valid', async () => {
    const { token } = new StreamTokens({ secrets: signing, lifetimeSeconds: 60 }).issue(grant);
    const verified = new StreamTokens({ secrets: verifying, lifetimeSeconds: 60 }).verify(token);
    expect(await verified).toMatchObject({ imei: grant.imei, channel: 1 });
  });

  it('keeps stored secrets readable', () => {
    const sealed = new Encryption(signing).seal('text', 'test');
    expect(new Encryption(verifying).open(sealed, 'test')).toBe('text');
  });
});

describe('a rotation without its steps', () => {
  it('makes signed URLs invalid', () => {
    expect(verifyQuery(next, 'live/1/1', signQuery(former, 'live/1/1', 60_000), Date.now())).toBe('invalid');
  });
});

describe('a setting of secrets', () => {
  const rules = { minLength: 16, developmentSecret: former, isProduction: true };
  it('is refused if one of them is short or the development value', () => {
    expect(findSecretFault('A_SECRET', `${next},short`, rules)).toContain('fewer than 16 characters');
    expect(findSecretFault('A_SECRET', ' , ', rules)).toContain('fewer than 16 characters');
    expect(findSecretFault('A_SECRET', `${next},${former}`, rules)).toContain('A_SECRET has its development value');
    expect(findSecretFault('A_SECRET', `${next},${former}`, { ...rules, isProduction: false })).toBeUndefined();
  });
});
