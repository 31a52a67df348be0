import { type Bus, type LiveEvent, liveEvents, type NotificationRaised, subscribe } from '@fleet/bus';
import type { Database } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MapServices } from '../../maps/map-services.ts';
import { componentsOf } from '../../maps/providers.ts';
import type { Finding } from '../../rules/rule.ts';
import { RecordStore } from '../../store/record-store.ts';
import { PlatformHarness } from '../../testing/platform-harness.ts';
import type { Account } from '../accounts/schema.ts';
import { keepAddress } from '../geocoding/store.ts';
import type { Geofence } from '../geofences/schema.ts';
import { buildShape } from '../geofences/shapes.ts';
import { purgeServerTimes } from './insert-notifications.ts';
import { NotificationPublisher } from './notification-publisher.ts';
import type { Notification } from './schema.ts';
import {
  notificationDedupeKey as keyOfRaised,
  type NotificationRequest,
  type NotificationSubject,
} from './to-notification.ts';

jest.setTimeout(180_000);
let harness: PlatformHarness;
let vehicle: NotificationSubject;
let other: NotificationPublisher;
const live: LiveEvent[] = [];
beforeAll(async () => {
  harness = await PlatformHarness.open();
  vehicle = await newVehicle('13800138001');
  other = new NotificationPublisher(harness.deps);
  subscribe(
    harness.bus,
    liveEvents,
    (error) => {
      throw error;
    },
    ({ events }) => live.push(...events),
  );
});
afterAll(async () => {
  other.stop();
  await harness.close();
});

async function newVehicle(imei: string, more: object = {}): Promise<NotificationSubject> {
  const body = { vehicle_no: `R ${imei}`, imei: `0${imei}`, ...more };
  const { status, data } = await harness.as(harness.ours.owner).post('/api/vehicles', body);
  expect(status).toBe(201);
  const { accountId, id: ownerUserId } = harness.ours.owner;
  return { id: data.id, accountId, ownerUserId, vehicleNo: String(data['vehicle_no']), imei, driverId: null };
}

const atMs = Date.UTC(2026, 0, 31, 8, 15, 30);
let moment = atMs;
const found = (more: Partial<Finding> = {}): Finding => {
  moment += 1_000;
  const place = { latitude: 1.5, longitude: 2.5, gpsValid: true };
  return { type: 'sos', subject: '', atMs: moment, ...place, attributes: {}, backfilled: false, ...more };
};
const sos = (more: Partial<Finding> = {}, of = vehicle): NotificationRequest => ({ vehicle: of, raised: found(more) });

const keyOf = ({ vehicle: of, raised }: NotificationRequest): string => keyOfRaised(of, raised);

const onRecord = (items: readonly NotificationRequest[]): Promise<Notification[]> =>
  harness.records
    .collection<Notification>('notifications')
    .find({ dedupeKey: { $in: items.map(keyOf) } })
    .sort({ _id: 1 })
    .toArray();

/** Returns all messages in the stream. */
async function stored(): Promise<NotificationRaised[]> {
  const { streams } = await harness.bus.jetstreamManager();
  const { state } = await streams.info('NOTIFICATIONS');
  const messages: NotificationRaised[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1)
    messages.push((await streams.getMessage('NOTIFICATIONS', { seq })).json<NotificationRaised>());
  return messages;
}

const storedOf = async (items: readonly NotificationRequest[]): Promise<NotificationRaised[]> => {
  const ids = new Set((await onRecord(items)).map(({ _id }) => _id));
  return (await stored()).filter(({ notification }) => ids.has(notification.id));
};

