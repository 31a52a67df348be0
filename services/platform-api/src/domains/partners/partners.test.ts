import { randomInt } from 'node:crypto';
import { parsePartnerReport, readTelemetryBatch, type TelemetryReport } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { ensureVehicle } from '../vehicles/use-cases.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let anyone: Client;
let token: string;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  anyone = harness.anonymous;
  token = await newToken({ name: 'Hub' });
});
afterAll(() => harness?.close());

const gps = '/api/devices/partner/pushgps';
const heartbeat = '/api/devices/partner/pushhb';
const newImei = (): string => `86${String(randomInt(10 ** 12)).padStart(13, '0')}`;

async function newToken(body: object, client = owner): Promise<string> {
  const made = await client.post('/api/partners', body);
  expect(made.status).toBe(201);
  return String(made.data['token']);
}

async function newDevice(client = owner): Promise<string> {
  const imei = newImei();
  expect((await client.post('/api/mining-devices', { imei })).status).toBe(201);
  return imei;
}

let second = 0;
const point = (deviceImei: string, more: object = {}) => {
  second += 1;
  const gpsTime = new Date(Date.now() - 3_600_000 + second * 1000).toISOString();
  return { deviceImei, lat: 22.577, lng: 113.916, gpsTime, ...more };
};

/** Returns all reports in the telemetry stream. */
async function stored(): Promise<TelemetryReport[]> {
  const manager = await harness.bus.jetstreamManager();
  const { state } = await manager.streams.info('TELEMETRY');
  const reports: TelemetryReport[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const message = await manager.streams.getMessage('TELEMETRY', { seq });
    reports.push(...readTelemetryBatch(message.data));
  }
  return reports;
}

const counts = (accepted: number, duplicates = 0, rejected: unknown[] = []) => ({
  status: 200,
  body: { code: 0, message: 'success', data: { accepted, duplicates, rejected } },
});

