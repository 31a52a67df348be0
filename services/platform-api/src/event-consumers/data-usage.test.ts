import { randomUUID } from 'node:crypto';
import {
  type DataBudgetSpent,
  type DataUsageReported,
  dataBudgetSpent,
  dataUsageSubject,
  findDataLimit,
  request,
  subscribe,
} from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { removeOldUsage } from '../domains/data-usage/use-cases.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { newImei } from '../testing/fake-terminals.ts';
import { publishMediaStored, storedPicture } from '../testing/media-files.ts';
import { type Client, type Data, PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let api: Client;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api,websocket,telemetry' });
  api = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

interface TestVehicle {
  readonly id: number;
  readonly imei: string;
}

async function newVehicle(more: object = {}): Promise<TestVehicle> {
  const imei = newImei();
  count += 1;
  const made = await api.post('/api/vehicles', { vehicle_no: `DATA${count}`, imei, ...more });
  expect(made.status).toBe(201);
  // Its terminal was assigned long ago.
  const vehicles = harness.records.collection<Vehicle>('vehicles');
  await vehicles.updateOne({ _id: made.data.id }, { $set: { createdAt: new Date(0) } });
  return { id: made.data.id, imei };
}

type Span = DataUsageReported['spans'][number];
const report = async (span: Pick<Span, 'imei' | 'session'> & Partial<Span>, atMs = Date.now()): Promise<void> => {
  const spans = [{ channel: 1, kind: 'live' as const, fromBytes: 0, toBytes: 0, ...span }];
  await harness.bus.js.publish(dataUsageSubject('test'), JSON.stringify({ atMs, spans } satisfies DataUsageReported));
};
const usageOf = async (id: number, month = ''): Promise<Data> =>
  (await api.get(`/api/vehicles/${id}/data-usage${month === '' ? '' : `?month=${month}`}`)).data;
const waitForBytes = (id: number, bytes: number, month?: string): Promise<unknown> =>
  waitFor(async () => (await usageOf(id, month))['bytes'] === bytes, `${bytes} bytes`);

/** Waits until earlier reports have been counted. */
async function settled(): Promise<void> {
  const { id, imei } = await newVehicle();
  await report({ imei, session: randomUUID(), toBytes: 1 });
  await waitForBytes(id, 1);
}

describe('GET /api/vehicles/:vehicleId/data-usage', () => {
  it('is empty without any data', async () => {
    const { id } = await newVehicle({ timezone: 'UTC' });
    expect(await usageOf(id)).toEqual({
      vehicle_id: id,
      month: new Date().toISOString().slice(0, 7),
      bytes: 0,
      picture_bytes: 0,
      upload_bytes: 0,
      channels: [],
      budget: null,
    });
  });

  it('counts the spans of a stream once, whether repeated, late or overlapping', async () => {
    const { id, imei } = await newVehicle();
    const [session, other] = [randomUUID(), randomUUID()];
    await report({ imei, session, fromBytes: 500, toBytes: 900 });
    await report({ imei, session, fromBytes: 0, toBytes: 500 });
    await report({ imei, session, fromBytes: 0, toBytes: 500 });
    await report({ imei, session, fromBytes: 500, toBytes: 900 });
    await report({ imei, session: other, channel: 2, kind: 'playback', toBytes: 50 });
    await settled();
    expect(await usageOf(id)).toMatchObject({
      bytes: 950,
      channels: [
        { channel_id: 1, kind: 'live', bytes: 900 },
        { channel_id: 2, kind: 'playback', bytes: 50 },
      ],
    });
  });

  it('divides a stream at midnight of the time zone of the vehicle', async () => {
    const { id, imei } = await newVehicle({ timezone: 'Asia/Kolkata' });
    const session = randomUUID();
    await report({ imei, session, fromBytes: 0, toBytes: 100 }, Date.parse('2026-09-30T18:29:00Z'));
    await report({ imei, session, fromBytes: 100, toBytes: 130 }, Date.parse('2026-09-30T18:30:00Z'));
    await waitForBytes(id, 100, '2026-09');
    await waitForBytes(id, 30, '2026-10');
    expect((await api.get(`/api/vehicles/${id}/data-usage?month=2026-13`)).status).toBe(400);
  });

  it('counts pictures and uploads apart, and not what the platform recorded from a stream', async () => {
    const { id, imei } = await newVehicle();
    const picture = storedPicture(imei, 'test-pod');
    await publishMediaStored(harness, picture);
    await publishMediaStored(harness, picture, { again: true });
    await publishMediaStored(harness, storedPicture(imei, 'test-pod', { multimediaId: null, sizeBytes: 77 }));
    const upload = {
      uploadId: randomUUID().replaceAll('-', '').slice(0, 24),
      imei,
      channel: 1,
      status: 'failed',
      filesize: 400,
      filename: null,
      atMs: Date.now(),
    };
    for (let time = 0; time < 2; time += 1)
      await harness.bus.js.publish(`upload.${upload.uploadId}.closed`, JSON.stringify(upload));
    await waitFor(async () => (await usageOf(id))['upload_bytes'] === 400, 'the upload');
    await waitFor(async () => (await usageOf(id))['picture_bytes'] === 1_000, 'the picture');
    const media = () => api.get(`/api/vehicles/${id}/list-dashcam-media`);
    await waitFor(async () => (await media()).items.length === 2, 'both files');
    expect(await usageOf(id)).toMatchObject({ bytes: 0, picture_bytes: 1_000, upload_bytes: 400 });
  });

  it('is 404 for another account', async () => {
    const { id } = await newVehicle();
    const theirs = harness.as(harness.theirs.owner);
    expect((await theirs.get(`/api/vehicles/${id}/data-usage`)).status).toBe(404);
  });

  it('survives invalid reports, and deletes months after two years', async () => {
    const { id, imei } = await newVehicle();
    await harness.bus.js.publish(dataUsageSubject('test'), 'nothing');
    await report({ imei, session: 'not a session!' });
    await report({ imei, session: randomUUID(), toBytes: 10 }, Date.parse('2020-05-05T00:00:00Z'));
    await report({ imei, session: randomUUID(), toBytes: 20 });
    await waitForBytes(id, 20);
    await waitForBytes(id, 10, '2020-05');
    await removeOldUsage(harness.deps);
    expect([(await usageOf(id, '2020-05'))['bytes'], (await usageOf(id))['bytes']]).toEqual([0, 20]);
  });
});

describe('a data budget', () => {
  const setVideo = async (video: object): Promise<void> =>
    expect((await api.put('/api/user-preferences/me', { video })).status).toBe(200);
  const noticesOf = async (id: number): Promise<readonly Data[]> =>
    (await api.get(`/api/notifications?vehicle_id=${id}&type=data_budget`)).items;
  const limitOf = async (imei: string) => request(harness.bus, findDataLimit, { imei }, { timeoutMs: 10_000 });

  it('raises a notification at 80 and at 100 percent, once each a month', async () => {
    await setVideo({ data_budget_mb: 1, over_budget: 'notify' });
    const { id, imei } = await newVehicle();
    const session = randomUUID();
    await report({ imei, session, fromBytes: 0, toBytes: 799_999 });
    await settled();
    expect(await noticesOf(id)).toEqual([]);
    for (let time = 0; time < 2; time += 1) await report({ imei, session, fromBytes: 799_999, toBytes: 800_000 });
    await waitFor(async () => (await noticesOf(id)).length === 1, 'the first notification');
    await report({ imei, session, fromBytes: 800_000, toBytes: 1_000_000 });
    await waitFor(async () => (await noticesOf(id)).length === 2, 'the second notification');
    await report({ imei, session, fromBytes: 1_000_000, toBytes: 3_000_000 });
    await waitForBytes(id, 3_000_000);
    await settled();
    const attributes = (await noticesOf(id)).map((notice) => notice['attributes'] as Data);
    expect(attributes.map(({ percent, budget_bytes: bytes }) => [percent, bytes])).toEqual([
      [100, 1_000_000],
      [80, 1_000_000],
    ]);
    expect((await usageOf(id))['budget']).toEqual({ bytes: 1_000_000, used_percent: 300, over_budget: 'notify' });
    expect(await limitOf(imei)).toEqual({ limit: null, retryAfterSeconds: 0 });
  });

  it('limits running streams with each report, once it is spent, unless it only notifies', async () => {
    const spent: DataBudgetSpent[] = [];
    const onError = (error: unknown): void => {
      throw error;
    };
    const subscription = subscribe(harness.bus, dataBudgetSpent, onError, (event) => void spent.push(event));
    await harness.bus.flush();
    const { id, imei } = await newVehicle();
    const setLimit = (overBudget: string) =>
      setVideo({ vehicle_data_budgets: [{ vehicle_id: id, data_budget_mb: 1, over_budget: overBudget }] });
    const session = randomUUID();
    await setLimit('refuse');
    await report({ imei, session, toBytes: 999_999 });
    // Bytes of an earlier month limit nothing now.
    await report({ imei, session: randomUUID(), toBytes: 5_000_000 }, Date.parse('2026-05-05T00:00:00Z'));
    await settled();
    expect(spent).toEqual([]);
    await report({ imei, session, fromBytes: 999_999, toBytes: 1_000_000 });
    await report({ imei, session, fromBytes: 1_000_000, toBytes: 1_000_001 });
    await waitFor(() => spent.length === 2, 'two events');
    await setLimit('sub_stream');
    await report({ imei, session, fromBytes: 1_000_001, toBytes: 1_000_002 });
    await waitFor(() => spent.length === 3, 'the third event');
    await setLimit('notify');
    await report({ imei, session, fromBytes: 1_000_002, toBytes: 1_000_003 });
    await settled();
    subscription.stop();
    expect(spent).toEqual(['refuse', 'refuse', 'sub_stream'].map((limit) => ({ imei, limit })));
  });

  it('limits streams until it is raised, or the next month begins', async () => {
    const { id, imei } = await newVehicle();
    const budget = { vehicle_id: id, data_budget_mb: 1, over_budget: 'refuse' };
    await setVideo({ data_budget_mb: null, vehicle_data_budgets: [budget] });
    expect((await limitOf(imei)).limit).toBeNull();
    await report({ imei, session: randomUUID(), toBytes: 1_000_000 });
    await waitForBytes(id, 1_000_000);
    const { limit, retryAfterSeconds } = await limitOf(imei);
    expect(limit).toBe('refuse');
    expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(retryAfterSeconds).toBeLessThanOrEqual(31 * 86_400);
    await setVideo({ vehicle_data_budgets: [{ ...budget, over_budget: 'sub_stream' }] });
    expect((await limitOf(imei)).limit).toBe('sub_stream');
    await setVideo({ vehicle_data_budgets: [{ ...budget, data_budget_mb: 2 }] });
    expect((await limitOf(imei)).limit).toBeNull();
    expect((await limitOf(newImei())).limit).toBeNull();
  });
});
