import { createHash, randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  authorizePartnerCommand,
  callUseCase,
  type DeviceCommand,
  findDevice,
  findPartnerChannel,
  queuePartnerCommand,
  request,
  sendPartnerCommand,
  verifyPartner,
} from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { computeTotpCode } from '../../testing/totp-code.ts';
import { toTotpStep } from '../auth/totp.ts';
import type { Partner } from './schema.ts';

jest.setTimeout(60_000);

const gps = '/api/devices/partner/pushgps';
const command: DeviceCommand = { kind: 'sendText', text: 'Hello', textType: null, options: null };
const options = { timeoutMs: 10_000 };
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

let harness: PlatformHarness;
let owner: Client;
let hub: Server;
let hubUrl: string;
let forms: Record<string, string>[] = [];
let hubResponse: unknown = { code: 0 };

beforeAll(async () => {
  hub = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      forms.push(Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())));
      response.end(JSON.stringify(hubResponse));
    });
  });
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  hubUrl = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  harness = await PlatformHarness.open({
    PARTNER_COMMAND_ALLOW_HTTP: 'true',
    PARTNER_COMMAND_ALLOWED_CIDRS: '127.0.0.0/8',
    PARTNER_COMMAND_URL: `${hubUrl}/default`,
    PARTNER_COMMAND_TOKEN: 'default-token',
    COMMAND_POLL_MS: '50',
  });
  owner = harness.as(harness.ours.owner);
});
afterAll(async () => {
  await harness?.close();
  hub.closeAllConnections();
  await new Promise((resolve) => hub.close(resolve));
});

const newImei = (): string => `869${String(randomInt(10 ** 12)).padStart(12, '0')}`;

async function partner(body: object, client = owner): Promise<Data> {
  const made = await client.post('/api/partners', { name: 'Hub', ...body });
  expect(made).toMatchObject({ status: 201 });
  return made.data;
}

async function vehicle(imei: string, client = owner): Promise<Data> {
  const made = await client.post('/api/vehicles', { vehicle_no: `P ${imei.slice(-8)}`, imei });
  expect(made).toMatchObject({ status: 201 });
  return made.data;
}

const point = (deviceImei: string) => ({ deviceImei, lat: 22.5, lng: 114, gpsTime: new Date().toISOString() });

async function pushed(imei: string, token: string): Promise<void> {
  expect(await harness.anonymous.post(gps, { token, data_list: [point(imei)] })).toMatchObject({
    body: { data: { accepted: 1 } },
  });
}

const sendCommand = (imei: string) => request(harness.bus, sendPartnerCommand, { imei, command }, options);
const has = async (imei: string) => (await request(harness.bus, findPartnerChannel, { imei }, options)).hasChannel;
const formsOf = (imei: string) => forms.filter(({ deviceImei }) => deviceImei === imei);

