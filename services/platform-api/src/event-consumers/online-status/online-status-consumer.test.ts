import { publish, sessionChanged } from '@fleet/bus';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { LiveEventRecorder } from '../../testing/live-event-recorder.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { type OnlineStatusConsumer, startOnlineStatusConsumer } from './online-status-consumer.ts';
import { createCheckSchedule, OnlineStatusStore } from './online-status-store.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(90_000);

const minuteMs = 60_000;
/** No jobs except those of a test, which also end all waiting. */
const timings = { pollIntervalMs: 3_600_000, firstReportTimeoutMs: 3_600_000 };

describe('the online status', () => {
  let redis: ServerProcess;
  let harness: PlatformHarness;
  let api: Client;
  let liveEvents: LiveEventRecorder;
  let consumer: OnlineStatusConsumer;
  let terminals: FakeTerminals;
  let count = 0;

  beforeAll(async () => {
    // The schedule of checks is one list in a Redis.
    redis = await (await ServerProcess.redis()).start();
    harness = await PlatformHarness.open({
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      PLATFORM_ROLES: 'api,websocket',
    });
    api = harness.as(harness.ours.owner);
    liveEvents = new LiveEventRecorder(harness);
    consumer = startOnlineStatusConsumer(harness.deps, timings);
    terminals = new FakeTerminals(harness.deps);
  });
  afterAll(async () => {
    liveEvents.stop();
    await consumer.stop();
    await terminals.close();
    await harness.close();
    await redis.remove();
  });

  const newVehicle = async (): Promise<{ id: number; imei: string }> => {
    const imei = newImei();
    count += 1;
    const made = await api.post('/api/vehicles', { vehicle_no: `THERE${count}`, imei });
    return { id: made.data.id, imei };
  };
  /** Sets the age of the terminal's newest report in minutes. */
  const reported = async (imei: string, minutesAgo: number): Promise<number> => {
    const atMs = Date.now() - minutesAgo * minuteMs;
    const location = { ...lastLocationAt(imei, 22.5, 114.1), timestamp: atMs, serverTimestamp: atMs };
    await writeLastLocation(harness.deps, location);
    return atMs;
  };
  const store = () => new OnlineStatusStore(harness.deps.redis);
  const isStored = async (imei: string): Promise<boolean> => (await store().find(imei)) !== null;
  const isCheckedWithin = async (minutes: number, imei: string): Promise<boolean> => {
    const dueMs = await harness.deps.redis.zScore('presence:due', imei);
    return dueMs !== null && dueMs <= Date.now() + minutes * minuteMs;
  };
  const found = async (vehicleId: number, type: string): Promise<readonly Data[]> =>
    (await api.get(`/api/notifications?type=${type}&limit=100`)).items.filter(({ vehicle_id: id }) => id === vehicleId);
  const checkAt = async (minutes: number): Promise<void> => {
    await consumer.checkDue(Date.now() + minutes * minuteMs);
    // Its event was received.
    await harness.bus.nc.flush();
  };

  it('is offline once after ten minutes of silence, and online at the next report', async () => {
    const { id, imei } = await newVehicle();
    await reported(imei, 0);
    consumer.onReports([imei], new Map());
    await waitFor(() => isStored(imei));
    const lastMs = await reported(imei, 11);
    // The status is as old as the report.
    await store().save(imei, { connected: false, isOffline: false, seenMs: lastMs });
    await checkAt(11);
    await checkAt(30);
    const [offline, ...more] = await found(id, 'device_offline');
    expect(more).toEqual([]);
    expect(offline).toMatchObject({
      timestamp: lastMs + 10 * minuteMs,
      location: { latitude: 22.5, longitude: 114.1 },
      attributes: { last_seen: new Date(lastMs).toISOString() },
    });
    expect(liveEvents.of('status', id).at(-1)).toEqual({
      vehicle_id: id,
      imei,
      connected: false,
      state: 'offline',
      previous_state: 'stopped',
      state_since: lastMs,
      last_seen: new Date(lastMs).toISOString(),
    });

    const backMs = await reported(imei, 0);
    consumer.onReports([imei], new Map(), Date.now() + 20 * minuteMs);
    await waitFor(async () => (await found(id, 'device_online')).length > 0);
    expect((await found(id, 'device_online'))[0]).toMatchObject({
      timestamp: backMs,
      attributes: { last_seen: new Date(lastMs).toISOString() },
    });
  });

  it('stays online for a terminal that reports in the meantime', async () => {
    const { id, imei } = await newVehicle();
    await reported(imei, 0);
    consumer.onReports([imei], new Map());
    await waitFor(() => isStored(imei));
    await checkAt(11);
    expect(await found(id, 'device_offline')).toEqual([]);
    expect(await isCheckedWithin(11, imei)).toBe(true);
  });

  it('publishes no return for the first report ever', async () => {
    const { id, imei } = await newVehicle();
    await reported(imei, 0);
    consumer.onReports([imei], new Map());
    await waitFor(() => isStored(imei));
    expect(await found(id, 'device_online')).toEqual([]);
  });

  it('follows sessions that begin and end', async () => {
    const { id, imei } = await newVehicle();
    await terminals.connect(imei);
    await waitFor(async () => {
      publish(harness.bus, sessionChanged, { imei, isOnline: true, atMs: Date.now() });
      await checkAt(120);
      return liveEvents.of('status', id).length > 0;
    });
    expect(liveEvents.of('status', id)[0]).toMatchObject({
      connected: true,
      state: 'stopped',
      previous_state: 'never_connected',
    });
    await terminals.disconnect(imei);
    await waitFor(async () => {
      publish(harness.bus, sessionChanged, { imei, isOnline: false, atMs: Date.now() });
      return liveEvents.of('status', id).some(({ connected }) => connected === false);
    });
    const device = (await api.get(`/api/vehicles/${id}`)).data['device'];
    expect(device).toMatchObject({ protocol: 'jt808-2013', connected: false });
    expect((device as Record<string, unknown>)['last_seen']).not.toBeNull();
  });

  it('is connected after a gap below ten minutes, also if the report is processed first', async () => {
    const { id, imei } = await newVehicle();
    const lastMs = await reported(imei, 6);
    await store().save(imei, { connected: false, isOffline: false, seenMs: lastMs });
    // Its session exists and was not published yet.
    await terminals.connect(imei);
    const { latitude, longitude, ...rest } = lastLocationAt(imei, 22.5, 114.1);
    const nowMs = Date.now();
    const moving = { ...rest, latitude, longitude, timestamp: nowMs, serverTimestamp: nowMs, speed: 50, acc: true };
    await writeLastLocation(harness.deps, moving);
    consumer.onReports([imei], new Map());
    await waitFor(() => liveEvents.of('status', id).length > 0);
    expect(liveEvents.of('status', id)[0]).toMatchObject({ connected: true, state: 'moving' });
  });

  describe('a terminal that returns from offline', () => {
    /** A terminal that was offline for long: its session exists and was not published yet. */
    const comesBack = async (): Promise<{ id: number; imei: string }> => {
      const vehicle = await newVehicle();
      const lastMs = await reported(vehicle.imei, 60);
      await store().save(vehicle.imei, { connected: false, isOffline: true, seenMs: lastMs });
      await terminals.connect(vehicle.imei);
      return vehicle;
    };
    const publishSession = (imei: string): Promise<boolean> =>
      waitFor(async () => {
        publish(harness.bus, sessionChanged, { imei, isOnline: true, atMs: Date.now() });
        return isCheckedWithin(120, imei);
      });
    /** Telemetry has applied its first report. */
    const reports = async (imei: string, speed: number): Promise<void> => {
      const nowMs = Date.now();
      const location = { ...lastLocationAt(imei, 22.5, 114.1), timestamp: nowMs, serverTimestamp: nowMs, speed };
      await writeLastLocation(harness.deps, location);
      consumer.onReports([imei], new Map([[imei, nowMs]]));
    };
    const statuses = (id: number) =>
      liveEvents.of('status', id).map(({ previous_state: from, state, connected }) => [from, state, connected]);

    it.each([
      ['moving', 50],
      ['stopped', 0],
    ])('and is %s publishes one event with its state if its session is known first', async (state, speed) => {
      const { id, imei } = await comesBack();
      await publishSession(imei);
      expect(statuses(id)).toEqual([]);
      await reports(imei, speed);
      await waitFor(() => statuses(id).length > 0);
      await checkAt(120);
      expect(statuses(id)).toEqual([['offline', state, true]]);
    });

    it('publishes one event if the report is known first', async () => {
      const { id, imei } = await comesBack();
      await reports(imei, 50);
      await waitFor(() => statuses(id).length > 0);
      await publishSession(imei);
      await checkAt(120);
      expect(statuses(id)).toEqual([['offline', 'moving', true]]);
    });

    it('publishes one event if the report is known before there is a session', async () => {
      const { id, imei } = await newVehicle();
      const lastMs = await reported(imei, 60);
      await store().save(imei, { connected: false, isOffline: true, seenMs: lastMs });
      await reports(imei, 50);
      await waitFor(() => isCheckedWithin(120, imei));
      await terminals.connect(imei);
      publish(harness.bus, sessionChanged, { imei, isOnline: true, atMs: Date.now() });
      await waitFor(() => statuses(id).some(([_from, _state, connected]) => connected === true));
      await checkAt(120);
      expect(statuses(id).filter(([from]) => from === 'offline')).toHaveLength(1);
    });

    it('publishes the event as soon as another replica releases it', async () => {
      const { id, imei } = await comesBack();
      await harness.deps.redis.set(`presence-lock:${imei}`, 'another', { expiration: { type: 'EX', value: 3_600 } });
      await reports(imei, 50);
      await waitFor(() => isCheckedWithin(120, imei));
      expect(statuses(id)).toEqual([]);
      await harness.deps.redis.del(`presence-lock:${imei}`);
      await waitFor(() => statuses(id).length > 0);
      await checkAt(120);
      expect(statuses(id)).toEqual([['offline', 'moving', true]]);
    });

    it('publishes the event once Redis is back, with the end of the silence', async () => {
      const { id, imei } = await newVehicle();
      const lastMs = await reported(imei, 0);
      // Heartbeats kept it alive, so it is not offline.
      await store().save(imei, { connected: false, isOffline: false, seenMs: lastMs });
      await createCheckSchedule(harness.deps.redis).schedule(imei, lastMs + 60 * minuteMs);
      const { redis } = harness.deps;
      const [due, status] = ['presence:due', `presence:${imei}`];
      // Neither the status nor the schedule is available.
      for (const key of [due, status]) {
        await redis.rename(key, `kept-${key}`);
        await redis.lPush(key, 'of another kind');
      }
      const warn = jest.spyOn(harness.deps.log, 'warn');
      await reports(imei, 50);
      const warned = (): unknown[] => warn.mock.calls.map(([_fields, message]) => message);
      await waitFor(() => warned().includes('could not check the online status'));
      expect(warned()).toContain('could not schedule an online check');
      warn.mockRestore();
      for (const key of [due, status]) await redis.rename(`kept-${key}`, key);
      await waitFor(() => statuses(id).length > 0);
      expect(statuses(id)).toEqual([['stopped', 'moving', false]]);
    });

    it('without a position is standing, and moving when it reports so', async () => {
      const { id, imei } = await comesBack();
      await publishSession(imei);
      // A job skips terminals that another replica is checking.
      await waitFor(async () => {
        await checkAt(120);
        return statuses(id).length > 0;
      });
      expect(statuses(id)).toEqual([['offline', 'stopped', true]]);
      await reports(imei, 50);
      await waitFor(() => statuses(id).length > 1);
      expect(statuses(id)).toEqual([
        ['offline', 'stopped', true],
        ['stopped', 'moving', true],
      ]);
    });
  });

  it('gets a notification that a dead replica had begun, once', async () => {
    const { id, imei } = await newVehicle();
    const lastMs = await reported(imei, 30);
    await store().save(imei, { connected: false, isOffline: false, seenMs: lastMs });
    await createCheckSchedule(harness.deps.redis).schedule(imei, 0);
    const raise = jest.spyOn(harness.deps.notifications, 'raise');
    raise.mockRejectedValueOnce(new Error('died'));
    await expect(consumer.checkDue()).rejects.toThrow('died');
    expect((await store().find(imei))?.pending?.raised.type).toBe('device_offline');
    await consumer.checkDue(Date.now() + minuteMs);
    raise.mockRestore();
    expect((await store().find(imei))?.pending).toBeUndefined();
    expect(await found(id, 'device_offline')).toHaveLength(1);
  });

  it('restores a lost Redis from the database: online terminals are checked, offline ones return', async () => {
    const [silent, away] = [await newVehicle(), await newVehicle()];
    for (const { imei } of [silent, away]) {
      await reported(imei, 0);
      consumer.onReports([imei], new Map());
      await waitFor(() => isStored(imei));
    }
    const lastMs = await reported(away.imei, 30);
    await store().save(away.imei, { connected: false, isOffline: false, seenMs: lastMs });
    await createCheckSchedule(harness.deps.redis).schedule(away.imei, 0);
    await consumer.checkDue();
    expect(await found(away.id, 'device_offline')).toHaveLength(1);

    await harness.deps.redis.flushDb();
    await consumer.checkDue();
    expect(await isCheckedWithin(11, silent.imei)).toBe(true);
    expect(await isCheckedWithin(11, away.imei)).toBe(false);
    await reported(away.imei, 0);
    consumer.onReports([away.imei], new Map(), Date.now() + 20 * minuteMs);
    await waitFor(async () => (await found(away.id, 'device_online')).length > 0);
    expect(await found(silent.id, 'device_online')).toEqual([]);
  });
});
