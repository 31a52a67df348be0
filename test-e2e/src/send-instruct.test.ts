import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  cameraShoot,
  decodeBody,
  fileUploadRequest,
  type MessageDefinition,
  playbackControl,
  playbackRequest,
  queryResourceList,
  setParameters,
  terminalControl,
  textMessage,
} from '@fleet/jt808';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { getJson, joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { createRecording } from './testing/playback.ts';

jest.setTimeout(120_000);

interface Reply {
  readonly status: number;
  readonly body: { code: number; msg: string; data: Record<string, unknown> | null };
}
type Headers = Record<string, string>;

/** A partner's server with the interface of the vendor's hub. */
class FakeHub {
  readonly forms: Record<string, string>[] = [];
  response: { code: number; msg?: string; data?: unknown } = { code: 0, msg: 'success' };
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const form = new URLSearchParams(Buffer.concat(chunks).toString());
        this.forms.push({ path: `${request.method} ${request.url}`, ...Object.fromEntries(form) });
        response.end(JSON.stringify(this.response));
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  of(imei: string): Record<string, string>[] {
    return this.forms.filter(({ deviceImei }) => deviceImei === imei);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const hub = new FakeHub();
let hubUrl: string;
let harness: ProductHarness;
let headers: Headers;
let token: string;

beforeAll(async () => {
  hubUrl = await hub.start();
  harness = await joinSharedHarness();
  headers = await createAccount('Partner');
  token = String((await createRecord('/partners', { name: 'Their platform' }))['token']);
}, 180_000);
afterAll(async () => {
  await harness?.stop();
  await hub.stop();
}, 60_000);

async function requestPlatform(method: string, path: string, body: unknown, own: Headers = headers) {
  const init = { method, headers: { 'content-type': 'application/json', ...own } };
  const url = `${harness.product.runtime.base_url}/api${path}`;
  const response = await getJson(url, body === undefined ? init : { ...init, body: JSON.stringify(body) });
  return { status: response.status, body: response.body as { data: Record<string, unknown> } };
}

async function createRecord(path: string, body: object, own: Headers = headers): Promise<Record<string, unknown>> {
  const response = await requestPlatform('POST', path, body, own);
  expect({ path, ...response }).toMatchObject({ status: path.endsWith('/commands') ? 202 : 201 });
  return response.body.data;
}

let accounts = 0;
async function createAccount(name: string): Promise<Headers> {
  accounts += 1;
  const email = `instruct-${process.pid}-${accounts}@fleet.example`;
  const user = { name, email, password: 'correct horse battery', account_name: name };
  const registered = await createRecord('/auth/register', user, {});
  const bearer = { authorization: `Bearer ${String(registered['access_token'])}` };
  const key = await createRecord('/api-keys', { name: 'e2e' }, bearer);
  return { ...bearer, 'x-api-key': String(key['key']) };
}

let vehicles = 0;
async function createVehicle(imei: string, own: Headers = headers): Promise<string> {
  vehicles += 1;
  return String((await createRecord('/vehicles', { vehicle_no: `INSTR ${vehicles}`, imei }, own))['id']);
}

/** A terminal of the partner's account. */
async function startTerminal(own: Headers = headers): Promise<SimulatedTerminal> {
  const phone = uniquePhone();
  await createVehicle(phone, own);
  return harness.startTerminal({
    phone,
    edition: '2019',
    recordings: [createRecording('2026-08-01T10:00:00', '2026-08-01T10:05:00')],
  });
}

async function send(imei: string, proNo: number, content: unknown, more: Headers = {}): Promise<Reply> {
  const fields = {
    deviceImei: imei,
    cmdContent: typeof content === 'string' ? content : JSON.stringify(content),
    proNo: String(proNo),
    cmdType: 'normallns',
    serverFlagId: '0',
    requestId: '1',
    platform: 'web',
    language: 'en',
    token,
    offlineFlag: 'false',
    timeOut: '30',
    sync: 'true',
    ...more,
  };
  const url = `${harness.product.runtime.base_url}/api/device/sendInstruct`;
  const { status, body } = await getJson(url, { method: 'POST', body: new URLSearchParams(fields) });
  return { status, body: body as Reply['body'] };
}

const getLastFrame = <D extends MessageDefinition>(terminal: SimulatedTerminal, definition: D) => {
  const frame = terminal.receivedFrames(definition.id).at(-1);
  if (frame === undefined) throw new Error(`the terminal received no ${definition.name}`);
  return decodeBody(definition, frame.body, terminal.options.edition);
};

const success = { status: 200, body: { code: 0, msg: 'success', data: { result: 'success' } } };
const span = { beginTime: '260801100000', endTime: '260801100500' };

describe("a partner's client", () => {
  let terminal: SimulatedTerminal;
  beforeAll(async () => {
    terminal = await startTerminal();
  });

  it('sends texts by 128 and 33536', async () => {
    for (const [proNo, text] of [
      [128, 'Come back'],
      [33_536, '请回来'],
    ] as const) {
      expect(await send(terminal.phone, proNo, text)).toMatchObject(success);
      expect(getLastFrame(terminal, textMessage)).toMatchObject({ text });
    }
  });

  it('sets parameters by 33027 and controls by 33029', async () => {
    expect(await send(terminal.phone, 33_027, { paramCount: '1', '1': '45' })).toMatchObject(success);
    expect(getLastFrame(terminal, setParameters)).toMatchObject({
      params: [{ id: 1, bytes: Buffer.from('0000002d', 'hex') }],
    });
    // The terminal restarts.
    const other = await startTerminal();
    expect(await send(other.phone, 33_029, { command: 4 })).toMatchObject(success);
    expect(getLastFrame(other, terminalControl)).toMatchObject({ command: 4 });
  });

  it('takes a picture by 34817', async () => {
    const response = await send(terminal.phone, 34_817, { channel: '1' });
    expect(response).toMatchObject(success);
    expect(getLastFrame(terminal, cameraShoot)).toMatchObject({ channel: 1, command: 1 });
  });

  it('starts live video by 37121, which can be watched here, and stops it by 37122', async () => {
    expect(await send(terminal.phone, 37_121, { channel: '1', dataType: '0', codeStreamType: '0' })).toMatchObject(
      success,
    );
    const flv = `${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`;
    const viewer = new AbortController();
    const response = await fetch(flv, { signal: viewer.signal });
    expect(response.status).toBe(200);
    const first = await response.body?.getReader().read();
    expect(
      Buffer.from(first?.value ?? [])
        .subarray(0, 3)
        .toString(),
    ).toBe('FLV');
    viewer.abort();
    expect(await send(terminal.phone, 37_122, { channel: '1', cmd: '0', dataType: '0' })).toMatchObject(success);
    await waitFor(async () => (await fetch(flv, { method: 'HEAD' })).status === 404, 'the stream to end');
  });

  it('plays a recording by 37377 and controls it by 37378', async () => {
    const content = {
      channel: 1,
      ...span,
      resourceType: 0,
      codeType: 1,
      storageType: 1,
      playMethod: 0,
      forwardRewind: 0,
    };
    expect(await send(terminal.phone, 37_377, content)).toMatchObject(success);
    expect(getLastFrame(terminal, playbackRequest)).toMatchObject({ channel: 1, startTime: '2026-08-01T10:00:00' });
    const seek = { channel: 1, playCtrl: 5, forwardRewind: 0, beginTime: '260801100200' };
    expect(await send(terminal.phone, 37_378, seek)).toMatchObject(success);
    expect(getLastFrame(terminal, playbackControl)).toMatchObject({ control: 5, seekTime: '2026-08-01T10:02:00' });
    expect(await send(terminal.phone, 37_378, { channel: 1, playCtrl: 2, beginTime: '' })).toMatchObject(success);
  });

  it('lists recordings by 37381', async () => {
    const { status, body } = await send(terminal.phone, 37_381, { channel: 1, ...span, alarmFlag: 0 });
    expect({ status, body }).toMatchObject({ ...success, body: { data: { total_resources: 1 } } });
    expect(body.data?.['resources']).toMatchObject([{ playback_start_time: '2026-08-01T10:00:00+08:00' }]);
    expect(getLastFrame(terminal, queryResourceList)).toMatchObject({ channel: 1, startTime: '2026-08-01T10:00:00' });
  });

  it('requests the upload of a clip by 37382, to this product or to a given server', async () => {
    const clip = { channel: 1, ...span, resourceType: 0, codeType: 1, storageType: 1 };
    const ours = await send(terminal.phone, 37_382, clip);
    expect(ours).toMatchObject(success);
    const videoId = String(ours.body.data?.['video_id']);
    await waitFor(
      async () => (await harness.get(`/videos?video_id=${videoId}`)).status === 200,
      'the upload to be listed',
    );
    const theirs = {
      serverAddress: '127.0.0.1',
      port: 9,
      userName: 'their-user',
      password: 'secret',
      fileUploadPath: '/x',
    };
    // A camera uploads one clip at a time.
    const other = await startTerminal();
    expect(await send(other.phone, 37_382, { ...clip, ...theirs })).toMatchObject(success);
    expect(getLastFrame(other, fileUploadRequest)).toMatchObject({
      server: '127.0.0.1',
      username: 'their-user',
      path: '/x',
    });
  });

  it('gets code 1004 for an invalid token or that of a deleted partner', async () => {
    expect(await send(terminal.phone, 33_536, 'Hello', { token: 'pt_wrong' })).toMatchObject({
      status: 401,
      body: { code: 1004 },
    });
    const deletedPartner = await createRecord('/partners', { name: 'Gone' });
    const own = { token: String(deletedPartner['token']) };
    expect(await send(terminal.phone, 33_536, 'Hello', own)).toMatchObject(success);
    expect((await requestPlatform('DELETE', `/partners/${String(deletedPartner['id'])}`, undefined)).status).toBe(200);
    await waitFor(
      async () => (await send(terminal.phone, 33_536, 'Hello', own)).status === 401,
      'the token to be evicted from the cache',
      6_000,
    );
  });

  it('gets code 1001 for an invalid command', async () => {
    expect(await send(terminal.phone, 37_383, {})).toMatchObject({ status: 400, body: { code: 1001 } });
    expect(await send(terminal.phone, 37_121, { channel: 300 })).toMatchObject({ status: 400, body: { code: 1001 } });
  });

  it('gets code 300 for a disconnected device and for one of another account', async () => {
    const offlinePhone = uniquePhone();
    await createVehicle(offlinePhone);
    const foreign = await startTerminal(await createAccount('Stranger'));
    const unknown = await harness.startTerminal();
    for (const imei of [offlinePhone, foreign.phone, unknown.phone, uniquePhone()])
      expect(await send(imei, 33_536, 'Hello')).toMatchObject({ status: 200, body: { code: 300 } });
    expect([foreign, unknown].map((each) => each.receivedFrames(textMessage.id).length)).toEqual([0, 0]);
  });

  it('gets code 301 for a device that does not reply, and 302 for one that refuses', async () => {
    terminal.setBehaviour({ kind: 'silent' }, textMessage.id);
    expect(await send(terminal.phone, 33_536, 'Hello', { timeOut: '1' })).toMatchObject({
      status: 200,
      body: { code: 301 },
    });
    expect(await send(terminal.phone, 33_536, 'Hello', { sync: 'false' })).toMatchObject(success);
    terminal.setBehaviour({ kind: 'refusing', result: 1 }, textMessage.id);
    expect(await send(terminal.phone, 33_536, 'Hello')).toMatchObject({
      status: 200,
      body: { code: 302, data: { result: 'failure' } },
    });
    terminal.resetBehaviour();
  });

  it('queues a command for a disconnected device', async () => {
    const phone = uniquePhone();
    const id = await createVehicle(phone);
    const waiting = await send(phone, 33_536, 'When you are back', { offlineFlag: 'true' });
    expect(waiting).toMatchObject({ status: 200, body: { code: 0, data: { result: 'queued', _code: '300' } } });
    const back = await harness.startTerminal({ phone });
    await waitFor(() => back.receivedFrames(textMessage.id).length === 1, 'the text', 60_000);
    const path = `/vehicles/${id}/commands/${String(waiting.body.data?.['command_id'])}`;
    await waitFor(
      async () => (await requestPlatform('GET', path, undefined)).body.data['status'] === 'acknowledged',
      'the reply',
    );
  });

  it('may send critical commands only with the level critical', async () => {
    const other = await startTerminal();
    const offlinePhone = uniquePhone();
    await createVehicle(offlinePhone);
    const critical = [
      [33_029, { command: 5 }],
      [33_027, { '19': 'evil.example' }],
      [33_536, 'SERVER,0,evil.example,7000,0#'],
    ] as const;
    const before = [terminalControl, setParameters, textMessage].map(({ id }) => other.receivedFrames(id).length);
    for (const imei of [other.phone, offlinePhone])
      for (const [proNo, content] of critical)
        expect(await send(imei, proNo, content, { offlineFlag: 'true' })).toMatchObject({
          status: 403,
          body: { code: 302 },
        });
    const partner = await createRecord('/partners', { name: 'Trusted', command_level: 'critical' });
    const trusted = { token: String(partner['token']) };
    expect(await send(other.phone, 33_536, 'SERVER,0,good.example,7000,0#', trusted)).toMatchObject(success);
    const after = [terminalControl, setParameters, textMessage].map(({ id }) => other.receivedFrames(id).length);
    expect(after).toEqual([before[0], before[1], (before[2] ?? 0) + 1]);
    const { body } = await requestPlatform('GET', '/audit-log?action=partners.command_refused&limit=200', undefined);
    const numbers = [other.phone, offlinePhone].map((phone) => phone.replace(/^0+/, ''));
    const refused = (body.data as unknown as { detail: { imei: string } }[]).map(({ detail }) => detail.imei);
    expect([refused.length, new Set(refused)]).toEqual([6, new Set(numbers)]);
  });

  it('has its commands recorded in the audit log', async () => {
    const { body } = await requestPlatform('GET', '/audit-log?action=partners.command&limit=200', undefined);
    expect(body.data).toContainEqual(
      expect.objectContaining({ detail: { imei: terminal.phone.replace(/^0+/, ''), pro_no: 37_121 }, ip: '127.0.0.1' }),
    );
  });
});

describe("a partner's device", () => {
  let numbers = 0;
  const newImei = (): string => {
    numbers += 1;
    return `86${String(process.pid).padStart(8, '0')}${String(numbers).padStart(5, '0')}`;
  };
  const point = (deviceImei: string) => ({ deviceImei, lat: 22.577, lng: 113.916, gpsTime: new Date().toISOString() });
  const push = (body: object, own: Headers) => requestPlatform('POST', '/devices/partner/pushgps', body, own);
  /** The Device API accepts the 15-digit number in its 20-digit form. */
  const text = (imei: string) =>
    harness.get(`/send-text?imei=${imei.padStart(20, '0')}`, {
      method: 'POST',
      body: JSON.stringify({ text: 'Hello' }),
    });
  const accepted = { status: 200, body: { code: 0, data: { accepted: 1, duplicates: 0, rejected: [] } } };

  it("reports with the partner's token and receives commands through the server of the partner record", async () => {
    const partner = await createRecord('/partners', { name: 'Hub', command_url: hubUrl, command_token: 'hub-secret' });
    const imei = newImei();
    const id = await createVehicle(imei);
    expect((await text(imei)).status).toBe(404);
    expect(await push({ token: partner['token'], msgType: 'gps', data_list: [point(imei)] }, {})).toMatchObject(
      accepted,
    );
    await waitFor(async () => (await text(imei)).status === 200, 'the device to be known');
    expect(hub.of(imei)[0]).toEqual({
      path: 'POST /api/device/sendInstruct',
      deviceImei: imei,
      cmdContent: 'Hello',
      proNo: '33536',
      cmdType: 'normallns',
      serverFlagId: '0',
      requestId: expect.stringMatching(/^\d+$/),
      platform: 'web',
      language: 'en',
      token: 'hub-secret',
      offlineFlag: 'false',
      timeOut: '30',
      sync: 'true',
    });
    const outcomes = [];
    for (const code of [0, 300, 301, 302, 1001, 1004, 500]) {
      hub.response = { code, msg: 'said the hub' };
      outcomes.push([code, (await text(imei)).status]);
    }
    hub.response = { code: 0 };
    expect(outcomes).toEqual([
      [0, 200],
      [300, 404],
      [301, 504],
      [302, 502],
      [1001, 502],
      [1004, 502],
      [500, 502],
    ]);
    const started = await harness.get(`/realtime/start-stream?imei=${imei.padStart(20, '0')}&channel=2`);
    expect(started).toMatchObject({ status: 200, body: { response_id: '0x9101', result: 'success' } });
    expect(JSON.parse(hub.of(imei).at(-1)?.['cmdContent'] ?? '')).toMatchObject({ channel: 2, videoIP: '127.0.0.1' });
    const waiting = await createRecord(`/vehicles/${id}/commands`, { type: 'locate' });
    const queued = await createRecord(`/vehicles/${id}/commands`, { type: 'text', params: { text: 'From the queue' } });
    const status = async (command: Record<string, unknown>) =>
      (await requestPlatform('GET', `/vehicles/${id}/commands/${String(command['command_id'])}`, undefined)).body.data[
        'status'
      ];
    await waitFor(async () => (await status(queued)) === 'acknowledged', 'the queued text');
    expect(await status(waiting)).toBe('failed');
    expect(hub.of(imei).at(-1)).toMatchObject({ proNo: '33536', cmdContent: 'From the queue' });
  });

  it('reports with both headers and the scope ingest', async () => {
    const imei = newImei();
    await createVehicle(imei);
    const key = await createRecord('/api-keys', { name: 'ingest', scopes: ['ingest'] });
    const { authorization = '' } = headers;
    const both = { authorization, 'x-api-key': String(key['key']) };
    expect(await push({ data_list: [point(imei)] }, both)).toMatchObject(accepted);
    expect((await push({ data_list: [point(imei)] }, { authorization })).status).toBe(401);
    // No partner record names a command server, and this installation has no default.
    expect((await text(imei)).status).toBe(404);
  });
});
