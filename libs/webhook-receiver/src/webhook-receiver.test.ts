import { describe, expect, it } from '@jest/globals';
import {
  computeSignature,
  dedupeKey,
  EnvelopeError,
  MemoryDedupeStore,
  parseEnvelope,
  receiveWebhook,
  verifySecret,
  verifySignature,
} from './index.ts';

const notification = {
  title: 'SOS',
  description: 'The driver pressed the emergency button. – ü',
  notification_type: 'sos',
  imei: '013800138000',
  timestamp: 1_790_000_000_000,
  server_timestamp: 1_790_000_000_100,
  location: { latitude: 22.5, longitude: 114.01 },
};
const payload = { notification, user: 12 };

function createEnvelope(more: object = {}, body = JSON.stringify(payload)): string {
  return JSON.stringify({
    date: 1_790_000_000_200,
    headers: { 'X-Webhook-Secret': ['secret-1'], 'Content-Type': ['application/json'] },
    content_length: Buffer.byteLength(body),
    body,
    method: 'POST',
    path: '/hook',
    query: '',
    ...more,
  });
}

describe('the signature of Standard Webhooks', () => {
  // Test vector of the specification's own libraries.
  const vector = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: '1614265330',
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const nowMs = 1_614_265_330_000;
  const createHeaders = (more: object = {}) => ({
    'webhook-id': vector.id,
    'webhook-timestamp': vector.timestamp,
    'webhook-signature': vector.signature,
    ...more,
  });
  const verify = (more: object = {}, headers: object = {}) =>
    verifySignature({ headers: createHeaders(headers), body: vector.body, secrets: [vector.secret], nowMs, ...more });

  it('equals the published vector', () => {
    expect(computeSignature(vector.secret, vector.id, vector.timestamp, vector.body)).toBe(vector.signature);
    expect(verify()).toEqual({ kind: 'verified', id: vector.id, timestampMs: nowMs });
    expect(verify({ body: Buffer.from(vector.body) })).toMatchObject({ kind: 'verified' });
  });

  it('accepts any of several signatures, and any of several secrets', () => {
    const other = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=';
    const both = { 'webhook-signature': `${other} v2,x ${vector.signature}` };
    expect(verify({}, both)).toMatchObject({ kind: 'verified' });
    expect(verify({ secrets: ['whsec_AAAA', vector.secret] })).toMatchObject({ kind: 'verified' });
    expect(verify({ secrets: [] })).toEqual({ kind: 'mismatch' });
  });

  it.each([
    ['another body', { body: `${vector.body} ` }, {}],
    ['another id', {}, { 'webhook-id': 'msg_other' }],
    ['another secret', { secrets: ['whsec_AAAA'] }, {}],
    ['no signature of this version', {}, { 'webhook-signature': vector.signature.replace('v1', 'v2') }],
    ['an empty signature', {}, { 'webhook-signature': '' }],
  ])('refuses %s', (_name, more, headers) => expect(verify(more, headers)).toEqual({ kind: 'mismatch' }));

  it('rejects old and future timestamps, and missing ones', () => {
    expect(verify({ nowMs: nowMs + 300_000 })).toMatchObject({ kind: 'verified' });
    expect(verify({ nowMs: nowMs + 300_001 })).toEqual({ kind: 'expired' });
    expect(verify({ nowMs: nowMs - 300_001 })).toEqual({ kind: 'expired' });
    expect(verify({ nowMs: nowMs + 5_000, toleranceMs: 4_000 })).toEqual({ kind: 'expired' });
    expect(verify({}, { 'webhook-timestamp': 'now' })).toEqual({ kind: 'missing' });
    for (const name of Object.keys(createHeaders()))
      expect(verify({}, { [name]: undefined })).toEqual({ kind: 'missing' });
  });

  it('uses the bytes of a secret without the prefix', () => {
    const secret = 'plain-secret';
    const signature = computeSignature(secret, 'msg_1', '1614265330', 'x');
    const headers = createHeaders({ 'webhook-id': 'msg_1', 'webhook-signature': signature });
    expect(verifySignature({ headers, body: 'x', secrets: [secret], nowMs })).toMatchObject({ kind: 'verified' });
  });
});

