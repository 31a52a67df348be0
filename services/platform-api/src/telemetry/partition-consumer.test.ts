import { randomInt } from 'node:crypto';
import { streamCreatedAt, TelemetryBatch, telemetrySubject } from '@fleet/bus';
import { encodeBody, locationReport } from '@fleet/jt808';
import { Registry } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { readLastLocations } from '../domains/last-positions/store.ts';
import { readDay } from '../domains/positions/bucket-reader.ts';
import { storeStates } from '../domains/vehicle-states/commands.ts';
import { readStatesOfRedis } from '../domains/vehicle-states/queries.ts';
import { readStoredStates } from '../domains/vehicle-states/state-store.ts';
import { newImei } from '../testing/fake-terminals.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { defaultRuleSettings } from '../testing/rule-harness.ts';
import { cameraTime, evaluators, locationOf } from '../testing/telemetry-reports.ts';
import { OffsetStore } from './offset-store.ts';
import { PartitionConsumer } from './partition-consumer.ts';
import type { TelemetryDeps } from './telemetry-deps.ts';
import { TelemetryMetrics } from './telemetry-metrics.ts';
import { VehicleContextCache } from './vehicle-context-cache.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let vehicles: VehicleContextCache;
let deps: TelemetryDeps;
/** Used by no other test. */
const partition = 1_000 + randomInt(1e9);
beforeAll(async () => {
  harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api' });
  vehicles = new VehicleContextCache(harness.deps);
  const stream = (await streamCreatedAt(harness.bus, 'TELEMETRY')) ?? '';
  const metrics = new TelemetryMetrics(new Registry());
  const others = { settings: defaultRuleSettings, attachments: null, onReports: () => undefined };
  deps = { ...harness.deps, vehicles, evaluators, metrics, stream, ...others };
});
afterAll(async () => {
  vehicles.stop();
  await harness.close();
});

const startMs = Math.floor(Date.now() / 1_000) * 1_000 - 60_000;

async function report(imei: string, second: number): Promise<number> {
  const batch = new TelemetryBatch();
  const body = encodeBody(locationReport, locationOf({ time: cameraTime(startMs + second * 1_000) }), '2013');
  batch.append(1, Buffer.from(imei, 'hex'), 0x0200, second, Date.now(), body);
  return (await harness.bus.js.publish(telemetrySubject(partition), batch.take())).seq;
}
const offsetsOf = (number: number): OffsetStore => new OffsetStore(harness.deps, number);
const appliedSeq = async (number = partition): Promise<number> => (await offsetsOf(number).readApplied())?.seq ?? 0;

it('refills a Redis that lost a partition although none of its terminals reports', async () => {
  const { redis } = harness.deps;
  const imei = newImei();
  const made = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `P${imei}`, imei });
  expect(made.status).toBe(201);
  const consumer = new PartitionConsumer(partition, () => true, deps);
  const seq = await report(imei, 0);
  await waitFor(async () => (await appliedSeq()) >= seq);
  await redis.del([
    `telemetry-place:{telemetry-${partition}}`,
    `rule-state:{telemetry-0}:${imei}`,
    `last-location:{telemetry-0}:${imei}`,
  ]);
  await waitFor(async () => (await appliedSeq()) >= seq);
  expect((await readLastLocations(harness.deps, [imei])).get(imei)?.timestamp).toBe(startMs);
  expect((await readStatesOfRedis(harness.deps, [imei])).get(imei)?.seq).toBe(seq);
  await consumer.stop();
});

