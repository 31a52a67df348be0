import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeProvider, type ProviderReply } from '../testing/fake-provider.ts';
import { FcmProvider } from './fcm-provider.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const keyFile = privateKey.export({ type: 'pkcs8', format: 'pem' });
const message = {
  token: 'device-1',
  title: 'SOS',
  body: 'AB12: The driver pressed the emergency button.',
  collapseKey: '7:sos',
  data: { notification_id: '5', vehicle_id: '7' },
};
const sendPath = '/v1/projects/fleet-demo/messages:send';

let fake: FakeProvider;
let fcm: FcmProvider;
let nowMs: number;
let sendReplies: ProviderReply[];
beforeEach(async () => {
  fake = await FakeProvider.open();
  nowMs = Date.UTC(2026, 0, 31, 12);
  sendReplies = [];
  let tokens = 0;
  fake.reply = ({ path }) => {
    if (path !== '/token') return sendReplies.shift() ?? { body: { name: 'projects/fleet-demo/messages/1' } };
    tokens += 1;
    return { body: { access_token: `access-${tokens}`, expires_in: 3_600, token_type: 'Bearer' } };
  };
  fcm = makeFcm();
});
afterEach(async () => {
  fcm.stop();
  await fake.close();
});

const makeFcm = (more: object = {}): FcmProvider =>
  new FcmProvider(
    {
      FCM_URL: fake.url,
      FCM_SERVICE_ACCOUNT: JSON.stringify({
        type: 'service_account',
        project_id: 'fleet-demo',
        private_key_id: 'key-1',
        private_key: keyFile,
        client_email: 'push@fleet-demo.example',
        token_uri: `${fake.url}/token`,
      }),
    },
    { retryMs: 1, now: () => nowMs, ...more },
  );

const json = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;

describe('a push message by FCM', () => {
  it('is sent with an access token for a signed statement', async () => {
    await expect(fcm.send(message)).resolves.toBe('sent');
    const [requested] = fake.to('/token');
    expect(requested).toMatchObject({ method: 'POST' });
    expect(requested?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const form = new URLSearchParams(requested?.body);
    expect([...form.keys()]).toEqual(['grant_type', 'assertion']);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    expect(json(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    expect(json(claims)).toEqual({
      iss: 'push@fleet-demo.example',
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      aud: `${fake.url}/token`,
      iat: nowMs / 1_000,
      exp: nowMs / 1_000 + 3_600,
    });
    const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
    const isSigned = verify('RSA-SHA256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'));
    expect(isSigned).toBe(true);

    const [sent] = fake.to(sendPath);
    expect(sent?.method).toBe('POST');
    expect(sent?.headers['authorization']).toBe('Bearer access-1');
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      message: {
        token: 'device-1',
        notification: { title: 'SOS', body: 'AB12: The driver pressed the emergency button.' },
        data: { notification_id: '5', vehicle_id: '7' },
        android: { priority: 'HIGH', collapse_key: '7:sos' },
        apns: {
          headers: { 'apns-priority': '10', 'apns-collapse-id': '7:sos' },
          payload: { aps: { sound: 'default' } },
        },
        webpush: { headers: { Urgency: 'high' } },
      },
    });
  });

  it('reuses the access token until five minutes before its expiry', async () => {
    await Promise.all([fcm.send(message), fcm.send(message)]);
    expect(fake.to('/token')).toHaveLength(1);
    nowMs += 54 * 60_000;
    await fcm.send(message);
    expect(fake.to('/token')).toHaveLength(1);
    nowMs += 60_000;
    await fcm.send(message);
    expect(fake.to('/token')).toHaveLength(2);
  });

  it('requests another access token after a rejection', async () => {
    sendReplies = [{ status: 401 }];
    await expect(fcm.send(message)).resolves.toBe('sent');
    expect(fake.to(sendPath).map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer access-1',
      'Bearer access-2',
    ]);
    sendReplies = [{ status: 401 }, { status: 401 }];
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
  });

  it.each([
    ['an uninstalled app', 404, { details: [{ errorCode: 'UNREGISTERED' }] }],
    ['another project', 403, { details: [{ errorCode: 'SENDER_ID_MISMATCH' }] }],
    ['an invalid token', 400, { details: [{ fieldViolations: [{ field: 'message.token' }] }] }],
    [
      'an invalid token, described in words',
      400,
      { message: 'The registration token is not a valid FCM registration token' },
    ],
  ])('reports the token of %s', async (_case, status, error) => {
    sendReplies = [{ status, body: { error } }];
    await expect(fcm.send(message)).resolves.toBe('unregistered');
  });

  it('is rejected for another fault, and keeps the token', async () => {
    sendReplies = [{ status: 400, body: { error: { details: [{ fieldViolations: [{ field: 'message.data' }] }] } } }];
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'PermanentSendError' });
    sendReplies = [{ status: 404, body: {} }];
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'PermanentSendError' });
  });

  it('is retried three times after 429 and 5xx', async () => {
    sendReplies = [{ status: 503 }, { status: 429, headers: { 'retry-after': '0' } }, { status: 500 }];
    await expect(fcm.send(message)).resolves.toBe('sent');
    expect(fake.to(sendPath)).toHaveLength(4);
    sendReplies = Array.from({ length: 9 }, () => ({ status: 429 }));
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
    expect(fake.to(sendPath)).toHaveLength(8);
  });

  it('is delayed by Retry-After, and deferred after a longer one', async () => {
    const startedAt = performance.now();
    sendReplies = [{ status: 503, headers: { 'retry-after': '1' } }];
    await expect(fcm.send(message)).resolves.toBe('sent');
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    sendReplies = [{ status: 503, headers: { 'retry-after': '120' } }];
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'TransientSendError', retryAfterMs: 120_000 });
  });

  it('pauses while the provider fails', async () => {
    fcm.stop();
    fcm = makeFcm({ requestsToOpen: 3, resetTimeoutMs: 60_000 });
    sendReplies = Array.from({ length: 20 }, () => ({ status: 500 }));
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
    const requested = fake.to(sendPath).length;
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'TransientSendError', retryAfterMs: 60_000 });
    expect(fake.to(sendPath)).toHaveLength(requested);
  });

  it('is delayed without an access token', async () => {
    fake.reply = () => ({ status: 400, body: { error: 'invalid_grant' } });
    await expect(fcm.send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
    expect(fake.to(sendPath)).toEqual([]);
  });
});