describe('command server of a partner', () => {
  it('is stored with the partner; its token is sealed and never returned', async () => {
    const made = await partner({ command_url: `${hubUrl}/own`, command_token: 'my-hub-token' });
    expect(made).toMatchObject({ command_url: `${hubUrl}/own`, has_command_token: true });
    const listed = await owner.get('/api/partners');
    expect(listed.items.find(({ id }) => id === made.id)).toMatchObject({ has_command_token: true });
    expect(JSON.stringify([made, listed.body])).not.toContain('my-hub-token');
    const stored = await harness.deps.database.collection('partners').findOne({ _id: made.id } as object);
    expect(JSON.stringify(stored)).not.toContain('my-hub-token');
    expect(await partner({})).toMatchObject({ command_url: null, has_command_token: false });
  });

  it.each([
    [{ command_url: 'http://10.0.0.1' }, '/command_url'],
    [{ command_url: 'https://169.254.169.254' }, '/command_url'],
    [{ command_url: 'https://hub.invalid' }, '/command_url'],
    [{ command_url: 'ftp://93.184.216.34' }, '/command_url'],
    [{ command_url: 'https://93.184.216.34/?x=1' }, '/command_url'],
    [{ command_url: 'https://user:password@93.184.216.34' }, '/command_url'],
    [{ command_token: 'alone' }, '/command_token'],
  ])('is rejected as %j', async (body, path) => {
    expect(await owner.post('/api/partners', { name: 'Hub', ...body })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', details: [{ path }] },
    });
  });

  it('changes with the record, and no address receives the token of another one', async () => {
    const { id, token } = await partner({ command_url: `${hubUrl}/own`, command_token: 'my-hub-token' });
    const imei = newImei();
    await vehicle(imei);
    await pushed(imei, String(token));
    const change = (body: object) => owner.put(`/api/partners/${id}`, body);
    expect(await change({ name: 'Renamed', ip_allowlist: ['127.0.0.0/8'] })).toMatchObject({
      status: 200,
      data: { name: 'Renamed', command_url: `${hubUrl}/own`, has_command_token: true, version: 2 },
    });
    expect(await sendCommand(imei)).toMatchObject({ kind: 'answered' });
    expect((await change({ command_url: `${hubUrl}/moved` })).data).toMatchObject({ has_command_token: false });
    await sendCommand(imei);
    expect((await change({ command_token: 'another-token' })).data).toMatchObject({ has_command_token: true });
    await sendCommand(imei);
    expect((await change({ command_url: null })).data).toMatchObject({ command_url: null, has_command_token: false });
    await sendCommand(imei);
    expect(formsOf(imei).map((form) => form['token'])).toEqual(['my-hub-token', '', 'another-token', 'default-token']);
    expect(await change({ command_token: 'alone' })).toMatchObject({ status: 400 });
    expect(await change({ command_url: 'http://10.0.0.1' })).toMatchObject({ status: 400 });
    expect(await harness.anonymous.post(gps, { token, data_list: [] })).toMatchObject({ status: 200 });
    const stranger = harness.as(harness.theirs.owner);
    expect(await stranger.put(`/api/partners/${id}`, { name: 'Mine' })).toMatchObject({ status: 404 });
  });

  it('receives the commands of devices that the partner reported', async () => {
    const { token } = await partner({ command_url: `${hubUrl}/own`, command_token: 'my-hub-token' });
    const imei = newImei();
    await vehicle(imei);
    expect(await sendCommand(imei)).toEqual({ kind: 'noPartner' });
    expect(await has(imei)).toBe(false);
    await pushed(imei, String(token));
    expect(await sendCommand(imei)).toMatchObject({ kind: 'answered' });
    expect(formsOf(imei)).toEqual([
      expect.objectContaining({ token: 'my-hub-token', proNo: '33536', cmdContent: 'Hello' }),
    ]);
    expect(await has(imei)).toBe(true);
    hubResponse = { code: 300 };
    expect(await sendCommand(imei)).toEqual({ kind: 'notConnected' });
    hubResponse = { code: 0 };
  });

  it('defaults to the server of the installation, also for pushes with the account headers', async () => {
    const { token } = await partner({});
    const [first, second] = [newImei(), newImei()];
    await vehicle(first);
    expect(await owner.post('/api/mining-devices', { imei: second })).toMatchObject({ status: 201 });
    await pushed(first, String(token));
    const key = await owner.post('/api/api-keys', { name: 'ingest', scopes: ['ingest'] });
    expect(key).toMatchObject({ status: 201 });
    const ingest = harness.as({ ...harness.ours.owner, apiKey: String(key.data['key']) });
    const own = await ingest.post(gps, { data_list: [point(second)] });
    expect(own).toMatchObject({ status: 200, body: { data: { accepted: 1 } } });
    for (const imei of [first, second]) {
      expect(await sendCommand(imei)).toMatchObject({ kind: 'answered' });
      expect(formsOf(imei)).toEqual([expect.objectContaining({ token: 'default-token' })]);
    }
    expect(await sendCommand(newImei())).toEqual({ kind: 'noPartner' });
  });

  it('leaves the Device API of a mining device to the API keys of its account', async () => {
    const imei = newImei();
    expect(await owner.post('/api/mining-devices', { imei })).toMatchObject({ status: 201 });
    const found = await request(harness.bus, findDevice, { imei }, options);
    expect(found).toMatchObject({ known: false, accountId: harness.ours.accountId });
    expect(await request(harness.bus, findDevice, { imei: newImei() }, options)).toMatchObject({ accountId: null });
  });

  it('commands no device of another account, even if the partner has a mining device with the same number', async () => {
    const stranger = harness.as(harness.theirs.owner);
    const theirs = await partner({ command_url: `${hubUrl}/theirs` }, stranger);
    const imei = newImei();
    await vehicle(imei);
    expect(await stranger.post('/api/mining-devices', { imei })).toMatchObject({ status: 201 });
    await pushed(imei, String(theirs['token']));
    expect(await sendCommand(imei)).toEqual({ kind: 'noPartner' });
    expect(formsOf(imei)).toEqual([]);
  });

  it('is found for its devices in short and in long lists of numbers', async () => {
    const made = await partner({ command_url: `${hubUrl}/many`, command_token: 't' });
    const imeis = [newImei(), newImei()];
    for (const imei of imeis) {
      await vehicle(imei);
      await pushed(imei, String(made['token']));
    }
    for (const others of [1, 100]) {
      const all = [...imeis, ...Array.from({ length: others }, newImei)];
      const reachable = await harness.deps.partnerChannels.filterReachable(all);
      expect([others, [...reachable].toSorted()]).toEqual([others, imeis.toSorted()]);
    }
  });

  it('receives the commands that wait in the queue', async () => {
    const { token } = await partner({ command_url: hubUrl });
    const imei = newImei();
    const { id } = await vehicle(imei);
    await pushed(imei, String(token));
    const params = { parameters: [{ id: 1, value: 30 }] };
    const made = await owner.post(`/api/vehicles/${id}/commands`, { type: 'set_parameters', params });
    expect(made).toMatchObject({ status: 202 });
    const path = `/api/vehicles/${id}/commands/${String(made.data['command_id'])}`;
    await waitFor(async () => (await owner.get(path)).data['status'] === 'acknowledged');
    expect(formsOf(imei)).toEqual([expect.objectContaining({ proNo: '33027', cmdContent: '{"1":"30"}' })]);
  });
});