it('saves states that a crashed replica had not saved to the database, before it saves the offset', async () => {
  const { database } = harness.deps;
  const imei = newImei();
  const made = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `P${imei}`, imei });
  expect(made.status).toBe(201);
  const storedMs = async () => (await readStoredStates(database, [imei])).get(imei)?.location.timestamp;
  let isAlive = true;
  const first = new PartitionConsumer(partition, () => isAlive, deps);
  const before = await report(imei, 0);
  await waitFor(async () => (await appliedSeq()) >= before);
  const states = await readStoredStates(database, [imei]);
  const last = await report(imei, 10);
  await waitFor(async () => (await appliedSeq()) >= last);
  isAlive = false;
  await first.stop();
  // Restores the database as it was before the last report, with the offset of that time; more may have been saved
  // since.
  await storeStates(database, states);
  await offsetsOf(partition).saveCheckpoint({ stream: deps.stream, seq: before });
  // The history was written earlier.
  await offsetsOf(partition).saveHistory({ stream: deps.stream, seq: last });
  expect(await storedMs()).toBe(startMs);

  const second = new PartitionConsumer(partition, () => true, deps);
  const mark = await harness.bus.js.publish(telemetrySubject(partition), new TelemetryBatch().take());
  await waitFor(async () => (await appliedSeq()) >= mark.seq);
  await second.stop();
  expect((await offsetsOf(partition).readAll()).checkpoint?.seq).toBeGreaterThan(last);
  expect(await storedMs()).toBe(startMs + 10_000);
});

it('does not write points again for messages that are read again for the states only', async () => {
  const { database } = harness.deps;
  const imei = newImei();
  const made = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `P${imei}`, imei });
  expect(made.status).toBe(201);
  const had = await report(imei, 0);
  // The history lacks this message, so that a repeated write would be visible.
  await offsetsOf(partition).saveHistory({ stream: deps.stream, seq: had });
  const consumer = new PartitionConsumer(partition, () => true, deps);
  await waitFor(async () => (await appliedSeq()) >= had);
  const last = await report(imei, 10);
  await waitFor(async () => (await appliedSeq()) >= last);
  await consumer.stop();
  const timesMs = [startMs, startMs + 10_000];
  const days = [...new Set(timesMs.map((ms) => new Date(ms).toISOString().slice(0, 10)))];
  const points = await Promise.all(days.map((day) => readDay(database, made.data.id, day, imei)));
  expect(points.flat().map(({ position }) => position.timestamp)).toEqual(timesMs.slice(1));
  expect((await offsetsOf(partition).readAll()).history?.seq).toBe(last);
});

it('does not record a refill of an empty Redis that it did not complete', async () => {
  const other = partition + 1;
  await offsetsOf(other).saveCheckpoint({ stream: deps.stream, seq: 1 });
  await new PartitionConsumer(other, () => true, deps).stop();
  expect(await offsetsOf(other).readApplied()).toBeNull();
});

it('raises an alarm of a terminal’s first report after its replica crashed while raising it', async () => {
  const { database, notifications } = harness.deps;
  const other = partition + 2;
  const imei = newImei();
  const made = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `P${imei}`, imei });
  expect(made.status).toBe(201);
  const body = encodeBody(locationReport, locationOf({ time: cameraTime(startMs), alarm: 1 }), '2013');
  const batch = new TelemetryBatch();
  batch.append(1, Buffer.from(imei, 'hex'), 0x0200, 1, Date.now(), body);
  const { seq } = await harness.bus.js.publish(telemetrySubject(other), batch.take());

  let isAlive = true;
  const raise = jest.spyOn(notifications, 'raise').mockImplementation(async () => {
    // Leaves enough time for a state that would be stored concurrently.
    const limitMs = performance.now() + 500;
    await waitFor(async () => performance.now() > limitMs || (await readStoredStates(database, [imei])).has(imei));
    isAlive = false;
    throw new Error('it dies');
  });
  const first = new PartitionConsumer(other, () => isAlive, deps);
  await waitFor(() => !isAlive);
  await first.stop();
  raise.mockRestore();

  const second = new PartitionConsumer(other, () => true, deps);
  await waitFor(async () => (await appliedSeq(other)) >= seq);
  await second.stop();
  const { items } = await harness.as(harness.ours.owner).get(`/api/notifications?vehicle_id=${made.data.id}&type=sos`);
  expect(items).toHaveLength(1);
});
