import {
  appendPartnerReport,
  type PartnerReport,
  TelemetryBatch,
  telemetryPartition,
  telemetrySubject,
} from '@fleet/bus';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import { readLastLocations } from '../domains/last-positions/store.ts';
import { readPositions } from '../domains/positions/bucket-reader.ts';
import { createCheckSchedule, OnlineStatusStore } from '../event-consumers/online-status/online-status-store.ts';
import { newImei } from '../testing/fake-terminals.ts';
import { type Client, type Data, PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

const minuteMs = 60_000;
let redis: ServerProcess;
let harness: PlatformHarness;
let owner: Client;
let token: string;

beforeAll(async () => {
  // The schedule of online checks is one list in a Redis.
  redis = await (await ServerProcess.redis()).start();
  harness = await PlatformHarness.open({
    PLATFORM_ROLES: 'api,telemetry',
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
  });
  owner = harness.as(harness.ours.owner);
  token = String((await owner.post('/api/partners', { name: 'Hub' })).data['token']);
});
afterAll(async () => {
  await harness?.close();
  await redis?.remove();
});

interface Vehicle {
  readonly id: number;
  readonly imei: string;
}

async function newVehicle(client = owner): Promise<Vehicle> {
  const imei = newImei();
  const made = await client.post('/api/vehicles', { vehicle_no: `P${imei}`, imei });
  expect(made.status).toBe(201);
  return { id: made.data.id, imei };
}

/** Pushes items as a partner's server does. */
async function push(kind: 'pushgps' | 'pushhb', items: readonly object[], by = token): Promise<void> {
  const { status, body } = await harness.anonymous.post(`/api/devices/partner/${kind}`, {
    token: by,
    data_list: items,
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({ data: { accepted: items.length, rejected: [] } });
}

const notificationsOf = async ({ id }: Vehicle): Promise<readonly Data[]> =>
  (await owner.get(`/api/notifications?vehicle_id=${id}&limit=100`)).items;
/** Excludes the notification of night driving, which depends on the time of day. */
const typesOf = async (vehicle: Vehicle): Promise<unknown[]> =>
  (await notificationsOf(vehicle))
    .map(({ notification_type: type }) => type)
    .filter((type) => type !== 'night_driving');
const response = async ({ id }: Vehicle): Promise<Data> => (await owner.get(`/api/vehicles/${id}`)).data;
const lastOf = async ({ imei }: Vehicle): Promise<LastLocation | undefined> =>
  (await readLastLocations(harness.deps, [imei])).get(imei);

describe('pushes of partners', () => {
  it('update position, history and notifications of the vehicle', async () => {
    const vehicle = await newVehicle();
    const startMs = Math.floor(Date.now() / 1_000) * 1_000 - minuteMs;
    const at = (second: number, more: object) => ({
      deviceImei: vehicle.imei,
      lat: 48.1,
      lng: 11.5 + second / 10_000,
      gpsTime: new Date(startMs + second * 1_000).toISOString(),
      ...more,
    });
    await push('pushgps', [
      at(0, { acc: 0, mileage: 1_500 }),
      at(20, { acc: 1, gpsSpeed: 30, battery: 18, mileage: 1_700 }),
    ]);
    await waitFor(async () => (await typesOf(vehicle)).length === 2);
    // The position is written after its notifications.
    await waitFor(async () => (await lastOf(vehicle))?.timestamp === startMs + 20_000);
    const where = { location: { latitude: 48.1, longitude: 11.502 }, timestamp: startMs + 20_000, backfilled: false };
    const found = await notificationsOf(vehicle);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ notification_type: 'ignition_on', imei: vehicle.imei, ...where }),
        expect.objectContaining({ notification_type: 'low_battery', attributes: { battery_percent: 18 }, ...where }),
      ]),
    );
    expect(await response(vehicle)).toMatchObject({
      state: 'moving',
      odometer_km: 0.2,
      location: { source: 'partner', speed: 30, battery_percent: 18, odometer_km: 1.7, timestamp: startMs + 20_000 },
      device: { protocol: 'partner', connected: true },
    });
    const history = async () => (await owner.get(`/api/vehicles/${vehicle.id}/locations`)).items;
    await waitFor(async () => (await history()).length === 2);
    expect(await history()).toMatchObject([
      { source: 'partner', timestamp: startMs, ignition: false, gps_valid: true },
      { source: 'partner', timestamp: startMs + 20_000, ignition: true, longitude: 11.502 },
    ]);
  });

  it('raise low_battery once for heartbeats, which are no positions', async () => {
    const vehicle = await newVehicle();
    const startMs = Date.now() - minuteMs;
    const { imei: deviceImei } = vehicle;
    await push('pushgps', [{ deviceImei, lat: 48.1, lng: 11.5, gpsTime: startMs, acc: 0, mileage: 1_500 }]);
    const beat = (second: number, powerLevel: number) => ({
      deviceImei,
      gateTime: startMs + second * 1_000,
      powerLevel,
      voltage: 12.5,
      gsmSign: 3,
      acc: 0,
    });
    await push('pushhb', [beat(5, 30), beat(10, 19)]);
    await push('pushhb', [beat(15, 18), beat(20, 17)]);
    await waitFor(async () => (await lastOf(vehicle))?.batteryPercent === 17);
    expect(await typesOf(vehicle)).toEqual(['low_battery']);
    expect((await notificationsOf(vehicle))[0]).toMatchObject({
      timestamp: startMs + 10_000,
      location: { latitude: 48.1, longitude: 11.5 },
      attributes: { battery_percent: 19 },
    });
    const { location, device, odometer_km: odometer } = await response(vehicle);
    expect(location).toMatchObject({
      latitude: 48.1,
      battery_percent: 17,
      external_voltage: 12.5,
      signal: 3,
      ignition: false,
      odometer_km: 1.5,
      timestamp: startMs,
    });
    const receivedMs = (await lastOf(vehicle))?.heardAtMs ?? 0;
    expect(device).toMatchObject({ connected: true, last_seen: new Date(receivedMs).toISOString() });
    expect(odometer).toBe(0);
    // Written after them in the same partition.
    await push('pushgps', [{ deviceImei, lat: 48.1, lng: 11.5, gpsTime: startMs + 30_000, acc: 0 }]);
    const window = { fromMs: startMs - 1, toMs: startMs + minuteMs };
    const points = async (): Promise<number[]> => {
      const found: number[] = [];
      for await (const { position } of readPositions(harness.deps.database, vehicle.id, window))
        found.push(position.timestamp);
      return found;
    };
    await waitFor(async () => (await points()).includes(startMs + 30_000));
    expect(await points()).toEqual([startMs, startMs + 30_000]);
  });

  it('keep a device online by heartbeats, and not a silent one', async () => {
    const [living, silent] = [await newVehicle(), await newVehicle()];
    const longAgoMs = Date.now() - 30 * minuteMs;
    for (const { id: _id } of [living, silent])
      await harness.records.collection('vehicles').updateOne({ _id }, { $set: { createdAt: new Date(longAgoMs) } });
    const store = new OnlineStatusStore(harness.deps.redis);
    const isStored = async ({ imei }: Vehicle): Promise<boolean> => (await store.find(imei)) !== null;
    const position = { latitude: 48.1, longitude: 11.5, timestamp: longAgoMs, speed: 60, course: 0, altitude: null };
    const unknown = { satellites: null, odometerKm: null, batteryPercent: null, temperatureC: null, driver: null };
    // In one message: between two messages the device would have returned.
    const publish = async (imei: string, ...reports: (readonly [number, PartnerReport])[]): Promise<void> => {
      const batch = new TelemetryBatch();
      for (const [receivedAtMs, report] of reports) appendPartnerReport(batch, imei, receivedAtMs, report);
      const subject = telemetrySubject(telemetryPartition(imei, harness.deps.config.TELEMETRY_PARTITIONS));
      await harness.bus.js.publish(subject, batch.take());
    };
    const { accountId } = harness.ours;
    const moved = { ...position, ...unknown, ignition: false, backfilled: false };
    const first = [longAgoMs, { kind: 'position', accountId, position: moved }] as const;
    const nowMs = Date.now();
    const heartbeat = { timestamp: nowMs - 1_000, values: { powerLevel: 90 } };
    await publish(living.imei, first, [nowMs, { kind: 'heartbeat', accountId, heartbeat }]);
    await publish(silent.imei, first);
    await waitFor(async () => (await lastOf(living))?.heardAtMs === nowMs && (await lastOf(silent)) !== undefined);
    await waitFor(async () => (await isStored(living)) && (await isStored(silent)));
    for (const { imei } of [living, silent]) {
      await store.save(imei, { connected: true, isOffline: false, seenMs: longAgoMs });
      await createCheckSchedule(harness.deps.redis).schedule(imei, 0);
    }
    await waitFor(async () => (await typesOf(silent)).includes('device_offline'));
    await waitFor(async () => (await store.find(living.imei))?.seenMs === nowMs);
    expect(await typesOf(living)).toEqual([]);
    expect(await response(living)).toMatchObject({
      state: 'stopped',
      device: { connected: true, last_seen: new Date(nowMs).toISOString() },
    });
    expect(await response(silent)).toMatchObject({ state: 'offline', device: { connected: false } });
  });

  it("of one account do not affect another account's vehicle with the number", async () => {
    const theirs = harness.as(harness.theirs.owner);
    const vehicle = await newVehicle();
    expect((await theirs.post('/api/mining-devices', { imei: vehicle.imei })).status).toBe(201);
    const theirToken = String((await theirs.post('/api/partners', { name: 'Other hub' })).data['token']);
    const { imei: deviceImei } = vehicle;
    const gpsTime = Date.now() - minuteMs;
    await push('pushgps', [{ deviceImei, lat: 1, lng: 2, gpsTime }], theirToken);
    await push('pushhb', [{ deviceImei, gateTime: gpsTime, powerLevel: 5 }], theirToken);
    await push('pushgps', [{ deviceImei, lat: 48.1, lng: 11.5, gpsTime: gpsTime + 1_000 }]);
    await waitFor(async () => (await lastOf(vehicle)) !== undefined);
    expect(await lastOf(vehicle)).toMatchObject({ latitude: 48.1, batteryPercent: null });
    expect(await typesOf(vehicle)).toEqual([]);
  });
});
