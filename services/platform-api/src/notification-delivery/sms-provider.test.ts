import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../assembly/config.ts';
import { FakeProvider } from '../testing/fake-provider.ts';
import { retryAfterMs } from './provider-client.ts';
import { createSmsProvider, type SmsProvider } from './sms-provider.ts';

let fake: FakeProvider;
let provider: SmsProvider;
beforeEach(async () => {
  fake = await FakeProvider.open();
});
afterEach(async () => {
  provider.stop();
  await fake.close();
});

const messages = { send: () => Promise.reject(new Error('not this way')) };
const open = (env: Record<string, string>): SmsProvider => {
  provider = createSmsProvider(loadConfig(env), messages, { retryMs: 1 });
  return provider;
};
const message = { to: '+14155550100', from: null, text: 'AB12: SOS' };
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('Twilio', () => {
  const twilio = () =>
    open({
      SMS_PROVIDER: 'twilio',
      SMS_FROM: '+14155550199',
      TWILIO_ACCOUNT_SID: 'AC1',
      TWILIO_AUTH_TOKEN: 'secret',
      TWILIO_URL: fake.url,
    });

  it('gets a form with the credentials of the account', async () => {
    fake.reply = () => ({ status: 201, body: { sid: 'SM1', status: 'queued' } });
    await expect(twilio().send(message)).resolves.toBe('SM1');
    const [sent] = fake.received;
    expect(sent).toMatchObject({ method: 'POST', path: '/2010-04-01/Accounts/AC1/Messages.json' });
    expect(sent?.headers).toMatchObject({
      authorization: basic('AC1:secret'),
      'content-type': 'application/x-www-form-urlencoded',
    });
    const form = Object.fromEntries(new URLSearchParams(sent?.body));
    expect(form).toEqual({ To: '+14155550100', From: '+14155550199', Body: 'AB12: SOS' });
  });

  it('supports account senders and messaging services', async () => {
    fake.reply = () => ({ status: 201, body: { sid: 'SM2' } });
    await twilio().send({ ...message, from: 'FLEET' });
    await provider.send({ ...message, from: 'MG1' });
    const forms = fake.received.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    expect(forms).toMatchObject([{ From: 'FLEET' }, { MessagingServiceSid: 'MG1' }]);
  });

  it('rejects an invalid number, and is retried when it is busy or rejects the key', async () => {
    fake.reply = () => ({ status: 400, body: { code: 21_211 } });
    await expect(twilio().send(message)).rejects.toMatchObject({ name: 'PermanentSendError' });
    fake.reply = () => ({ status: 401 });
    await expect(provider.send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
    fake.reply = () => ({ status: 429 });
    await expect(provider.send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
    expect(fake.received).toHaveLength(6);
  });
});

it('Plivo gets JSON', async () => {
  fake.reply = () => ({ status: 202, body: { message: 'message(s) queued', message_uuid: ['uuid-1'] } });
  const env = { SMS_PROVIDER: 'plivo', SMS_FROM: '14155550199', PLIVO_AUTH_ID: 'MA1', PLIVO_AUTH_TOKEN: 'secret' };
  await expect(open({ ...env, PLIVO_URL: fake.url }).send(message)).resolves.toBe('uuid-1');
  const [sent] = fake.received;
  expect(sent).toMatchObject({ method: 'POST', path: '/v1/Account/MA1/Message/' });
  expect(sent?.headers).toMatchObject({ authorization: basic('MA1:secret'), 'content-type': 'application/json' });
  const requestBody: unknown = JSON.parse(sent?.body ?? '');
  expect(requestBody).toEqual({ src: '14155550199', dst: '14155550100', text: 'AB12: SOS', type: 'sms' });
});

describe('Vonage', () => {
  const vonage = () =>
    open({
      SMS_PROVIDER: 'vonage',
      SMS_FROM: 'FLEET',
      VONAGE_API_KEY: 'key',
      VONAGE_API_SECRET: 'secret',
      VONAGE_URL: fake.url,
    });
  const vonageResponse = (status: string) => () => ({ body: { messages: [{ status, 'message-id': 'id-1' }] } });

  it('gets a form, with another coding for non-Latin letters', async () => {
    fake.reply = vonageResponse('0');
    await expect(vonage().send(message)).resolves.toBe('id-1');
    await provider.send({ ...message, text: '紧急报警' });
    expect(fake.received.map(({ path }) => path)).toEqual(['/sms/json', '/sms/json']);
    const forms = fake.received.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    const common = { api_key: 'key', api_secret: 'secret', from: 'FLEET', to: '14155550100' };
    expect(forms).toEqual([
      { ...common, text: 'AB12: SOS', type: 'text' },
      { ...common, text: '紧急报警', type: 'unicode' },
    ]);
  });

  it('reports the fault in its response', async () => {
    fake.reply = vonageResponse('1');
    await expect(vonage().send(message)).rejects.toMatchObject({ name: 'TransientSendError' });
    fake.reply = vonageResponse('3');
    await expect(provider.send(message)).rejects.toMatchObject({ name: 'PermanentSendError' });
  });
});

it('parses Retry-After in both forms', () => {
  provider = createSmsProvider(loadConfig({}), messages);
  const nowMs = Date.UTC(2026, 0, 31, 12);
  expect(retryAfterMs(null, nowMs)).toBeNull();
  expect(retryAfterMs('7', nowMs)).toBe(7_000);
  expect(retryAfterMs('Sat, 31 Jan 2026 12:00:09 GMT', nowMs)).toBe(9_000);
  expect(retryAfterMs('soon', nowMs)).toBeNull();
});

it.each([
  [{ SMS_PROVIDER: 'twilio' }, /TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN/],
  [{ SMS_PROVIDER: 'plivo', PLIVO_AUTH_ID: 'x' }, /PLIVO_AUTH_TOKEN, SMS_FROM/],
  [{ PUSH_PROVIDER: 'fcm' }, /FCM_SERVICE_ACCOUNT/],
  [{ PUSH_PROVIDER: 'fcm', FCM_SERVICE_ACCOUNT: 'no json' }, /not valid JSON/],
  [{ PUSH_PROVIDER: 'fcm', FCM_SERVICE_ACCOUNT: '{"project_id":"p"}' }, /client_email/],
])('rejects the configuration %o', (env: Record<string, string>, fault) => {
  provider = createSmsProvider(loadConfig({}), messages);
  expect(() => loadConfig(env)).toThrow(fault);
});