describe('pushgps', () => {
  it('stores accepted points in the telemetry stream and at the device before it responds', async () => {
    const imei = await newDevice();
    const item = point(imei, { gpsSpeed: 42, direction: 90, acc: 1, mileage: 1500 });
    expect(await anyone.post(gps, { token, msgType: 'gps', data_list: [item] })).toEqual(
      expect.objectContaining(counts(1)),
    );
    const [report] = (await stored()).filter(({ phone }) => phone.endsWith(imei));
    expect(report).toMatchObject({ edition: 'partner', messageId: 0x0200 });
    expect(report && parsePartnerReport(report)).toMatchObject({
      kind: 'position',
      accountId: harness.ours.accountId,
      position: { latitude: 22.577, speed: 42, ignition: true, odometerKm: 1.5, timestamp: Date.parse(item.gpsTime) },
    });
    const [device] = (await owner.post('/api/mining-devices/list', { query: imei })).items;
    expect(device).toMatchObject({ data_count: 1, last_location: { latitude: 22.577, speed: 42, source: 'partner' } });
  });

  it('accepts urlencoded and multipart forms, and the plain format', async () => {
    const imei = await newDevice();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const fields = (item: object) => ({ token, msgType: 'gps', data_list: JSON.stringify([item]) });
    const urlencoded = new URLSearchParams(fields(point(imei))).toString();
    expect(await anyone.post(gps, urlencoded, form)).toMatchObject(counts(1));
    const parts = Object.entries(fields(point(imei))).map(
      ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const multipart = { 'content-type': 'multipart/form-data; boundary=x' };
    expect(await anyone.post(gps, `${parts.join('')}--x--\r\n`, multipart)).toMatchObject(counts(1));
    const plain = { imei, latitude: 1, longitude: 2, timestamp: Date.now(), speed: 3, course: 4 };
    expect(await anyone.post(gps, { token, data: [plain] })).toMatchObject(counts(1));
  });

  it('counts points of the same device and time once, within a push and across pushes', async () => {
    const imei = await newDevice();
    const [one, other] = [point(imei), point(imei)];
    expect(await anyone.post(gps, { token, data_list: [one, one, other] })).toMatchObject(counts(2, 1));
    expect(await anyone.post(gps, { token, data_list: [one, point(imei)] })).toMatchObject(counts(1, 1));
    const [device] = (await owner.post('/api/mining-devices/list', { query: imei })).items;
    expect(device).toMatchObject({ data_count: 3 });
  });

  it('rejects invalid items and stores the others', async () => {
    const imei = await newDevice();
    const list = ['x', point(newImei()), point(imei), point(imei, { lat: 0, lng: 0 }), point(imei, { lat: 'north' })];
    expect(await anyone.post(gps, { token, data_list: list })).toMatchObject(
      counts(1, 0, [
        { index: 0, reason: 'the item must be an object' },
        { index: 1, reason: 'unknown device' },
        { index: 3, reason: expect.stringContaining('no position') },
        { index: 4, reason: 'lat must be a number' },
      ]),
    );
  });

  it("accepts only vehicles and mining devices of the partner's account", async () => {
    const { accountId, owner: user } = harness.ours;
    const imei = newImei();
    await ensureVehicle(harness.records, { accountId, ownerUserId: user.id, vehicleNo: `V${imei.slice(-6)}`, imei });
    expect(await anyone.post(gps, { token, data_list: [point(imei)] })).toMatchObject(counts(1));
    const theirs = await newDevice(harness.as(harness.theirs.owner));
    const ofTheirs = await newToken({ name: 'Their hub' }, harness.as(harness.theirs.owner));
    const unknown = [{ index: 0, reason: 'unknown device' }];
    expect(await anyone.post(gps, { token, data_list: [point(theirs)] })).toMatchObject(counts(0, 0, unknown));
    expect(await anyone.post(gps, { token: ofTheirs, data_list: [point(imei)] })).toMatchObject(counts(0, 0, unknown));
    const narrow = await newToken({ name: 'Narrow', imei_prefixes: ['99'] });
    expect(await anyone.post(gps, { token: narrow, data_list: [point(imei)] })).toMatchObject(counts(0, 0, unknown));
  });

  it.each([
    ['nothing', undefined],
    ['no items', {}],
    ['items that are not a list', { data_list: 'hello' }],
    ['an object instead of items', { data_list: {} }],
    ['501 items', { data_list: Array.from({ length: 501 }, () => ({})) }],
    ['broken JSON', '{"data_list": ['],
    ['a token that is not a string', { token: 7, data_list: [] }],
  ])('returns 400 with the code 1001 for %s', async (_case, body) => {
    const sent = typeof body === 'object' && !('token' in body) ? { token, ...body } : body;
    const response = await anyone.post(gps, sent);
    const status = body === undefined ? 401 : 400;
    expect(response).toMatchObject({ status, body: { code: status === 400 ? 1001 : 1004, status } });
  });

  it('accepts 500 items, and rejects bodies above 2 MiB', async () => {
    const list = Array.from({ length: 500 }, () => ({}));
    const response = await anyone.post(gps, { token, data_list: list });
    expect((response.body as { data: { rejected: unknown[] } }).data.rejected).toHaveLength(500);
    const large = await anyone.post(gps, { token, data_list: [], filling: 'x'.repeat(2 * 1024 * 1024) });
    expect(large).toMatchObject({ status: 413, body: { code: 1001 } });
  });

  it('returns 401 with the code 1004 without a valid token', async () => {
    for (const body of [{ data_list: [] }, { token: 'pt_wrong', data_list: [] }, { token: '', data_list: [] }])
      expect(await anyone.post(gps, body)).toMatchObject({ status: 401, body: { code: 1004, status: 401 } });
    const elsewhere = await newToken({ name: 'Elsewhere', ip_allowlist: ['203.0.113.0/24'] });
    expect(await anyone.post(gps, { token: elsewhere, data_list: [] })).toMatchObject({ status: 401 });
  });

  it('accepts the two platform headers if the key has the scope ingest', async () => {
    expect(await owner.post(gps, { data_list: [] })).toMatchObject({ status: 403, body: { code: 1004 } });
    const wrong = harness.with({ 'x-api-key': 'fk_wrong', authorization: 'Bearer x' });
    expect(await wrong.post(gps, { token, data_list: [] })).toMatchObject({ status: 401, body: { code: 1004 } });
  });
});

describe('pushhb', () => {
  it('stores each heartbeat in the stream once, and updates when the device was last seen', async () => {
    const imei = await newDevice();
    const item = { deviceImei: imei, gateTime: '2026-01-31 08:15:30', powerLevel: 80, acc: 1 };
    expect(await anyone.post(heartbeat, { token, data_list: [item, item] })).toMatchObject(counts(1, 1));
    expect(await anyone.post(heartbeat, { token, data_list: [item] })).toMatchObject(counts(0, 1));
    const [report] = (await stored()).filter(({ phone }) => phone.endsWith(imei));
    expect(report && parsePartnerReport(report)).toMatchObject({
      kind: 'heartbeat',
      heartbeat: { values: { acc: 1 } },
    });
    const [device] = (await owner.post('/api/mining-devices/list', { query: imei })).items;
    expect(device).toMatchObject({ data_count: 0, last_location: null, last_seen: expect.any(String) });
    const cleared = await owner.post('/api/mining-device/clear-database', { confirm: 'CLEAR', imei });
    expect(cleared.data).toMatchObject({ locations_deleted: 0, heartbeats_deleted: 1 });
  });
});

describe('partners', () => {
  it('are created, listed without their token, and deleted together with it', async () => {
    const made = await owner.post('/api/partners', { name: 'Gone soon' });
    const secret = String(made.data['token']);
    expect(secret).toMatch(/^pt_[\w-]{43}$/);
    const listed = await owner.get('/api/partners');
    expect(listed.items).toContainEqual(expect.objectContaining({ id: made.data.id, token_hint: secret.slice(-4) }));
    const one = `/api/partners/${made.data.id}`;
    expect(made.headers.get('location')).toBe(one);
    const read = await owner.get(one);
    expect(read).toMatchObject({ status: 200, data: { name: 'Gone soon', token_hint: secret.slice(-4) } });
    for (const { body } of [listed, read]) expect(JSON.stringify(body)).not.toContain(secret);
    expect(await anyone.post(gps, { token: secret, data_list: [] })).toMatchObject(counts(0));
    expect(await owner.delete(`/api/partners/${made.data.id}`)).toMatchObject({ status: 200 });
    expect(await anyone.post(gps, { token: secret, data_list: [] })).toMatchObject({ status: 401 });
    expect(await owner.delete(`/api/partners/${made.data.id}`)).toMatchObject({ status: 404 });
  });

  it('are managed by owners and admins of the account, and reject invalid input', async () => {
    const { data } = await owner.post('/api/partners', { name: 'Ours' });
    const stranger = harness.as(harness.theirs.owner);
    expect(await stranger.delete(`/api/partners/${data.id}`)).toMatchObject({ status: 404 });
    expect(await stranger.get(`/api/partners/${data.id}`)).toMatchObject({ status: 404 });
    expect((await stranger.get('/api/partners')).items.map(({ id }) => id)).not.toContain(data.id);
    expect(await harness.as(await harness.user('manager')).get('/api/partners')).toMatchObject({ status: 403 });
    for (const body of [{}, { name: '' }, { name: 'x', imei_prefixes: ['a'] }, { name: 'x', ip_allowlist: ['here'] }])
      expect([body, (await owner.post('/api/partners', body)).status]).toEqual([body, 400]);
  });
});

describe('PARTNER_AUTO_REGISTER', () => {
  it('records unknown devices as mining devices, but never those of another account', async () => {
    const open = await PlatformHarness.open({ PARTNER_AUTO_REGISTER: 'true' });
    try {
      const [client, stranger] = [open.as(open.ours.owner), open.as(open.theirs.owner)];
      const secret = await newToken({ name: 'Hub' }, client);
      const [fresh, theirs] = [newImei(), await newDevice(stranger)];
      const pushed = await open.anonymous.post(gps, { token: secret, data_list: [point(fresh), point(theirs)] });
      expect(pushed).toMatchObject(counts(1, 0, [{ index: 1, reason: 'unknown device' }]));
      const listed = await client.post('/api/mining-devices/list', { query: fresh });
      expect(listed.items).toMatchObject([{ imei: fresh, status: 'pending', data_count: 1 }]);
    } finally {
      await open.close();
    }
  });
});
