import { createHmac, randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { recordTestNotification } from '../../testing/notifications.ts';
import { type ApiResponse, PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { ensureVehicle } from '../vehicles/use-cases.ts';
import { saveOutbound } from './use-cases.ts';

jest.setTimeout(60_000);

const secret = 'generic-secret-of-tests';
const publicUrl = 'https://fleet.example';
const sms = '/api/chat-log/sms-provider-webhook';
const voice = '/api/chat-log/voice-assistant-webhook';

let harness: PlatformHarness;
let user: TestUser;
let phone: string;
beforeAll(async () => {
  harness = await PlatformHarness.open({
    CHAT_GENERIC_SECRET: secret,
    TWILIO_AUTH_TOKEN: 'twilio-token',
    PUBLIC_BASE_URL: publicUrl,
    SMS_COMMANDS: 'true',
    BOOTSTRAP_OWNER_EMAIL: 'operator@fleet.example',
    BOOTSTRAP_OWNER_PASSWORD: 'operators password',
  });
  phone = newPhone();
  user = await harness.user('manager', harness.ours, { phoneNumber: phone, phoneVerifiedAt: new Date() });
});
afterAll(() => harness?.close());

let last = 0;
const next = (): number => {
  last += 1;
  return last;
};
const newPhone = (): string => `+1415555${String(next()).padStart(4, '0')}`;
const newId = (): string => `m-${next()}`;

function send(path: string, body: object, headers: Record<string, string> = {}): Promise<ApiResponse> {
  const text = JSON.stringify(body);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const hex = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest('hex');
  return harness.anonymous.post(path, text, { 'x-timestamp': timestamp, 'x-signature': `sha256=${hex}`, ...headers });
}

/** Sends a form as Twilio signs it. */
function fromTwilio(path: string, fields: Record<string, string>): Promise<ApiResponse> {
  const address = `${path}?provider=twilio`;
  const names = Object.keys(fields).toSorted();
  const signed = publicUrl + address + names.map((name) => name + fields[name]).join('');
  return harness.anonymous.post(address, new URLSearchParams(fields).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': createHmac('sha1', 'twilio-token').update(signed).digest('base64'),
  });
}

const log = async (query = '', of: TestUser = user) => (await harness.as(of).get(`/api/chat-log${query}`)).items;

async function newVehicle(): Promise<{ id: number; vehicleNo: string }> {
  const vehicleNo = `KA42X${1000 + next()}`;
  const imei = `86${String(randomInt(10 ** 12)).padStart(13, '0')}`;
  const { accountId, owner } = harness.ours;
  const { record } = await ensureVehicle(harness.records, { accountId, ownerUserId: owner.id, vehicleNo, imei });
  return { id: record._id, vehicleNo };
}

describe('SMS webhook', () => {
  it("stores a signed message once, in its sender's account", async () => {
    const message = { id: newId(), from: phone, to: '+14155550000', text: 'Hello', timestamp: Date.now() };
    for (let i = 0; i < 2; i += 1)
      expect(await send(`${sms}?provider=generic`, message)).toMatchObject({ status: 200, body: { ok: true } });
    const stored = (await log('?channel=sms')).filter((item) => item['provider_message_id'] === message.id);
    expect(stored).toMatchObject([
      { text: 'Hello', from: phone, direction: 'in', status: 'received', user_id: user.id },
    ]);
    expect(await log('', harness.theirs.owner)).toEqual([]);
  });

  it('accepts forms from Twilio, returns TwiML, and updates the status of a message', async () => {
    const id = newId();
    const response = await fromTwilio(sms, { MessageSid: id, From: phone, To: '+14155550000', Body: 'Hi & <bye>' });
    expect(response).toMatchObject({ status: 200, body: expect.stringContaining('<Response/>') });
    expect(response.headers.get('content-type')).toContain('text/xml');
    await fromTwilio(sms, { MessageSid: id, From: phone, To: '+14155550000', MessageStatus: 'delivered' });
    const stored = (await log()).filter((item) => item['provider_message_id'] === id);
    expect(stored).toMatchObject([{ provider: 'twilio', text: 'Hi & <bye>', status: 'delivered' }]);
  });

  it("updates a message in the account that sent it, regardless of the recipient's account, and only forwards", async () => {
    // A user of another account with whom a vehicle is shared, and whose number is not verified.
    const [id, to] = [newId(), newPhone()];
    await harness.user('viewer', harness.theirs, { phoneNumber: to, phoneVerifiedAt: null });
    const { accountId } = harness.ours;
    const about = { to, from: '+14155550000', text: 'SOS', userId: user.id, vehicleId: null };
    await saveOutbound(harness.deps, { accountId }, { ...about, provider: 'twilio', providerMessageId: id });
    const statusAfter = async (MessageStatus: string) => {
      const news = { MessageSid: id, From: '+14155550000', To: to, MessageStatus };
      expect(await fromTwilio(sms, news)).toMatchObject({ status: 200 });
      return (await log()).find((item) => item['provider_message_id'] === id)?.['status'];
    };
    expect(await statusAfter('queued')).toBe('sent');
    expect(await statusAfter('some word of tomorrow')).toBe('sent');
    expect(await statusAfter('delivered')).toBe('delivered');
    expect(await statusAfter('sent')).toBe('delivered');
    expect(await log('', harness.theirs.owner)).toEqual([]);
  });

  it("updates only messages of the caller's own account if platform headers are used", async () => {
    const id = newId();
    const about = { to: newPhone(), from: 'FLEET', text: 'SOS', userId: user.id, vehicleId: null };
    const sent = { ...about, provider: 'generic', providerMessageId: id } as const;
    await saveOutbound(harness.deps, { accountId: harness.ours.accountId }, sent);
    const news = { id, from: 'FLEET', to: about.to, status: 'delivered' };
    const statusAfter = async (of: TestUser) => {
      const key = await harness.as(of).post('/api/api-keys', { name: 'ingest', scopes: ['ingest'] });
      const ingest = harness.as({ ...of, apiKey: String(key.data['key']) });
      expect((await ingest.post(sms, news)).status).toBe(200);
      return (await log()).find((item) => item['provider_message_id'] === id)?.['status'];
    };
    expect(await statusAfter(harness.theirs.owner)).toBe('sent');
    expect(await statusAfter(harness.ours.owner)).toBe('delivered');
  });

  it('returns 401 without a signature over the exact body, or for a provider that is not configured', async () => {
    const message = { id: newId(), from: phone, to: '+14155550000', text: 'Forged' };
    const wrong = { status: 401, body: { code: 'signature_invalid' } };
    expect(await harness.anonymous.post(sms, message)).toMatchObject(wrong);
    expect(await send(sms, message, { 'x-signature': `sha256=${'0'.repeat(64)}` })).toMatchObject(wrong);
    expect(await send(sms, message, { 'x-timestamp': '1700000000' })).toMatchObject(wrong);
    expect(await send(`${sms}?provider=plivo`, message)).toMatchObject(wrong);
    expect(await send(`${sms}?provider=vonage`, message, { authorization: 'Bearer a.b.c' })).toMatchObject(wrong);
    expect((await log()).filter((item) => item['text'] === 'Forged')).toEqual([]);
  });

  it('rejects invalid messages', async () => {
    for (const body of [{}, { id: newId(), from: phone, to: phone }, { id: '', from: phone, to: phone, text: 'x' }, []])
      expect([body, (await send(sms, body)).status]).toEqual([body, 400]);
    expect(await send(`${sms}?provider=carrier-pigeon`, {})).toMatchObject({ status: 400 });
  });

  it("replies to WHERE and STATUS only about the sender's vehicles", async () => {
    const { id, vehicleNo } = await newVehicle();
    const sendQuestion = async (from: string, text: string) => {
      await send(sms, { id: newId(), from, to: '+14155550000', text });
      await harness.deps.background.drain();
    };
    await sendQuestion(phone, `where ${vehicleNo.slice(0, 4)} ${vehicleNo.slice(4)}`);
    const [response, question] = await log(`?vehicle_id=${id}`);
    expect(question).toMatchObject({ direction: 'in', vehicle_id: id });
    expect(response).toMatchObject({ direction: 'out', to: phone, text: expect.stringContaining(vehicleNo) });
    const stranger = await harness.user('manager', harness.theirs, {
      phoneNumber: newPhone(),
      phoneVerifiedAt: new Date(),
    });
    const { phoneNumber } = (await harness.records.collection('users').findOne({ _id: stranger.id })) as unknown as {
      phoneNumber: string;
    };
    await sendQuestion(phoneNumber, `STATUS ${vehicleNo}`);
    const [reply] = await log('', stranger);
    expect(reply).toMatchObject({ direction: 'out', text: 'There is no such vehicle.', vehicle_id: null });
  });

  it('replies to a number only after its user has verified it with a code', async () => {
    const { id, vehicleNo } = await newVehicle();
    const number = newPhone();
    const claimed = await harness.user('manager', harness.ours, { phoneNumber: number });
    const where = async () => {
      const response = await send(sms, { id: newId(), from: number, to: '+14155550000', text: `WHERE ${vehicleNo}` });
      await harness.deps.background.drain();
      return response;
    };
    const responses = async () => (await log(`?vehicle_id=${id}`)).filter((item) => item['direction'] === 'out');
    expect((await where()).status).toBe(200);
    const received = await send(voice, { call_id: newId(), from: number, transcript: `Where is ${vehicleNo}?` });
    expect(JSON.stringify(received.body)).not.toContain(vehicleNo);
    expect(await responses()).toEqual([]);

    expect((await harness.anonymous.post('/api/auth/otp/send', { phone_number: number })).status).toBe(202);
    const codeTo = () => harness.sent.find(({ to, text }) => to === number && /^\d{6} /.test(text))?.text.slice(0, 6);
    await waitFor(() => codeTo() !== undefined);
    const code = codeTo();
    const verified = await harness.anonymous.post('/api/auth/otp/verify', { phone_number: number, code });
    expect(verified.status).toBe(200);
    expect((await where()).status).toBe(200);
    expect(await responses()).toMatchObject([{ to: number, user_id: claimed.id }]);

    // A changed number must be verified again.
    const other = newPhone();
    const owner = harness.as(harness.ours.owner);
    for (const phone_number of [other, number])
      expect((await owner.put(`/api/users/${claimed.id}`, { phone_number })).status).toBe(200);
    expect((await where()).status).toBe(200);
    expect(await responses()).toHaveLength(1);
  });

  it("stores messages from unknown senders in the operator's account", async () => {
    const message = { id: newId(), from: '+4915112345678', to: '+14155550000', text: 'Who are you?' };
    expect(await send(sms, message)).toMatchObject({ status: 200 });
    expect((await log()).map((item) => item['provider_message_id'])).not.toContain(message.id);
  });
});

describe('voice webhook', () => {
  const call = (from: string, transcript: string, path = voice) => send(path, { call_id: newId(), from, transcript });

  it('replies to questions of a known caller about a vehicle', async () => {
    const { id, vehicleNo } = await newVehicle();
    const spelt = vehicleNo.split('').join(' ');
    for (const [transcript, intent] of [
      [`Where is ${spelt}?`, 'vehicle_location'],
      [`What is the status of ${vehicleNo}`, 'vehicle_status'],
      [`last alert of ${vehicleNo} please`, 'last_alert'],
    ] as const) {
      const { status, body } = await call(phone, transcript);
      expect([transcript, status]).toEqual([transcript, 200]);
      expect(body).toMatchObject({ reply: expect.stringContaining(vehicleNo), end: true, data: { intent } });
    }
    const { body } = await call(phone, `share ${vehicleNo} with my customer`);
    expect(body).toMatchObject({ data: { url: expect.stringContaining(`${publicUrl}/share/`), vehicle_id: id } });
    expect(await log(`?channel=voice&vehicle_id=${id}`)).toHaveLength(4);
  });

  it('reports the alert that happened last, even if an older one was recorded later', async () => {
    const { id: vehicleId, vehicleNo } = await newVehicle();
    const { accountId } = harness.ours;
    const newest = await recordTestNotification(harness.deps, accountId, { vehicleId, type: 'sos' });
    const timestamp = newest.timestamp - 3_600_000;
    await recordTestNotification(harness.deps, accountId, { vehicleId, type: 'overspeed', timestamp });
    const { body } = await call(phone, `last alert of ${vehicleNo} please`);
    expect(body).toMatchObject({ data: { notification_id: newest._id, notification_type: 'sos' } });
  });

  it('prompts for a missing intent or vehicle', async () => {
    await newVehicle();
    await newVehicle();
    expect((await call(phone, 'Good morning')).body).toMatchObject({ end: false, data: null });
    expect((await call(phone, 'Where is my car?')).body).toMatchObject({
      end: false,
      reply: expect.stringContaining('Which'),
    });
  });

  it('returns TwiML to Twilio, and listens until the call ends', async () => {
    const { vehicleNo } = await newVehicle();
    const talk = { CallSid: newId(), From: phone, To: '+14155550000' };
    const begun = await fromTwilio(voice, talk);
    expect(begun.headers.get('content-type')).toContain('text/xml');
    expect(begun.body).toMatch(/<Response><Gather input="speech"><Say>You can ask .*<\/Say><\/Gather><\/Response>$/);
    const response = await fromTwilio(voice, { ...talk, SpeechResult: `Where is ${vehicleNo}?` });
    expect(response.body).toMatch(new RegExp(`<Response><Say>${vehicleNo} .*</Say></Response>$`));
  });

  it('reveals nothing to an unknown caller', async () => {
    const { vehicleNo } = await newVehicle();
    const { body } = await call('+4915112345678', `Where is ${vehicleNo}?`);
    expect(body).toEqual({ reply: expect.not.stringContaining(vehicleNo), end: true, data: null });
    expect(await harness.anonymous.post(voice, { call_id: '1', from: phone })).toMatchObject({ status: 401 });
    expect(await send(voice, { from: phone })).toMatchObject({ status: 400 });
  });
});

describe('GET /api/chat-log', () => {
  it('requires a manager, and rejects invalid filters', async () => {
    expect(await harness.as(await harness.user('viewer')).get('/api/chat-log')).toMatchObject({ status: 403 });
    const client = harness.as(user);
    for (const query of ['channel=fax', 'vehicle_id=x', 'from=noon', 'limit=0'])
      expect([query, (await client.get(`/api/chat-log?${query}`)).status]).toEqual([query, 400]);
    expect((await client.get('/api/chat-log?from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z')).items).toEqual([]);
  });
});