describe('raise', () => {
  it('records a notification, stores it in the stream, and publishes it to subscribers', async () => {
    const item = sos({ attributes: { level: 2 }, severity: 'warning' });
    await harness.deps.notifications.raise([item]);
    const [record] = await onRecord([item]);
    expect(record).toMatchObject({
      accountId: vehicle.accountId,
      type: 'sos',
      title: 'SOS',
      category: 'emergency',
      severity: 'warning',
      vehicleId: vehicle.id,
      vehicleNo: vehicle.vehicleNo,
      imei: vehicle.imei,
      latitude: 1.5,
      longitude: 2.5,
      attributes: '{"level":2}',
      timestamp: item.raised.atMs,
      acknowledgedAt: null,
      version: 1,
    });
    const listed = (await harness.as(harness.ours.owner).get('/api/notifications')).items.find(
      ({ id }) => id === record?._id,
    );
    // Events and webhooks have no names.
    const { driver_name: _driver, acknowledged_by_name: _user, ...response } = listed as Record<string, unknown>;
    const [message] = await storedOf([item]);
    expect(message).toEqual({
      accountId: vehicle.accountId,
      ownerUserId: vehicle.ownerUserId,
      wantedByOwner: true,
      addressForOthers: record?.address,
      notification: response,
    });
    await waitFor(async () => live.some(({ data }) => data['id'] === record?._id));
    const event = live.find(({ data }) => data['id'] === record?._id);
    expect(event).toEqual({
      type: 'notification',
      vehicleId: vehicle.id,
      atMs: record?.serverTimestamp,
      data: { ...response, area: null, user: vehicle.ownerUserId },
    });
  });

  it('accepts an empty list', async () => {
    await expect(harness.deps.notifications.raise([])).resolves.toBeUndefined();
  });

  it('does not change a notification that is raised again, and stores no second message', async () => {
    const item = sos();
    await harness.deps.notifications.raise([item]);
    const [first] = await onRecord([item]);
    await other.raise([{ ...item, raised: { ...item.raised, attributes: { later: true } } }, item]);
    expect(await onRecord([item])).toEqual([first]);
    expect(await storedOf([item])).toHaveLength(1);
  });

  it('raises each notification once, with a unique server time, when two instances raise it concurrently', async () => {
    const items = Array.from({ length: 300 }, () => sos());
    const calls = Array.from({ length: 100 }, (_, at) => items.slice(at * 2, at * 2 + 100));
    const results = await Promise.allSettled(
      calls.flatMap((call) => [harness.deps.notifications.raise(call), other.raise(call)]),
    );
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    const records = await onRecord(items);
    const wanted = items.slice(0, 298);
    expect(records.map(({ dedupeKey }) => dedupeKey).sort()).toEqual(wanted.map(keyOf).sort());
    expect(new Set(records.map(({ serverTimestamp }) => serverTimestamp)).size).toBe(wanted.length);
    const messages = await storedOf(items);
    expect(messages).toHaveLength(records.length);
    expect(new Set(messages.map(({ notification }) => notification.id))).toEqual(
      new Set(records.map(({ _id }) => _id)),
    );
  });

  it('reserves server times for a day', async () => {
    const times = harness.deps.database.collection('notification_times');
    const before = await times.countDocuments();
    const turn = { from: 1, isOver: () => false };
    expect(await purgeServerTimes(harness.deps.database, turn)).toBeNull();
    expect(await times.countDocuments()).toBe(before);
    expect(await purgeServerTimes(harness.deps.database, turn, Date.now() + 25 * 3_600_000)).toBeNull();
    expect(await times.countDocuments()).toBe(0);
  });

  it('marks notifications for which no position was ever known', async () => {
    const nowhere = sos({ latitude: 0, longitude: 0, gpsValid: false, attributes: { level: 1 } });
    const unknown = sos({ latitude: Number.NaN, longitude: 4, gpsValid: false });
    const old = sos({ latitude: 3, longitude: 4, gpsValid: false });
    await harness.deps.notifications.raise([nowhere, unknown, old]);
    const response = (await onRecord([nowhere, unknown, old])).map(({ latitude, longitude, attributes }) => [
      latitude,
      longitude,
      JSON.parse(attributes),
    ]);
    expect(response).toEqual([
      [0, 0, { level: 1, gps_valid: false }],
      [0, 0, { gps_valid: false }],
      [3, 4, {}],
    ]);
  });

  it('raises types that are not in the catalogue, and drops attributes that are too large', async () => {
    const item = sos({ type: 'volcano', attributes: { text: 'x'.repeat(9_000), level: 1 } });
    await harness.deps.notifications.raise([item]);
    const [record] = await onRecord([item]);
    expect(record).toMatchObject({ type: 'unknown_alarm', severity: 'info', category: 'device' });
    expect(JSON.parse(record?.attributes ?? '')).toEqual({ level: 1, reported_type: 'volcano' });
  });

  it('raises a notification for a vehicle without a terminal', async () => {
    const item = { vehicle: { ...vehicle, imei: null }, raised: found({ type: 'document_expiry', subject: '7' }) };
    await harness.deps.notifications.raise([item]);
    expect(await onRecord([item])).toMatchObject([{ imei: '', type: 'document_expiry' }]);
    expect(await storedOf([item])).toHaveLength(1);
  });

  it('uses the language of the owning user', async () => {
    const [user, own] = [
      await harness.user('manager', harness.ours, { language: 'es' }),
      await newVehicle('13800138002'),
    ];
    const item = sos({ type: 'overspeed' }, { ...own, ownerUserId: user.id });
    await harness.deps.notifications.raise([item]);
    expect(await onRecord([item])).toMatchObject([{ title: 'Exceso de velocidad' }]);
  });

  it('publishes whether the owning user wants it, and follows changes of the preferences', async () => {
    const own = await newVehicle('13800138003');
    const items = [sos({}, own), sos({ type: 'ignition_on' }, own)];
    await harness.deps.notifications.raise(items);
    expect((await storedOf(items)).map(({ wantedByOwner }) => wantedByOwner)).toEqual([true, false]);
    const path = `/api/notifications/update-preferences/${own.id}`;
    await harness.as(harness.ours.owner).post(path, { notification_types: ['ignition_on'] });
    await waitFor(async () => {
      const again = [sos({}, own), sos({ type: 'ignition_on' }, own)];
      await harness.deps.notifications.raise(again);
      const wanted = (await storedOf(again)).map(({ wantedByOwner }) => wantedByOwner);
      return wanted[0] === false && wanted[1] === true;
    });
  });

  it('publishes notifications of a suspended account as not wanted, until the account is active again', async () => {
    const { accountId, owner } = harness.theirs;
    const body = { vehicle_no: 'R suspended', imei: '013800138004' };
    const { data } = await harness.as(owner).post('/api/vehicles', body);
    const [vehicleNo, imei] = [body.vehicle_no, '13800138004'];
    const own = { id: data.id, accountId, ownerUserId: owner.id, vehicleNo, imei, driverId: null };
    const isWanted = async (): Promise<boolean | undefined> => {
      const item = sos({}, own);
      await harness.deps.notifications.raise([item]);
      return (await storedOf([item]))[0]?.wantedByOwner;
    };
    expect(await isWanted()).toBe(true);
    const accounts = harness.records.collection<Account>('accounts');
    for (const [status, wanted] of [
      ['suspended', false],
      ['active', true],
    ] as const) {
      await accounts.updateOne({ _id: accountId }, { $set: { status } });
      await waitFor(async () => (await isWanted()) === wanted);
    }
  });
});

