import { publish, sessionChanged, TelemetryBatch, telemetryPartition, telemetrySubject } from '@fleet/bus';
import {
  additionalItemDefinitions,
  createAdditionalItem,
  type Edition,
  encodeBody,
  type LocationReport,
  locationBatch,
  locationReport,
} from '@fleet/jt808';
import { createLogger } from '@fleet/service-kit';
import { RedisCluster, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { create, type PlatformApi } from '../assembly/service.ts';
import { readLastLocations } from '../domains/last-positions/store.ts';
import { readPositions } from '../domains/positions/bucket-reader.ts';
import { readStates } from '../domains/vehicle-states/queries.ts';
import type { AttachmentRequest } from '../event-consumers/attachment-request-store.ts';
import { OnlineStatusStore } from '../event-consumers/online-status/online-status-store.ts';
import { FakeTerminals, newImei } from '../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../testing/last-location.ts';
import { LiveEventRecorder } from '../testing/live-event-recorder.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { OffsetStore } from './offset-store.ts';

jest.setTimeout(180_000);

const partitions = 3;
const silent = createLogger('telemetry-test', process.env['TEST_LOG_LEVEL'] ?? 'silent');
let redis: RedisCluster;
let harness: PlatformHarness;
let second: PlatformApi;

beforeAll(async () => {
  // Refuses commands with keys of several slots.
  redis = await RedisCluster.start();
  harness = await PlatformHarness.open({
    PLATFORM_ROLES: 'api,telemetry',
    TELEMETRY_PARTITIONS: String(partitions),
    REDIS_URL: redis.url,
  });
  second = await create({ ...harness.deps.config, PLATFORM_ROLES: 'telemetry' }, { log: silent });
});
afterAll(async () => {
  await second.stop();
  await harness.close();
  await redis.remove();
});

interface Vehicle {
  readonly id: number;
  readonly imei: string;
}

async function newVehicle(): Promise<Vehicle> {
  const imei = newImei();
  const made = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `T${imei}`, imei });
  expect(made.status).toBe(201);
  return { id: made.data.id, imei };
}

/** A full second of device time within this hour. */
const startMs = Math.floor(Date.now() / 1_000) * 1_000 - 600_000;
const cameraTime = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19);

const location = (atMs: number, more: Partial<LocationReport> = {}): LocationReport => ({
  alarm: 0,
  status: 0b11,
  latitudeDeg: 22.5431,
  longitudeDeg: 114.0579,
  altitudeM: 20,
  speedKmh: 30,
  directionDeg: 90,
  time: cameraTime(atMs),
  extras: [],
  ...more,
});

/** Publishes reports of a terminal as the gateway does. */
async function report(imei: string, locations: readonly LocationReport[], edition: Edition = '2013'): Promise<void> {
  const batch = new TelemetryBatch();
  for (const each of locations)
    batch.append(1, Buffer.from(imei, 'hex'), 0x0200, 7, Date.now(), encodeBody(locationReport, each, edition));
  await publishBatch(imei, batch.take());
}
async function publishBatch(imei: string, payload: Uint8Array): Promise<void> {
  await harness.bus.js.publish(telemetrySubject(telemetryPartition(imei, partitions)), payload);
}

const notificationsOf = async ({ id }: Vehicle): Promise<{ notification_type: string; attributes: object }[]> => {
  const { body } = await harness.as(harness.ours.owner).get(`/api/notifications?vehicle_id=${id}&limit=100`);
  return (body as { data: { notification_type: string; attributes: object }[] }).data;
};
const typesOf = async (vehicle: Vehicle): Promise<string[]> =>
  (await notificationsOf(vehicle)).map(({ notification_type: type }) => type).toSorted();

const appliedOffset = (partition: number) => new OffsetStore(harness.deps, partition).readApplied();