describe('partner that commands terminals', () => {
  const verify = (token: string, address = '192.0.2.1') =>
    request(harness.bus, verifyPartner, { tokenSha256: hash(token), address }, options);
  const admit = (partnerId: number, imei: string, accountId = harness.ours.accountId, isCritical = false) =>
    request(
      harness.bus,
      authorizePartnerCommand,
      { partnerId, accountId, imei, proNo: 33_536, address: '192.0.2.1', isCritical },
      options,
    );

  it('is identified by its token, from allowed addresses only', async () => {
    const { id, token } = await partner({ ip_allowlist: ['192.0.2.0/24'] });
    const known = { valid: true, partnerId: id, accountId: harness.ours.accountId };
    expect(await verify(String(token))).toEqual(known);
    expect(await verify(String(token), '198.51.100.1')).toEqual({ valid: false });
    expect(await verify('pt_wrong')).toEqual({ valid: false });
    await owner.delete(`/api/partners/${id}`);
    expect(await verify(String(token))).toEqual({ valid: false });
  });

  it('commands only devices of its account whose numbers have an allowed prefix', async () => {
    const any = await partner({});
    const narrow = await partner({ imei_prefixes: ['8601'] });
    const [imei, mining, theirs] = ['860112070347838', newImei(), newImei()];
    await vehicle(imei);
    await owner.post('/api/mining-devices', { imei: mining });
    await vehicle(theirs, harness.as(harness.theirs.owner));
    expect(await admit(any.id, imei)).toEqual({ isAdmitted: true });
    expect(await admit(any.id, mining)).toEqual({ isAdmitted: true });
    expect(await admit(narrow.id, imei)).toEqual({ isAdmitted: true });
    expect(await admit(narrow.id, mining)).toEqual({ isAdmitted: false });
    expect(await admit(any.id, theirs)).toEqual({ isAdmitted: false });
    expect(await admit(any.id, theirs, harness.theirs.accountId)).toEqual({ isAdmitted: false });
    expect(await admit(any.id, newImei())).toEqual({ isAdmitted: false });
    const noted = await owner.get('/api/audit-log?action=partners.command&limit=200');
    expect(noted.items).toContainEqual(
      expect.objectContaining({
        target: { type: 'partners', id: narrow.id },
        detail: { imei, pro_no: 33_536 },
        ip: '192.0.2.1',
      }),
    );
  });

  it('queues commands for unconnected devices with their vehicle', async () => {
    const { id: partnerId } = await partner({});
    const [imei, mining] = [newImei(), newImei()];
    const { id } = await vehicle(imei);
    await owner.post('/api/mining-devices', { imei: mining });
    const who = { partnerId, accountId: harness.ours.accountId, address: '192.0.2.1' };
    const wanted = { type: 'text', params: { text: 'Hello' } };
    const { commandId } = await callUseCase(harness.bus, queuePartnerCommand, { ...who, imei, ...wanted }, options);
    expect((await owner.get(`/api/vehicles/${id}/commands/${commandId}`)).data).toMatchObject({
      type: 'text',
      status: 'queued',
      params: { text: 'Hello' },
    });
    // Only vehicles have a queue.
    expect(await callUseCase(harness.bus, queuePartnerCommand, { ...who, imei: mining, ...wanted }, options)).toEqual({
      commandId: null,
    });
    const bad = { ...who, imei, type: 'text', params: {} };
    await expect(callUseCase(harness.bus, queuePartnerCommand, bad, options)).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });

  const refused = { isAdmitted: false, isAboveLevel: true };
  const sent = { isAdmitted: true };

  it.each([
    ['none', refused, refused],
    ['standard', sent, refused],
    ['critical', sent, sent],
  ])('is admitted according to its level %s, which the audit log records', async (level, standard, critical) => {
    const { id } = await partner({ command_level: level });
    const imei = newImei();
    await vehicle(imei);
    const { accountId } = harness.ours;
    expect(await admit(id, imei)).toEqual(standard);
    expect(await admit(id, imei, accountId, true)).toEqual(critical);
    const { items } = await owner.get('/api/audit-log?limit=200');
    const isOfDevice = ({ detail }: Data): boolean => (detail as { imei?: string }).imei === imei;
    const recorded = items.filter((entry) => String(entry['action']).startsWith('partners.') && isOfDevice(entry));
    const actionOf = ({ isAdmitted }: { isAdmitted: boolean }) =>
      isAdmitted ? 'partners.command' : 'partners.command_refused';
    // The list begins with the newest entry.
    expect(recorded.map(({ action }) => action)).toEqual([actionOf(critical), actionOf(standard)]);
  });

  it('may not send a critical command if device-api does not classify the command', async () => {
    const { id: partnerId } = await partner({});
    const imei = newImei();
    await vehicle(imei);
    const unclassified = { partnerId, accountId: harness.ours.accountId, imei, proNo: 33_536, address: '192.0.2.1' };
    expect(await request(harness.bus, authorizePartnerCommand, unclassified, options)).toEqual(refused);
  });

  const waiting: [type: string, params: Record<string, unknown>, isCritical: boolean][] = [
    ['text', { text: 'Hello' }, false],
    ['text', { text: 'RESET#' }, true],
    ['control', { command: 4 }, false],
    ['control', { command: 5 }, true],
    ['set_parameters', { parameters: [{ id: 1, value: 30 }] }, false],
    ['set_parameters', { parameters: [{ id: 0x13, value: 'evil.example' }] }, true],
    ['raw', { message_id: '0x8105', body_hex: '05' }, true],
    ['capture', { channel: 1 }, false],
  ];

  it.each(waiting)('queues %s %j according to its level', async (type, params, isCritical) => {
    const imei = newImei();
    const { id: vehicleId } = await vehicle(imei);
    const queue = async (level: string): Promise<unknown> => {
      const { id: partnerId } = await partner({ command_level: level });
      const who = { partnerId, accountId: harness.ours.accountId, address: '192.0.2.1' };
      const wanted = { ...who, imei, type, params };
      return callUseCase(harness.bus, queuePartnerCommand, wanted, options).then(
        () => 'queued',
        (error: { code?: string }) => error.code,
      );
    };
    expect(await queue('none')).toBe('permission_denied');
    expect(await queue('standard')).toBe(isCritical ? 'permission_denied' : 'queued');
    expect(await queue('critical')).toBe('queued');
    const { items } = await owner.get(`/api/vehicles/${vehicleId}/commands`);
    expect(items).toHaveLength(isCritical ? 1 : 2);
  });

  it.each(['lowered', 'deleted'])('has its queued commands canceled once it is %s', async (change) => {
    const made = await partner({ command_level: 'critical', command_url: `${hubUrl}/waiting` });
    const imei = newImei();
    const { id: vehicleId } = await vehicle(imei);
    const who = { partnerId: made.id, accountId: harness.ours.accountId, address: '192.0.2.1' };
    const reset = { type: 'control', params: { command: 5 } };
    const { commandId } = await callUseCase(harness.bus, queuePartnerCommand, { ...who, imei, ...reset }, options);
    const path = `/api/vehicles/${vehicleId}/commands/${commandId}`;
    expect((await owner.get(path)).data).toMatchObject({ status: 'queued' });
    if (change === 'lowered') await owner.put(`/api/partners/${made.id}`, { command_level: 'standard' });
    else await owner.delete(`/api/partners/${made.id}`);
    // From here on, the device is reachable through a partner's server.
    await pushed(imei, String((await partner({ command_url: `${hubUrl}/reached` }))['token']));
    await waitFor(async () => (await owner.get(path)).data['status'] === 'canceled');
    expect(formsOf(imei)).toEqual([]);
  });
});