describe('raise after a crash', () => {
  const writes = new Set(['insertMany', 'findOneAndUpdate']);

  /** Returns a database that dies at its n-th write: before the write, or after it and before the response. */
  function dying(nth: number, isAfter: boolean): Database {
    let count = 0;
    const guarded = (target: object): object =>
      new Proxy(target, {
        get: (of, name) => {
          const member = Reflect.get(of, name) as unknown;
          if (typeof member !== 'function') return member;
          return async (...args: unknown[]): Promise<unknown> => {
            count += writes.has(String(name)) ? 1 : 0;
            const isDue = writes.has(String(name)) && count >= nth;
            if (isDue && !isAfter) throw new Error('the database died');
            const response: unknown = await Reflect.apply(member, of, args);
            if (isDue) throw new Error('the database died');
            return response;
          };
        },
      });
    const { database } = harness.deps;
    return {
      ...database,
      collection: (name) => {
        const collection = database.collection(name);
        const isWritten =
          ['counters', 'unique_values', 'notification_times'].includes(name) || name === 'notifications';
        // Reads use cursors, which a promise around them would break.
        if (!isWritten) return collection as never;
        const proxy = guarded(collection) as typeof collection;
        return new Proxy(collection, {
          get: (of, key) => {
            if (writes.has(String(key))) return Reflect.get(proxy, key) as unknown;
            const member = Reflect.get(of, key) as unknown;
            return typeof member === 'function' ? (member.bind(of) as unknown) : member;
          },
        }) as never;
      },
    };
  }

  const cases = [1, 2, 3, 4].flatMap((nth) => [[nth, false] as const, [nth, true] as const]);
  it.each(cases)('loses and duplicates nothing after a crash at write %i (already done: %s)', async (nth, isAfter) => {
    const database = dying(nth, isAfter);
    const mortal = new NotificationPublisher({ ...harness.deps, database, records: new RecordStore(database) });
    const items = [sos(), sos(), sos()];
    await expect(mortal.raise(items)).rejects.toThrow('died');
    mortal.stop();
    await Promise.all([harness.deps.notifications.raise(items), other.raise(items)]);
    expect((await onRecord(items)).map(({ dedupeKey }) => dedupeKey).sort()).toEqual(items.map(keyOf).sort());
    expect(await storedOf(items)).toHaveLength(3);
  });

  it('rejects if the broker fails, and publishes the recorded notifications on the next call', async () => {
    const { bus } = harness.deps;
    const nc = new Proxy(bus.nc, {
      get: (of, name) => {
        if (name === 'publish')
          return () => {
            throw new Error('the broker died');
          };
        const member = Reflect.get(of, name) as unknown;
        return typeof member === 'function' ? (member.bind(of) as unknown) : member;
      },
    });
    const silent = new NotificationPublisher({ ...harness.deps, bus: { ...bus, nc } satisfies Bus });
    const items = [sos(), sos()];
    await expect(silent.raise(items)).rejects.toMatchObject({ code: 'unavailable' });
    silent.stop();
    expect(await onRecord(items)).toHaveLength(2);
    expect(await storedOf(items)).toHaveLength(0);
    await other.raise(items);
    expect(await storedOf(items)).toHaveLength(2);
  });
});