/** Waits until all earlier messages have been applied, by publishing an empty batch to each partition. */
async function applied(): Promise<void> {
  const marks = await Promise.all(
    Array.from({ length: partitions }, (_unused, partition) =>
      harness.bus.js.publish(telemetrySubject(partition), new TelemetryBatch().take()),
    ),
  );
  await waitFor(async () => {
    const offsets = await Promise.all(marks.map((_mark, partition) => appliedOffset(partition)));
    return offsets.every((offset, at) => (offset?.seq ?? 0) >= (marks[at]?.seq ?? 0));
  });
}

describe('telemetry', () => {
  it('updates last position, state, history and notifications of a vehicle', async () => {
    const vehicle = await newVehicle();
    await report(vehicle.imei, [location(startMs), location(startMs + 1_000, { alarm: 1, speedKmh: 61.5 })]);
    await applied();
    const response = await harness.as(harness.ours.owner).get(`/api/vehicles/${vehicle.id}`);
    expect(response.data).toMatchObject({
      state: 'moving',
      location: { latitude: 22.5431, speed: 61.5, alarms: ['sos'], timestamp: startMs + 1_000, source: 'jt808' },
    });
    expect(await typesOf(vehicle)).toContain('sos');
    const speeds = async (): Promise<number[]> => {
      const found: number[] = [];
      const window = { fromMs: startMs - 1, toMs: startMs + 10_000 };
      for await (const { position } of readPositions(harness.deps.database, vehicle.id, window))
        found.push(position.speed);
      return found;
    };
    await waitFor(async () => (await speeds()).length === 2);
    expect(await speeds()).toEqual([30, 61.5]);
  });

  it('restarts the mileage count of a terminal that was removed and assigned again', async () => {
    const vehicle = await newVehicle();
    const owner = harness.as(harness.ours.owner);
    const at = (seconds: number, km: number): LocationReport =>
      location(startMs + seconds * 1_000, {
        extras: [createAdditionalItem(additionalItemDefinitions.mileage, { mileageKm: 100 + km })],
      });
    const odometer = async (): Promise<unknown> => (await owner.get(`/api/vehicles/${vehicle.id}`)).data['odometer_km'];
    await report(vehicle.imei, [at(0, 0), at(60, 1)]);
    await applied();
    expect(await odometer()).toBe(1);
    await owner.put(`/api/vehicles/${vehicle.id}`, { imei: null });
    expect((await owner.put(`/api/vehicles/${vehicle.id}`, { imei: vehicle.imei })).data['odometer_km']).toBe(1);
    // Both replicas have received the change by then.
    await waitFor(async () => {
      await report(vehicle.imei, [at(120, 2)]);
      await applied();
      const state = (await readStates(harness.deps, harness.deps.database, [vehicle.imei])).get(vehicle.imei);
      return state?.terminalSinceMs !== undefined;
    });
    expect(await odometer()).toBe(1);
    await report(vehicle.imei, [at(180, 3)]);
    await applied();
    expect(await odometer()).toBe(2);
  });

  it('requests the files of an alarm before it completes the report', async () => {
    const vehicle = await newVehicle();
    const tag = {
      terminalId: '0000001',
      time: cameraTime(startMs),
      seq: 0,
      attachmentCount: 2,
      reserved: Buffer.alloc(1),
    };
    const place = { speedKmh: 40, altitudeM: 10, latitudeDeg: 22.6, longitudeDeg: 114.1, vehicleStatus: 0 };
    const item = { alarmId: 1, flag: 0, type: 1, level: 1, fatigueLevel: 3, reserved: Buffer.alloc(4) };
    const time = cameraTime(startMs);
    const alarm = createAdditionalItem(additionalItemDefinitions.dsmAlarm, { ...item, ...place, time, tag });
    await report(vehicle.imei, [location(startMs, { extras: [alarm] })]);
    const requests = harness.deps.database.collection<AttachmentRequest>('attachment_requests');
    const found = async () => (await requests.find({ vehicleId: vehicle.id }).toArray())[0];
    await waitFor(async () => (await found()) !== undefined);
    const [notification] = (
      await harness.as(harness.ours.owner).get(`/api/notifications?vehicle_id=${vehicle.id}&type=dsm_fatigue`)
    ).items;
    expect(await found()).toMatchObject({
      imei: vehicle.imei,
      accountId: harness.ours.accountId,
      notificationId: notification?.id,
      count: 2,
      atMs: startMs,
    });
    expect((await found())?.tagHex).toHaveLength(32);
  });

  it('counts a long batch of late reports once when it is repeated immediately', async () => {
    const vehicle = await newVehicle();
    const place = { speedKmh: 40, altitudeM: 10, latitudeDeg: 22.6, longitudeDeg: 114.1, vehicleStatus: 0 };
    const item = { alarmId: 1, flag: 0, type: 2, level: 1, fatigueLevel: 3, reserved: Buffer.alloc(4) };
    const time = cameraTime(startMs);
    const tag = { terminalId: '0000001', time, seq: 0, attachmentCount: 0, reserved: Buffer.alloc(1) };
    const alarm = createAdditionalItem(additionalItemDefinitions.dsmAlarm, { ...item, ...place, time, tag });
    await report(vehicle.imei, [location(startMs + 60_000)]);
    const late = Array.from({ length: 40 }, (_unused, at) =>
      location(startMs + at * 1_000, at === 0 ? { extras: [alarm] } : {}),
    );
    await report(vehicle.imei, late);
    await report(vehicle.imei, late);
    // The repetition may also be in one message.
    await report(vehicle.imei, [...late, ...late]);
    await applied();
    const raised = (await notificationsOf(vehicle)).filter(({ notification_type: type }) => type === 'dsm_phone');
    expect(raised).toMatchObject([{ attributes: { alarm_id: 1 } }]);
    expect(raised[0]?.attributes).not.toHaveProperty('count');
  });

  it.each([
    ['stands', 0, 'stopped'],
    ['moves', 50, 'moving'],
  ])('publishes one status change for a terminal that returns and %s', async (_case, speedKmh, state) => {
    const vehicle = await newVehicle();
    const terminals = new FakeTerminals(harness.deps);
    const ear = new LiveEventRecorder(harness);
    const longAgoMs = Date.now() - 3_600_000;
    const before = { ...lastLocationAt(vehicle.imei, 22.5, 114.1), timestamp: longAgoMs, serverTimestamp: longAgoMs };
    await writeLastLocation(harness.deps, before);
    await new OnlineStatusStore(harness.deps.redis).save(vehicle.imei, {
      connected: false,
      isOffline: true,
      seenMs: longAgoMs,
    });
    await terminals.connect(vehicle.imei);
    const statuses = () => ear.of('status', vehicle.id).map(({ previous_state: from, state: to }) => [from, to]);
    const says = { speedKmh, status: speedKmh === 0 ? 0b10 : 0b11 };
    await report(vehicle.imei, [location(Date.now(), says)]);
    await waitFor(() => statuses().length > 0);
    publish(harness.bus, sessionChanged, { imei: vehicle.imei, isOnline: true, atMs: Date.now() });
    await report(vehicle.imei, [location(Date.now() + 1_000, says)]);
    await waitFor(() => ear.of('location', vehicle.id).length > 1);
    expect(statuses()).toEqual([['offline', state]]);
    ear.stop();
    await terminals.close();
  });

  it('raises a sustained alarm once, also for repeated reports', async () => {
    const vehicle = await newVehicle();
    const up = [0, 1_000, 2_000].map((ms) => location(startMs + ms, { alarm: 1 }));
    await report(vehicle.imei, up);
    await report(vehicle.imei, up);
    const batch = new TelemetryBatch();
    const stored = encodeBody(locationBatch, { count: 3, locationType: 1, items: up }, '2013');
    batch.append(1, Buffer.from(vehicle.imei, 'hex'), 0x0704, 9, Date.now(), stored);
    await publishBatch(vehicle.imei, batch.take());
    await report(vehicle.imei, [location(startMs + 3_000, { alarm: 1 })]);
    await applied();
    expect((await typesOf(vehicle)).filter((type) => type === 'sos')).toEqual(['sos']);
  });

  it('skips invalid batches and reports, and continues', async () => {
    const vehicle = await newVehicle();
    await publishBatch(vehicle.imei, Buffer.from('no batch'));
    const batch = new TelemetryBatch();
    batch.append(1, Buffer.from(vehicle.imei, 'hex'), 0x0200, 1, Date.now(), Buffer.from('short'));
    await publishBatch(vehicle.imei, batch.take());
    await report(vehicle.imei, [location(startMs)]);
    await applied();
    expect((await readLastLocations(harness.deps, [vehicle.imei])).get(vehicle.imei)?.timestamp).toBe(startMs);
  });

  it('ignores terminals without a vehicle', async () => {
    const imei = newImei();
    await report(imei, [location(startMs, { alarm: 1 })]);
    await applied();
    expect((await readStates(harness.deps, harness.deps.database, [imei])).size).toBe(0);
  });

  it('uses the time of arrival for a clock that is far ahead', async () => {
    const vehicle = await newVehicle();
    await report(vehicle.imei, [location(Date.now() + 86_400_000)]);
    await applied();
    const { timestamp } = (await readLastLocations(harness.deps, [vehicle.imei])).get(vehicle.imei) ?? {};
    expect(Math.abs((timestamp ?? 0) - Date.now())).toBeLessThan(60_000);
  });

  it('loses and duplicates nothing when Redis loses all data', async () => {
    const vehicle = await newVehicle();
    await report(vehicle.imei, [location(startMs, { alarm: 1 })]);
    await applied();
    await harness.deps.redis.flushDb();
    await report(vehicle.imei, [location(startMs + 1_000, { alarm: 1 })]);
    await applied();
    expect((await typesOf(vehicle)).filter((type) => type === 'sos')).toEqual(['sos']);
  });

  it('does not restore terminals that left their vehicles in a Redis that restarted with older data', async () => {
    const { redis: known } = harness.deps;
    const left = await newVehicle();
    const partition = telemetryPartition(left.imei, partitions);
    let other = await newVehicle();
    while (telemetryPartition(other.imei, partitions) !== partition) other = await newVehicle();
    await report(left.imei, [location(startMs)]);
    await applied();
    expect((await harness.as(harness.ours.owner).put(`/api/vehicles/${left.id}`, { imei: null })).status).toBe(200);
    let second = 0;
    // Both replicas have received the change by then.
    await waitFor(async () => {
      second += 1;
      await known.del([
        `last-location:{telemetry-${partition}}:${left.imei}`,
        `former-terminal:{telemetry-${partition}}:${left.imei}`,
      ]);
      const offset = await appliedOffset(partition);
      await known.set(`telemetry-place:{telemetry-${partition}}`, `${(offset?.seq ?? 0) - 1}@${offset?.stream}`);
      await report(other.imei, [location(startMs + second * 1_000)]);
      await applied();
      const found = await readLastLocations(harness.deps, [left.imei, other.imei]);
      return found.get(other.imei)?.timestamp === startMs + second * 1_000 && !found.has(left.imei);
    });
  });

  it('continues where another replica has stopped', async () => {
    const vehicle = await newVehicle();
    await report(vehicle.imei, [location(startMs, { alarm: 1 })]);
    await applied();
    await second.stop();
    await report(vehicle.imei, [location(startMs + 1_000, { alarm: 1 }), location(startMs + 2_000, { alarm: 0 })]);
    await applied();
    second = await create({ ...harness.deps.config, PLATFORM_ROLES: 'telemetry' }, { log: silent });
    expect((await typesOf(vehicle)).filter((type) => type === 'sos')).toEqual(['sos']);
    expect((await readLastLocations(harness.deps, [vehicle.imei])).get(vehicle.imei)?.timestamp).toBe(startMs + 2_000);
  });
});
