import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakeProvider } from '../testing/fake-provider.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';

jest.setTimeout(60_000);

let fake: FakeProvider;
let harness: PlatformHarness;
beforeAll(async () => {
  fake = await FakeProvider.open();
  fake.reply = () => ({ status: 201, body: { sid: 'SM1' } });
  harness = await PlatformHarness.open({
    SMS_PROVIDER: 'twilio',
    SMS_FROM: '+14155550199',
    TWILIO_ACCOUNT_SID: 'AC1',
    TWILIO_AUTH_TOKEN: 'secret',
    TWILIO_URL: fake.url,
  });
});
afterAll(async () => {
  await harness.close();
  await fake.close();
});

describe('an installation with a provider of text messages', () => {
  it('sends codes over it, and mails with its own sender', async () => {
    const phoneNumber = '+14155550123';
    const { email } = await harness.user('viewer', harness.ours, { phoneNumber });
    expect((await harness.anonymous.post('/api/auth/otp/send', { phone_number: phoneNumber })).status).toBe(202);
    await waitFor(() => fake.received.length > 0);
    const form = Object.fromEntries(new URLSearchParams(fake.received[0]?.body));
    expect(form).toMatchObject({ To: phoneNumber, From: '+14155550199' });
    const code = /^\d{6} /.exec(form['Body'] ?? '')?.[0].trim();
    const verified = await harness.anonymous.post('/api/auth/otp/verify', { phone_number: phoneNumber, code });
    expect(verified.status).toBe(200);
    expect((await harness.anonymous.post('/api/auth/password/forgot', { identifier: email })).status).toBe(202);
    await waitFor(() => harness.sent.some(({ kind, to }) => kind === 'mail' && to === email));
    expect(harness.sent.filter(({ kind }) => kind === 'sms')).toEqual([]);
  });
});
