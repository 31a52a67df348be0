import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { destination } from '../../geometry/positions.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { newMedia } from '../../testing/media-records.ts';
import { recordTestNotification } from '../../testing/notifications.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { testPosition } from '../../testing/positions.ts';
import { storeList } from '../dashcam/recording-lists.ts';
import { insertMedia } from '../media/store.ts';
import { appendPositions } from '../positions/bucket-writer.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let vehicleId: number;
let imei: string;
/** In Shanghai, where the vehicle is, the first of February. */
const startMs = Date.parse('2026-01-31T16:30:00Z');

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  imei = newImei();
  const { data } = await owner.post('/api/vehicles', { vehicle_no: 'DAYS', imei, timezone: 'Asia/Shanghai' });
  vehicleId = data.id;
  const vehicle = { _id: vehicleId, accountId: harness.ours.accountId, imei };
  await appendPositions(harness.deps.database, drive());
  await recordTestNotification(harness.deps, vehicle.accountId, { vehicleId, type: 'sos', timestamp: startMs + 1_000 });
  await insertMedia(harness.deps.records, newMedia(vehicle, 'here', { takenAt: new Date(startMs + 2_000) }));
  const list = { channel: 0, fromMs: startMs, toMs: startMs + 7_200_000, listedAtMs: Date.now() };
  const kind = { isAlarm: false, streamType: 1, memoryType: 1, sizeBytes: 100 };
  const segments = [1, 2].map((channel) => ({ channel, fromMs: startMs, toMs: startMs + 600_000, ...kind }));
  await storeList(harness.deps.redis, vehicle, list, segments);
});
afterAll(() => harness?.close());

/** Returns ten minutes at 36 km/h, and the report of the ignition being switched off. */
function drive() {
  const at = (seconds: number, more: object = {}) => {
    const [latitude, longitude] = destination([22.54, 114.05], 90, seconds * 10);
    const timestamp = startMs + seconds * 1_000;
    const times = { timestamp, serverTimestamp: timestamp + 1_000, slowSinceMs: null };
    const position = testPosition(imei, { latitude, longitude, speed: 36, ignition: true, ...times, ...more });
    return { vehicleId, accountId: harness.ours.accountId, driverId: null, hash: 'ab', position };
  };
  return [...Array.from({ length: 61 }, (_unused, index) => at(index * 10)), at(610, { speed: 0, ignition: false })];
}

const list = (client: Client, month = '2026-02') => client.get(`/api/vehicles/${vehicleId}/days?month=${month}`);

/** Shares the vehicle with a user of the other account. */
async function share(permissions: readonly string[]): Promise<Client> {
  const guest = await harness.user('viewer', harness.theirs);
  const body = { secondary_user: guest.id, vehicles: [vehicleId], permissions };
  expect((await owner.post('/api/vehicle/share-vehicles', body)).status).toBe(200);
  return harness.as(guest);
}

describe('GET /api/vehicles/:vehicleId/days', () => {
  const drove = { date: '2026-02-01', distance_km: expect.closeTo(6, 0), driving_seconds: expect.any(Number) };

  it('returns the days with data in the time zone of the vehicle', async () => {
    const { status, body } = await list(owner);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [{ ...drove, events: { critical: 1, warning: 0, info: 0 }, media: 1, recordings: 2 }],
    });
    expect((await list(owner, '2026-01')).body).toEqual({ data: [] });
  });

  it('returns only trips for a share without events and recorded video', async () => {
    const { body } = await list(await share(['view']));
    expect(body).toEqual({
      data: [{ ...drove, events: { critical: 0, warning: 0, info: 0 }, media: 0, recordings: 0 }],
    });
  });

  it('returns events and files to a share that includes them', async () => {
    const { body } = await list(await share(['view', 'notifications', 'history_video']));
    expect(body).toMatchObject({ data: [{ events: { critical: 1 }, media: 1, recordings: 2 }] });
  });

  it('hides recorded video from a viewer without the right to see it', async () => {
    const { body } = await list(harness.as(await harness.user('viewer')));
    expect(body).toMatchObject({ data: [{ events: { critical: 1 }, media: 0, recordings: 0 }] });
  });

  it('is 404 for another account, and 400 for a month that does not exist', async () => {
    expect((await list(harness.as(harness.theirs.owner))).status).toBe(404);
    const { status, body } = await list(owner, '2026-13');
    expect([status, body]).toMatchObject([
      400,
      { details: [{ path: '/month', message: 'must be a month such as 2026-01' }] },
    ]);
  });
});
