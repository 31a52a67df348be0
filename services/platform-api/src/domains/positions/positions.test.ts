import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { destination } from '../../geometry/positions.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { recordTestNotification } from '../../testing/notifications.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { testPosition } from '../../testing/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { appendPositions } from './bucket-writer.ts';
import { csvCell } from './export.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness.close());

const morning = Date.parse('2026-01-31T08:00:00Z');

interface Own {
  readonly id: number;
  readonly imei: string;
}
async function newVehicle(vehicleNo: string, more: object = {}): Promise<Own> {
  const imei = newImei();
  const { status, data } = await owner.post('/api/vehicles', { vehicle_no: vehicleNo, imei, ...more });
  expect(status).toBe(201);
  return { id: data.id, imei };
}

/** Returns a point with offsets from the morning in seconds and to the east in metres. */
const at = ({ id, imei }: Own, seconds: number, eastM: number, more: Partial<LastLocation> = {}) => {
  const [latitude, longitude] = destination([48.1, 11.5], 90, eastM);
  const timestamp = morning + seconds * 1_000;
  const times = { timestamp, serverTimestamp: timestamp + 1_000, slowSinceMs: null };
  const position = testPosition(imei, { latitude, longitude, speed: 36, ignition: true, ...times, ...more });
  return { vehicleId: id, accountId: harness.ours.accountId, driverId: 7, hash: 'ab', position };
};
const drive = (vehicle: Own, fromS: number, seconds: number) => [
  ...Array.from({ length: seconds / 10 + 1 }, (_u, i) => at(vehicle, fromS + i * 10, i * 100)),
  at(vehicle, fromS + seconds + 10, (seconds / 10) * 100, { speed: 0, ignition: false }),
];
const store = (points: Parameters<typeof appendPositions>[1]) => appendPositions(harness.deps.database, points);
const day = 'from=2026-01-31T00:00:00Z&to=2026-01-31T23:59:59Z';