describe('address of a notification', () => {
  const shenzhen = { latitude: 22.54, longitude: 114.05 };
  const geofence = (name: string, areaM2: number, latitude = 22.54): Geofence => {
    const shape = buildShape({ type: 'circle', positions: [[latitude, 114.05]], radiusM: 100, widthM: null });
    return { name, ...shape, areaM2 } as Geofence;
  };
  const addressOf = async (item: NotificationRequest, by = harness.deps.notifications): Promise<unknown> => {
    await by.raise([item]);
    const [made] = await onRecord([item]);
    return made?.area ?? made?.address;
  };

  it('is the nearest place, or the smallest geofence of the vehicle that contains the position', async () => {
    expect(await addressOf(sos(shenzhen))).toBe('2.0 km W of Shenzhen, Guangdong, China');
    const geofences = [geofence('Elsewhere', 1, 23), geofence('Yard', 9), geofence('Gate', 4)];
    const inside = { ...sos(shenzhen), geofences };
    expect(await addressOf(inside)).toBe('Gate');
    // The name belongs to the account; other viewers get the nearest place.
    expect(await onRecord([inside])).toMatchObject([
      { address: '2.0 km W of Shenzhen, Guangdong, China', area: 'Gate' },
    ]);
    await waitFor(async () => (await storedOf([inside])).length === 1);
    const expected = { data: { address: '2.0 km W of Shenzhen, Guangdong, China', area: 'Gate' } };
    await waitFor(async () => live.some(({ data }) => data['area'] === 'Gate'));
    expect(live.filter(({ data }) => data['area'] === 'Gate')).toMatchObject([expected]);
  });

  it.each([
    ['no position was ever known', { latitude: 0, longitude: 0, gpsValid: false }],
    ['the position is invalid', { latitude: 95, longitude: 114 }],
  ])('is null if %s', async (_case, place) => {
    expect(await addressOf(sos(place))).toBeNull();
  });

  it('is the one that a provider returned before, without a request to the provider', async () => {
    const config = { ...harness.deps.config, GEOCODER: 'nominatim' as const, GEOCODER_URL: 'http://127.0.0.1:9' };
    const maps = new MapServices(config, harness.deps);
    const reverse = jest.spyOn(maps, 'reverse');
    const notifications = new NotificationPublisher({ ...harness.deps, maps });
    const geofences = [geofence('Yard', 9)];
    const { database } = harness.deps;
    const keep = (language: string, address: string) => {
      const found = { address, position: [22.54, 114.05] as const, components: componentsOf({}) };
      return keepAddress(database, vehicle, { place: '22.5400,114.0500', language }, found, 'nominatim');
    };
    expect(await addressOf({ ...sos(shenzhen), geofences }, notifications)).toBe('Yard');
    await keep('', '1 Long Road');
    expect(await addressOf({ ...sos(shenzhen), geofences }, notifications)).toBe('1 Long Road');
    await keep('en', 'Long Road 1');
    expect(await addressOf({ ...sos(shenzhen), geofences }, notifications)).toBe('Long Road 1');
    expect(reverse).not.toHaveBeenCalled();
    notifications.stop();
    maps.stop();
  });
});