describe('the secret', () => {
  it('is one of the valid ones', () => {
    expect(verifySecret('b', ['a', 'b'])).toBe(true);
    for (const wrong of [undefined, '', 'B', 'bb']) expect(verifySecret(wrong, ['a', 'b'])).toBe(false);
    expect(verifySecret('', [])).toBe(false);
  });
});

describe('an envelope', () => {
  it('is parsed with its body', () => {
    const envelope = parseEnvelope(Buffer.from(createEnvelope()));
    expect(envelope).toMatchObject({ method: 'POST', path: '/hook', query: '' });
    expect(envelope.payload).toEqual(payload);
    expect(dedupeKey(envelope.payload.notification)).toBe('1790000000100:013800138000');
  });

  const createBody = (more: object, user: unknown = 12): string =>
    createEnvelope({}, JSON.stringify({ notification: { ...notification, ...more }, user }));
  it.each([
    ['', 'no JSON'],
    ['', '[]'],
    ['/date', createEnvelope({ date: 'x' })],
    ['/headers', createEnvelope({ headers: [] })],
    ['/headers/A', createEnvelope({ headers: { A: 'b' } })],
    ['/content_length', createEnvelope({ content_length: 3 })],
    ['/body', createEnvelope({ body: 7 })],
    ['/body', createEnvelope({}, '{')],
    ['/body/notification', createEnvelope({}, '{}')],
    ['/body/notification/imei', createBody({ imei: 1 })],
    ['/body/notification/server_timestamp', createBody({ server_timestamp: '1' })],
    ['/body/notification/location', createBody({ location: null })],
    ['/body/notification/location/latitude', createBody({ location: { longitude: 1 } })],
    ['/body/user', createBody({}, '12')],
  ])('reports a fault at "%s"', (path, raw) => {
    let error: unknown;
    try {
      parseEnvelope(raw);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(EnvelopeError);
    expect(error).toMatchObject({ path });
  });
});

describe('the store of seen keys', () => {
  it('detects repetitions for a time, up to a number of keys', () => {
    const store = new MemoryDedupeStore({ ttlMs: 1_000, maxEntries: 2 });
    expect([store.add('a', 0), store.add('a', 999), store.add('a', 1_000)]).toEqual([true, false, true]);
    store.remove('a');
    expect(store.add('a', 1_001)).toBe(true);
    expect([store.add('b', 1_002), store.add('c', 1_003), store.add('a', 1_004)]).toEqual([true, true, true]);
  });
});

describe('a request', () => {
  const secret = 'secret-1';
  function createRequest(body: string, more: object = {}) {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const headers = {
      'x-webhook-secret': secret,
      'webhook-id': 'msg_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': computeSignature(secret, 'msg_1', timestamp, body),
      ...more,
    };
    return { headers, body };
  }

  it('is accepted once', async () => {
    const options = { secrets: [secret], store: new MemoryDedupeStore() };
    const request = createRequest(createEnvelope());
    expect(await receiveWebhook(request, options)).toMatchObject({ status: 200, kind: 'accepted' });
    expect(await receiveWebhook(request, options)).toMatchObject({ status: 200, kind: 'repeated' });
  });

  it('is rejected with 401 for its secret or signature, and 400 for its content', async () => {
    const options = { secrets: [secret], store: new MemoryDedupeStore() };
    const status = async (request: ReturnType<typeof createRequest>, more: object = {}) =>
      (await receiveWebhook(request, { ...options, ...more })).status;
    expect(await status(createRequest(createEnvelope(), { 'x-webhook-secret': 'other' }))).toBe(401);
    expect(await status(createRequest(createEnvelope(), { 'webhook-signature': 'v1,x' }))).toBe(401);
    expect(await status(createRequest('{}'))).toBe(400);
    expect(
      await status(createRequest(createEnvelope(), { 'webhook-signature': 'v1,x' }), { checkSignature: false }),
    ).toBe(200);
  });
});