describe('GET /api/vehicles/:vehicleId/locations', () => {
  const path = (id: number, query = day) => `/api/vehicles/${id}/locations?${query}`;

  it('lists the positions of a vehicle with all of its terminals, oldest first', async () => {
    const own = await newVehicle('LOC 1');
    const before = { ...own, imei: newImei() };
    await store([at(own, 60, 500, { alarms: ['sos'] }), at(before, 0, 0), at(own, 30, 100, { backfilled: true })]);
    const { status, body, items } = await owner.get(path(own.id));
    expect(status).toBe(200);
    expect(body).toMatchObject({ meta: { truncated: false, next_from: null } });
    expect(items.map(({ imei, timestamp }) => [imei, timestamp])).toEqual([
      [before.imei, morning],
      [own.imei, morning + 30_000],
      [own.imei, morning + 60_000],
    ]);
    expect(items[2]).toEqual({
      imei: own.imei,
      vehicle_id: own.id,
      latitude: 48.1,
      longitude: expect.closeTo(11.50673, 4),
      altitude: 500,
      speed: 36,
      course: 90,
      gps_valid: true,
      satellites: 9,
      signal: null,
      ignition: true,
      odometer_km: 1.5,
      fuel_l: null,
      battery_percent: null,
      external_voltage: null,
      alarms: ['sos'],
      driver_id: 7,
      address: null,
      state: 'moving',
      state_since: null,
      source: 'jt808',
      backfilled: false,
      timestamp: morning + 60_000,
      server_timestamp: morning + 61_000,
    });
    expect((await owner.get(path(own.id, `from=${morning + 1}&to=${morning + 30_000}`))).items).toHaveLength(1);
    expect((await owner.get(`/api/vehicles/${own.id}/locations`)).items).toEqual([]);
  });

  it('continues after the limit, and omits points on a straight line', async () => {
    const own = await newVehicle('LOC 2');
    await store(drive(own, 0, 100));
    const first = await owner.get(path(own.id, `${day}&limit=5`));
    expect(first.items).toHaveLength(5);
    const { meta } = first.body as { meta: { truncated: boolean; next_from: number } };
    expect(meta).toEqual({ truncated: true, next_from: morning + 50_000 });
    const rest = await owner.get(path(own.id, `from=${meta.next_from}&to=${morning + 3_600_000}`));
    expect(rest.items).toHaveLength(7);
    const thin = await owner.get(path(own.id, `${day}&simplify_m=20`));
    expect(thin.items.map(({ timestamp }) => timestamp)).toEqual([morning, morning + 110_000]);
    expect((await owner.get(path(own.id, `${day}&limit=99999999`))).items).toHaveLength(12);
  });

  it.each(['', '&simplify_m=0.1'])('reaches the end if several reports have the same time%s', async (more) => {
    const own = await newVehicle(`ONE ${randomInt(1e9)}`);
    const bends = [0, 100, 100, 100, 200].map((eastM, i) => ({
      ...at(own, eastM, eastM, { latitude: 48.1 + (i % 2) / 100 }),
      hash: String(i),
    }));
    await store(bends);
    const pages: number[][] = [];
    for (let from: number | null = morning; from !== null && pages.length < 10; ) {
      const { items, body } = await owner.get(path(own.id, `from=${from}&to=${morning + 3_600_000}&limit=2${more}`));
      pages.push(items.map(({ timestamp }) => (Number(timestamp) - morning) / 1_000));
      from = (body as { meta: { next_from: number | null } }).meta.next_from;
    }
    expect(pages).toEqual([[0], [100, 100, 100], [200]]);
  });

  it.each([
    ['from=2026-01-31T00:00:00Z&to=2026-03-03T00:00:01Z', 'validation_failed'],
    ['from=2026-01-31T00:00:01Z&to=2026-01-31T00:00:00Z', 'validation_failed'],
    ['from=yesterday', 'bad_date'],
    [`${day}&limit=0`, 'validation_failed'],
    [`${day}&simplify_m=501`, 'validation_failed'],
    [`${day}&format=kml`, 'validation_failed'],
  ])('rejects %s', async (query, code) => {
    const { id } = await newVehicle(`R${randomInt(1e9)}`);
    expect((await owner.get(path(id, query))).body).toMatchObject({ status: 400, code });
  });

  it('is limited to users who see the vehicle, and omits the driver for other accounts', async () => {
    const own = await newVehicle('LOC 3');
    await store([at(own, 0, 0)]);
    const guest = await harness.user('viewer', harness.theirs);
    expect((await harness.as(guest).get(path(own.id))).status).toBe(404);
    expect((await harness.as(await harness.user('driver')).get(path(own.id))).status).toBe(404);
    await owner.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles: [own.id] });
    expect((await harness.as(guest).get(path(own.id))).items).toMatchObject([{ driver_id: null, vehicle_id: own.id }]);
    expect((await harness.as(guest).get(`/api/vehicles/${own.id}/trips?${day}`)).status).toBe(200);
    await owner.delete(`/api/vehicles/${own.id}`);
    expect((await owner.get(path(own.id))).status).toBe(404);
  });

  it('returns a GPX file of valid fixes, with a new segment after a gap', async () => {
    const own = await newVehicle('KA 01 & 2', { name: '<Tom> & "co"' });
    await store([
      at(own, 0, 0, { latitude: -1.25, longitude: 2.5 }),
      at(own, 10, 100, { gpsValid: false }),
      at(own, 20, 200, { altitude: null, satellites: null }),
      at(own, 2_000, 5_000),
    ]);
    const { status, headers, body } = await owner.get(path(own.id, `${day}&format=gpx`));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/gpx\+xml/);
    expect(headers.get('content-disposition')).toBe('attachment; filename="KA01_2_2026-01-31_2026-01-31.gpx"');
    const gpx = String(body);
    expect(gpx).toContain('<name>KA01&amp;2 &lt;Tom&gt; &amp; &quot;co&quot;</name>');
    expect(gpx).toContain(
      '<trkpt lat="-1.25" lon="2.5"><ele>500</ele><time>2026-01-31T08:00:00.000Z</time><sat>9</sat><extensions>',
    );
    expect(gpx.match(/<trkpt/g)).toHaveLength(3);
    expect(gpx.match(/<trkseg>/g)).toHaveLength(2);
    expect(gpx.match(/<\/trkseg>/g)).toHaveLength(2);
    expect(gpx.endsWith('</trk>\n</gpx>\n')).toBe(true);
    const limited = await owner.get(path(own.id, `${day}&format=gpx&limit=1`));
    expect(limited.headers.get('x-next-from')).toBe(String(morning + 10_000));
    const empty = await owner.get(path(own.id, 'format=gpx'));
    expect(String(empty.body)).not.toContain('trkseg');
  });

  it('returns a CSV file', async () => {
    const own = await newVehicle('LOC 5');
    await store([at(own, 0, 0, { alarms: ['sos', 'overspeed'], fuelL: 12.5 })]);
    const { headers, body } = await owner.get(path(own.id, `${day}&format=csv`));
    expect(headers.get('content-type')).toMatch(/^text\/csv/);
    expect(headers.get('content-disposition')).toContain('LOC5_2026-01-31_2026-01-31.csv');
    const [header, line, end] = String(body).split('\r\n');
    expect(header).toMatch(/^time,timestamp,server_timestamp,imei,/);
    expect(line).toBe(
      `2026-01-31T08:00:00.000Z,${morning},${morning + 1_000},${own.imei},${own.id},7,48.1,11.5,500,36,90,true,9,,true,1.5,12.5,,,moving,jt808,false,sos overspeed`,
    );
    expect(end).toBe('');
  });

  it.each([
    ['=1+1', "'=1+1"],
    ['@x', "'@x"],
    ['a,"b"', '"a,""b"""'],
    [-5, '-5'],
    [null, ''],
  ])('formats the CSV cell %j as %s', (value, cell) => expect(csvCell(value)).toBe(cell));
});

