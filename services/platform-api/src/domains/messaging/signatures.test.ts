import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';
import { type ProviderSecrets, type SignedRequest, verifySignature } from './signatures.ts';

const secrets: ProviderSecrets = {
  CHAT_GENERIC_SECRET: 'generic-secret-of-tests',
  TWILIO_AUTH_TOKEN: '12345',
  PLIVO_AUTH_TOKEN: 'plivo-token',
  VONAGE_SIGNATURE_SECRET: 'vonage-secret-of-tests-which-is-long-enough',
  VAPI_SECRET: 'vapi-secret',
};
const none: ProviderSecrets = {
  CHAT_GENERIC_SECRET: undefined,
  TWILIO_AUTH_TOKEN: undefined,
  PLIVO_AUTH_TOKEN: undefined,
  VONAGE_SIGNATURE_SECRET: undefined,
  VAPI_SECRET: undefined,
};

const request = (more: Partial<SignedRequest> & { headers?: Record<string, string> }): SignedRequest => ({
  url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
  rawBody: Buffer.alloc(0),
  isForm: false,
  getHeader: (name) => more.headers?.[name],
  ...more,
});

describe('Twilio', () => {
  // Example from the documentation of Twilio and the tests of its libraries.
  const form = 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212';
  const signature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8=';
  const signed = (more: Partial<SignedRequest> = {}, given = signature) =>
    request({ rawBody: Buffer.from(form), isForm: true, headers: { 'x-twilio-signature': given }, ...more });

  it('accepts the golden signature, with and without the port', async () => {
    expect(await verifySignature('twilio', signed(), secrets)).toBe(true);
    const url = 'https://mycompany.com:443/myapp.php?foo=1&bar=2';
    expect(await verifySignature('twilio', signed({ url }), secrets)).toBe(true);
  });

  it('rejects another body, path, signature or secret, and a missing secret', async () => {
    expect(await verifySignature('twilio', signed({ rawBody: Buffer.from(`${form}1`) }), secrets)).toBe(false);
    expect(await verifySignature('twilio', signed({ url: 'https://mycompany.com/other' }), secrets)).toBe(false);
    expect(await verifySignature('twilio', signed({}, 'RSOYDt4T1cUTdK1PDd93/VVr8B9='), secrets)).toBe(false);
    expect(await verifySignature('twilio', signed(), { ...secrets, TWILIO_AUTH_TOKEN: '12346' })).toBe(false);
    expect(await verifySignature('twilio', signed(), none)).toBe(false);
    expect(await verifySignature('twilio', request({}), secrets)).toBe(false);
  });

  it('rejects a request target that is not a path and does not form a URL with the public base URL', async () => {
    const url = 'http://127.0.0.1:8080http://mycompany.com/myapp.php?foo=1&bar=2';
    expect(await verifySignature('twilio', signed({ url }), secrets)).toBe(false);
    const headers = { 'x-plivo-signature-v3': 'x', 'x-plivo-signature-v3-nonce': '1' };
    expect(await verifySignature('plivo', request({ url, headers }), secrets)).toBe(false);
  });

  it('identifies a JSON body by its hash in the URL', async () => {
    const rawBody = Buffer.from('{"a":1}');
    const url = `https://mycompany.com/x?bodySHA256=${createHash('sha256').update(rawBody).digest('hex')}`;
    const headers = { 'x-twilio-signature': createHmac('sha1', '12345').update(url).digest('base64') };
    expect(await verifySignature('twilio', request({ url, rawBody, headers }), secrets)).toBe(true);
    expect(await verifySignature('twilio', request({ url, rawBody: Buffer.from('{"a":2}'), headers }), secrets)).toBe(
      false,
    );
    const bare = 'https://mycompany.com/x';
    const unhashed = { 'x-twilio-signature': createHmac('sha1', '12345').update(bare).digest('base64') };
    expect(await verifySignature('twilio', request({ url: bare, rawBody, headers: unhashed }), secrets)).toBe(false);
  });
});