describe('amend', () => {
  it('sets attributes one by one, increments the version once, and publishes the change', async () => {
    const item = sos({ attributes: { level: 1, count: 1 } });
    await harness.deps.notifications.raise([item]);
    const [before] = await onRecord([item]);
    const change = { dedupeKey: keyOf(item), attributes: { count: 3 } };
    await harness.deps.notifications.update([{ ...change, attributes: { count: 2 } }, change]);
    await harness.deps.notifications.update([change, { dedupeKey: 'nobody', attributes: { count: 1 } }]);
    const [after] = await onRecord([item]);
    expect(after).toMatchObject({ version: 2, attributes: '{"level":1,"count":3}' });
    expect(after?.updatedAt.getTime()).toBeGreaterThanOrEqual(before?.updatedAt.getTime() ?? 0);
    await waitFor(async () => live.some(({ data }) => data['id'] === after?._id && data['version'] === 2));
    expect(live.filter(({ data }) => data['id'] === after?._id)).toHaveLength(2);
  });

  it('stores the changes of two concurrent callers', async () => {
    const item = sos();
    await harness.deps.notifications.raise([item]);
    const dedupeKey = keyOf(item);
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(
      names.map((name, at) =>
        (at % 2 === 0 ? other : harness.deps.notifications).update([{ dedupeKey, attributes: { [name]: at } }]),
      ),
    );
    const [after] = await onRecord([item]);
    expect(JSON.parse(after?.attributes ?? '')).toEqual({ a: 0, b: 1, c: 2, d: 3 });
    expect(after?.version).toBe(5);
  });
});

describe('telemetry batch', () => {
  it('may raise more at once than may wait for the broker', async () => {
    const description = 'x'.repeat(900_000);
    // The items belong to many accounts, because each account gets its own in one message.
    const items = Array.from({ length: 20 }, (_unused, at) =>
      sos({ description, subject: String(at) }, { ...vehicle, accountId: 900_000 + at }),
    );
    await harness.deps.notifications.raise(items);
    expect(await onRecord(items)).toHaveLength(20);
    expect(await storedOf(items)).toHaveLength(20);
  });
});
