import { createHmac } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakeProvider, type ProviderReply } from '../../testing/fake-provider.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { type ApiResponse, type Data, PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(60_000);

const path = '/api/chat-log/sms-provider-webhook?provider=twilio';
const publicUrl = 'https://fleet.example';
const phone = '+14155550177';

let fake: FakeProvider;
let harness: PlatformHarness;
let user: TestUser;
beforeAll(async () => {
  fake = await FakeProvider.open();
  harness = await PlatformHarness.open({
    PUBLIC_BASE_URL: publicUrl,
    SMS_COMMANDS: 'true',
    SMS_PROVIDER: 'twilio',
    SMS_FROM: '+14155550199',
    TWILIO_ACCOUNT_SID: 'AC1',
    TWILIO_AUTH_TOKEN: 'secret',
    TWILIO_URL: fake.url,
  });
  user = await harness.user('manager', harness.ours, { phoneNumber: phone, phoneVerifiedAt: new Date() });
});
afterAll(async () => {
  await harness?.close();
  await fake?.close();
});

/** Sends a form as Twilio signs it. */
function fromTwilio(fields: Record<string, string>): Promise<ApiResponse> {
  const names = Object.keys(fields).toSorted();
  const signed = publicUrl + path + names.map((name) => name + fields[name]).join('');
  return harness.anonymous.post(path, new URLSearchParams(fields).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': createHmac('sha1', 'secret').update(signed).digest('base64'),
  });
}

/** Requests the position of a new vehicle with a text message. */
async function sendQuestion(MessageSid: string): Promise<number> {
  const imei = newImei();
  const created = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `R${imei}`, imei });
  expect(created.status).toBe(201);
  const question = { MessageSid, From: phone, To: '+14155550100', Body: `WHERE R${imei}` };
  expect((await fromTwilio(question)).status).toBe(200);
  return created.data.id;
}
const repliesAbout = async (vehicleId: number): Promise<Data[]> =>
  (await harness.as(user).get(`/api/chat-log?vehicle_id=${vehicleId}`)).items.filter(
    (item) => item['direction'] === 'out',
  );

describe('reply to a text message', () => {
  it('is sent after the response to the webhook, and is updated by its own id', async () => {
    let release: (reply: ProviderReply) => void = () => undefined;
    fake.reply = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const before = fake.received.length;
    const vehicleId = await sendQuestion('SM-question');
    await waitFor(() => fake.received.length > before);
    expect(await repliesAbout(vehicleId)).toEqual([]);
    release({ status: 201, body: { sid: 'SM-answer' } });
    await harness.deps.background.drain();
    const response = { provider: 'twilio', provider_message_id: 'SM-answer', to: phone, user_id: user.id };
    expect(await repliesAbout(vehicleId)).toMatchObject([{ ...response, status: 'sent' }]);
    const news = { MessageSid: 'SM-answer', From: '+14155550199', To: phone, MessageStatus: 'delivered' };
    expect((await fromTwilio(news)).status).toBe(200);
    expect(await repliesAbout(vehicleId)).toMatchObject([{ ...response, status: 'delivered' }]);
  });

  it('is stored as failed if the provider rejects it', async () => {
    fake.reply = () => ({ status: 400, body: { code: 21_211 } });
    const vehicleId = await sendQuestion('SM-refused');
    await harness.deps.background.drain();
    expect(await repliesAbout(vehicleId)).toMatchObject([
      { status: 'failed', provider_message_id: 'reply:SM-refused', to: phone },
    ]);
  });
});