describe('Plivo', () => {
  // Signatures created by the library of Plivo (plivo 4.63.0 for Python) for the token `plivo-token`.
  const nonce = '05429567804466091622';
  const base = 'https://mycompany.com';
  const cases = [
    ['a query and a form', '/myapp.php?foo=1&bar=2', 'Text=+hi&From=1', 'iTrNqRcjE/ldo+on5I0AWtDMv/UOGkVQyiZn8+wFqzw='],
    ['only a form', '/hook', 'Text=+hi&From=1', 'mhQegXncsc6eqWgYHiPrIqy58VabGYS02lWbXGnaiB4='],
    [
      'repeated names and repeated values',
      '/hook?provider=plivo&b=%26x&a=2&a=1',
      'Text=&To=2&Media=b&Media=a&Media=b',
      'iU3T5o2tjqt0sxMDpt88ZnWyE+RojWnWHiNcjpJoDOQ=',
    ],
    ['only a query', '/hook?provider=plivo', '', 'dnss7ydrgM3V/tlW5tfWC1WsgL5u2T7mJVrI1/FLBV8='],
  ] as const;
  const signed = (path: string, form: string, headers: Record<string, string>) =>
    verifySignature('plivo', request({ url: base + path, rawBody: Buffer.from(form), isForm: true, headers }), secrets);

  it.each(cases)('accepts the golden signature of %s', async (_case, path, form, signature) => {
    for (const name of ['x-plivo-signature-v3', 'x-plivo-signature-ma-v3']) {
      const headers = { [name]: `other,${signature}`, 'x-plivo-signature-v3-nonce': nonce };
      expect(await signed(path, form, headers)).toBe(true);
      expect(await signed(path, `${form}&More=1`, headers)).toBe(false);
      expect(await signed(`${path.split('?')[0]}?foo=2`, form, headers)).toBe(false);
      expect(await signed(path, form, { ...headers, 'x-plivo-signature-v3-nonce': `${nonce}1` })).toBe(false);
      expect(await signed(path, form, { [name]: signature })).toBe(false);
    }
  });
});

describe('Vonage', () => {
  const rawBody = Buffer.from('{"text":"hi"}');
  const payload_hash = createHash('sha256').update(rawBody).digest('hex');
  const token = (claims: Record<string, unknown>, at = Date.now() / 1000, secret = secrets.VONAGE_SIGNATURE_SECRET) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuedAt(Math.floor(at))
      .sign(Buffer.from(secret ?? ''));
  const signed = async (jwt: Promise<string>) =>
    verifySignature('vonage', request({ rawBody, headers: { authorization: `Bearer ${await jwt}` } }), secrets);

  it('accepts a fresh token that contains the hash of the body', async () => {
    expect(await signed(token({ payload_hash }))).toBe(true);
    expect(await signed(token({ payload_hash: payload_hash.replace(/^./, 'x') }))).toBe(false);
    expect(await signed(token({}))).toBe(false);
    expect(await signed(token({ payload_hash }, Date.now() / 1000 - 400))).toBe(false);
    expect(await signed(token({ payload_hash }, Date.now() / 1000, 'another-secret-which-is-long-enough'))).toBe(false);
    expect(await signed(Promise.resolve('no.token.atall'))).toBe(false);
  });
});

describe('Vapi', () => {
  it('accepts its secret in a header', async () => {
    expect(await verifySignature('vapi', request({ headers: { 'x-vapi-secret': 'vapi-secret' } }), secrets)).toBe(true);
    expect(await verifySignature('vapi', request({ headers: { 'x-vapi-secret': 'vapi-secre' } }), secrets)).toBe(false);
    expect(await verifySignature('vapi', request({ headers: { 'x-vapi-secret': '' } }), none)).toBe(false);
  });
});

describe('generic provider', () => {
  const nowMs = 1_700_000_000_000;
  const rawBody = Buffer.from('{"id":"1"}');
  const signed = (timestamp: string, body = rawBody) => {
    const hex = createHmac('sha256', 'generic-secret-of-tests')
      .update(`${timestamp}.${rawBody.toString()}`)
      .digest('hex');
    const headers = { 'x-timestamp': timestamp, 'x-signature': `sha256=${hex}` };
    return verifySignature('generic', request({ rawBody: body, headers }), secrets, nowMs);
  };

  it('accepts a signature over time and body within five minutes', async () => {
    expect(await signed('1700000000')).toBe(true);
    expect(await signed('1700000000000')).toBe(true);
    expect(await signed('1699999700')).toBe(true);
    expect(await signed('1699999699')).toBe(false);
    expect(await signed('1700000301')).toBe(false);
    expect(await signed('')).toBe(false);
    expect(await signed('1700000000', Buffer.from('{"id":"2"}'))).toBe(false);
  });
});
