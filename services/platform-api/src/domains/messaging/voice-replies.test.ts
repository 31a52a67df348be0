import { createHash, createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SignJWT } from 'jose';
import { SaxesParser } from 'saxes';
import { newImei } from '../../testing/fake-terminals.ts';
import { type ApiResponse, PlatformHarness } from '../../testing/platform-harness.ts';
import { toNcco, toPlivoXml, toTwiml } from './voice-replies.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(60_000);

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

/** Parses strictly; throws if the XML is not well-formed. */
function parseXml(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    const element: Element = { name, attributes: { ...attributes }, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', (text) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += text;
  });
  parser.on('closetag', () => void open.pop());
  parser.write(xml).close();
  const [top] = root.children;
  if (top === undefined) throw new Error('the document is empty');
  return top;
}

const reply = `KA<42> & "friends" aren't moving`;
const url = 'https://fleet.example/api/voice?provider=plivo&a=1';
const element = (name: string, more: Partial<Element>): Element => ({
  name,
  attributes: {},
  children: [],
  text: '',
  ...more,
});

describe('reply in a call', () => {
  it('is a Speak element of Plivo XML at the end of the call', () => {
    const speak = element('Speak', { text: reply });
    expect(parseXml(toPlivoXml({ reply, end: true }, url))).toEqual(element('Response', { children: [speak] }));
  });

  it('is a Speak element within a GetInput of Plivo XML while the call continues', () => {
    const attributes = { action: url, method: 'POST', inputType: 'speech' };
    const input = element('GetInput', { attributes, children: [element('Speak', { text: reply })] });
    expect(parseXml(toPlivoXml({ reply, end: false }, url))).toEqual(element('Response', { children: [input] }));
  });

  it('is TwiML for Twilio', () => {
    const say = element('Say', { text: reply });
    expect(parseXml(toTwiml({ reply, end: true }))).toEqual(element('Response', { children: [say] }));
    const gather = element('Gather', { attributes: { input: 'speech' }, children: [say] });
    expect(parseXml(toTwiml({ reply, end: false }))).toEqual(element('Response', { children: [gather] }));
  });

  it('is an NCCO for Vonage, which listens only while the call continues', () => {
    expect(toNcco({ reply, end: true }, url)).toEqual([{ action: 'talk', text: reply }]);
    expect(toNcco({ reply, end: false }, url)).toEqual([
      { action: 'talk', text: reply, bargeIn: true },
      { action: 'input', type: ['speech'], speech: {}, eventUrl: [url], eventMethod: 'POST' },
    ]);
  });
});

describe('voice webhook formats', () => {
  const publicUrl = 'https://fleet.example';
  const phone = '+14155550166';
  const vonageSecret = 'vonage-secret-of-tests-which-is-long-enough';
  const plivoToken = 'plivo-token-of-tests';
  const path = '/api/chat-log/voice-assistant-webhook';
  let harness: PlatformHarness;
  let vehicleNo: string;
  beforeAll(async () => {
    harness = await PlatformHarness.open({
      PUBLIC_BASE_URL: publicUrl,
      PLIVO_AUTH_TOKEN: plivoToken,
      VONAGE_SIGNATURE_SECRET: vonageSecret,
    });
    await harness.user('manager', harness.ours, { phoneNumber: phone, phoneVerifiedAt: new Date() });
    vehicleNo = `V${newImei()}`;
    expect((await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: vehicleNo })).status).toBe(201);
  });
  afterAll(() => harness?.close());

  async function fromVonage(fields: object): Promise<ApiResponse> {
    const body = JSON.stringify({ uuid: 'call-1', from: phone, to: '14155550000', ...fields });
    const hash = createHash('sha256').update(body).digest('hex');
    const token = await new SignJWT({ payload_hash: hash })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuedAt()
      .sign(Buffer.from(vonageSecret));
    return harness.anonymous.post(`${path}?provider=vonage`, body, { authorization: `Bearer ${token}` });
  }

  it('replies to Vonage with an NCCO that returns to the same URL', async () => {
    const begun = await fromVonage({});
    expect(begun).toMatchObject({ status: 200, body: [{ action: 'talk' }, { action: 'input', type: ['speech'] }] });
    expect(begun.body).toMatchObject([{}, { eventUrl: [`${publicUrl}${path}?provider=vonage`] }]);
    const speech = { results: [{ text: `Where is ${vehicleNo}?`, confidence: '0.9' }] };
    const response = await fromVonage({ speech });
    expect(response.body).toEqual([{ action: 'talk', text: expect.stringContaining(vehicleNo) }]);
  });

  /** Sends a form as Plivo signs it, version 3. */
  function fromPlivo(fields: Readonly<Record<string, string>>): Promise<ApiResponse> {
    const address = `${path}?provider=plivo`;
    const form = Object.keys(fields).toSorted();
    const signed = `${publicUrl}${address}.${form.map((name) => name + fields[name]).join('')}.12345`;
    return harness.anonymous.post(address, new URLSearchParams(fields).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
      'x-plivo-signature-v3': createHmac('sha256', plivoToken).update(signed).digest('base64'),
      'x-plivo-signature-v3-nonce': '12345',
    });
  }

  it('replies to Plivo with XML that returns to the same URL', async () => {
    const call = { CallUUID: 'call-2', From: phone, To: '14155550000' };
    const begun = await fromPlivo(call);
    expect([begun.status, begun.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/xml')]);
    const [input] = parseXml(String(begun.body)).children;
    expect(input).toMatchObject({ name: 'GetInput', attributes: { action: `${publicUrl}${path}?provider=plivo` } });
    const response = await fromPlivo({ ...call, Speech: `Where is ${vehicleNo}?` });
    const [speak] = parseXml(String(response.body)).children;
    expect(speak).toMatchObject({ name: 'Speak', text: expect.stringContaining(vehicleNo) });
  });
});