describe('GET /api/vehicles/:vehicleId/trips', () => {
  const path = (id: number, query = day) => `/api/vehicles/${id}/trips?${query}`;
  const record = (own: Own, type: string, timestamp: number) =>
    recordTestNotification(harness.deps, harness.ours.accountId, {
      type,
      vehicleId: own.id,
      imei: own.imei,
      timestamp,
      serverTimestamp: timestamp,
    });

  it('returns each trip with the notifications during it', async () => {
    const own = await newVehicle('TRIP 1');
    await store([...drive(own, 0, 100), ...drive(own, 3_600, 200)]);
    for (const seconds of [0, 50, 3_700]) await record(own, 'overspeed', morning + seconds * 1_000);
    await record(own, 'sos', morning + 1_800_000);
    const { status, items } = await owner.get(path(own.id));
    expect(status).toBe(200);
    expect(items).toMatchObject([
      {
        started_at: '2026-01-31T08:00:00.000Z',
        ended_at: '2026-01-31T08:01:50.000Z',
        start: { vehicle_id: own.id, timestamp: morning, state: 'moving' },
        end: { timestamp: morning + 110_000, state: 'stopped' },
        distance_km: 1,
        duration_seconds: 110,
        max_speed: 36,
        average_speed: 32.7,
        driver_id: 7,
        event_counts: { overspeed: 2 },
      },
      { started_at: '2026-01-31T09:00:00.000Z', distance_km: 2, event_counts: { overspeed: 1 } },
    ]);
    expect(items[0]?.['polyline']).toMatch(/^\S{8,}$/);
    const { items: later } = await owner.get(path(own.id, 'from=2026-01-31T08:00:30Z&to=2026-01-31T23:00:00Z'));
    expect(later).toHaveLength(1);
  });

  it('names the driver, also after the driver was removed, but not to other accounts', async () => {
    const own = await newVehicle('TRIP 9');
    const driver = await owner.post('/api/drivers', { name: 'Ann Driver' });
    await store(drive(own, 0, 100).map((point) => ({ ...point, driverId: driver.data.id })));
    const guest = await harness.user('viewer', harness.theirs);
    await owner.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles: [own.id] });
    const driven = { driver_id: driver.data.id, driver_name: 'Ann Driver' };
    expect((await owner.get(path(own.id))).items).toMatchObject([driven]);
    expect((await owner.delete(`/api/drivers/${driver.data.id}`)).status).toBe(200);
    expect((await owner.get(path(own.id))).items).toMatchObject([driven]);
    expect((await harness.as(guest).get(path(own.id))).items).toMatchObject([{ driver_id: null, driver_name: null }]);
  });

  it('assigns a trip over midnight to the day on which it began, and includes late points', async () => {
    const own = await newVehicle('TRIP 2');
    const midnight = 16 * 3_600;
    const points = drive(own, midnight - 600, 1_200);
    const late = points.slice(20, 90);
    await store(points.filter((point) => !late.includes(point)));
    expect((await owner.get(path(own.id))).items).toMatchObject([{ distance_km: 12 }]);
    await store(late);
    const { items } = await owner.get(path(own.id));
    expect(items).toMatchObject([{ distance_km: 12, ended_at: '2026-02-01T00:10:10.000Z' }]);
    expect((await owner.get(path(own.id, 'from=2026-02-01T00:00:00Z&to=2026-02-01T23:00:00Z'))).items).toEqual([]);
  });

  it('returns no end for a trip in progress', async () => {
    const own = await newVehicle('TRIP 3');
    const startS = Math.floor((Date.now() - morning) / 1_000) - 120;
    await store(drive(own, startS, 100).slice(0, -1));
    const { items } = await owner.get(`/api/vehicles/${own.id}/trips`);
    expect(items).toMatchObject([{ ended_at: null, end: null, distance_km: 1, duration_seconds: 100 }]);
  });

  it('returns the stops after trips on request, with their geofences and addresses', async () => {
    const own = await newVehicle('TRIP 5');
    await store([...drive(own, 0, 100), ...drive(own, 3_600, 200)]);
    expect((await owner.get(path(own.id))).body).not.toHaveProperty('meta');
    const stopsOf = async (client: Client, more: string): Promise<Data[]> => {
      const { body } = await client.get(`${path(own.id)}&stops=true${more}`);
      return (body as { meta: { stops: Data[] } }).meta.stops;
    };
    const [first, last] = await stopsOf(owner, '');
    expect(first).toMatchObject({ from: '2026-01-31T08:01:50.000Z', to: '2026-01-31T09:00:00.000Z', address: null });
    expect(last).toMatchObject({ to: null, geofence_ids: [] });
    const [latitude, longitude] = [first?.['latitude'], first?.['longitude']];
    const circle = { type: 'circle', coordinates: [[latitude, longitude]], radius_m: 50 };
    const { data: geofence } = await owner.post('/api/geofences', { name: 'Yard 5', ...circle });
    const named = await owner.get(`${path(own.id)}&stops=true&address=true`);
    expect((await stopsOf(owner, '&address=true'))[0]).toMatchObject({
      address: expect.stringMatching(/\S/),
      geofence_ids: [geofence.id],
    });
    expect(named.items[0]).toMatchObject({ end: { address: expect.stringMatching(/\S/) } });
    const guest = await harness.user('viewer', harness.theirs);
    await owner.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles: [own.id] });
    expect((await stopsOf(harness.as(guest), ''))[0]).toMatchObject({ latitude, geofence_ids: [] });
  });

  it('rejects windows of more than 31 days, and unknown vehicles', async () => {
    const { id } = await newVehicle('TRIP 4');
    expect((await owner.get(path(id, 'from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z'))).status).toBe(400);
    expect((await owner.get(path(999_999))).status).toBe(404);
  });
});