describe('command level of a partner', () => {
  it('defaults to standard, also for records stored before levels existed', async () => {
    const made = await partner({});
    expect(made).toMatchObject({ command_level: 'standard' });
    const records = harness.deps.database.collection<Partner>('partners');
    await records.updateOne({ _id: made.id }, { $unset: { commandLevel: '' } });
    expect((await owner.get(`/api/partners/${made.id}`)).data).toMatchObject({ command_level: 'standard' });
  });

  it('is changed only by an owner', async () => {
    const admin = harness.as(await harness.user('admin'));
    const { id } = await partner({});
    const path = `/api/partners/${id}`;
    const denied = { status: 403, body: { code: 'permission_denied' } };
    for (const level of ['none', 'critical']) {
      expect(await admin.put(path, { command_level: level })).toMatchObject(denied);
      expect(await admin.post('/api/partners', { name: 'Hub', command_level: level })).toMatchObject(denied);
    }
    expect(await admin.put(path, { name: 'Renamed', command_level: 'standard' })).toMatchObject({ status: 200 });
    expect(await owner.put(path, { command_level: 'everything' })).toMatchObject({ status: 400 });
    expect((await owner.put(path, { command_level: 'critical' })).data).toMatchObject({ command_level: 'critical' });
    expect((await admin.put(path, { name: 'Again' })).data).toMatchObject({ command_level: 'critical' });
    const { items } = await owner.get('/api/audit-log?action=partners.update&limit=200');
    expect(items).toContainEqual(
      expect.objectContaining({ target: { type: 'partners', id }, detail: { command_level: 'critical' } }),
    );
  });

  it('requires the second factor of an owner who has one', async () => {
    const careful = await harness.user('owner');
    const client = harness.as(careful);
    const prepared = await client.post('/api/auth/totp');
    const secret = String(prepared.data['secret']);
    // The code of the previous step is valid until this step ends.
    await waitFor(() => Date.now() % 30_000 < 20_000);
    const step = toTotpStep(new Date());
    expect(await client.post('/api/auth/totp', { code: computeTotpCode(secret, step - 1) })).toMatchObject({
      status: 200,
    });
    const { id } = await partner({});
    const change = (more: object) => client.put(`/api/partners/${id}`, { command_level: 'critical', ...more });
    const required = { status: 401, body: { code: 'two_factor_required' } };
    expect(await change({})).toMatchObject(required);
    expect(await change({ code: '000000' })).toMatchObject(required);
    expect(await client.post('/api/partners', { name: 'Hub', command_level: 'none' })).toMatchObject(required);
    expect((await owner.get(`/api/partners/${id}`)).data).toMatchObject({ command_level: 'standard' });
    expect(await client.put(`/api/partners/${id}`, { name: 'Renamed' })).toMatchObject({ status: 200 });
    expect((await change({ code: computeTotpCode(secret, step) })).data).toMatchObject({ command_level: 'critical' });
  });
});
