import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { JobSlice } from '../../jobs/job-slice.ts';
import { PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { purgeServerTimes } from './insert-notifications.ts';
import { removeOldNotifications } from './retention.ts';
import type { Notification } from './schema.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);
let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api' });
});
afterAll(() => harness.close());

const whole: JobSlice = { from: 1, isOver: () => false };
const inDays = (days: number): number => Date.now() + days * 24 * 3_600_000;
const sweep = (days: number, turn = whole) => removeOldNotifications(harness.deps, turn, inDays(days));
const notifications = () => harness.records.collection<Notification>('notifications');
const claims = () => harness.records.uniqueValues.countDocuments({ _id: { $regex: '^notifications' } });

/** Raises notifications of these types for a new vehicle of the user. */
async function raise(owner: TestUser, vehicleNo: string, types: readonly string[]) {
  const { accountId, id: ownerUserId } = owner;
  const { data } = await harness.as(owner).post('/api/vehicles', { vehicle_no: vehicleNo });
  const vehicle = { id: data.id, accountId, ownerUserId, vehicleNo, imei: null, driverId: null };
  const place = { latitude: 1, longitude: 2, gpsValid: true };
  const raised = { atMs: Date.now(), ...place, attributes: {}, backfilled: false };
  const all = types.map((type, at) => ({ vehicle, raised: { type, subject: `${vehicleNo} ${at}`, ...raised } }));
  return harness.deps.notifications.raise(all);
}

it('removes notifications after the retention of the account, critical ones after three years, with their claims', async () => {
  const { accountId } = harness.ours.owner;
  await raise(harness.ours.owner, 'OLD 1', ['idling', 'sos']);
  const left = async (): Promise<string[]> =>
    (await notifications().find({ accountId }).toArray()).map(({ type }) => type).toSorted();
  await harness.as(harness.ours.owner).put('/api/global-config', { retention: { notifications_days: 30 } });
  expect(await sweep(29)).toBeNull();
  expect(await left()).toEqual(['idling', 'sos']);
  expect(await sweep(31)).toBeNull();
  expect(await left()).toEqual(['sos']);
  expect(await claims()).toBe(1);
  await sweep(3 * 365 - 1);
  expect(await left()).toEqual(['sos']);
  await sweep(3 * 365 + 1);
  expect(await left()).toEqual([]);
  expect(await claims()).toBe(0);
});

it('removes a few notifications in each slice, and continues with the next account after a completed one', async () => {
  const owners = [harness.ours.owner, harness.theirs.owner].toSorted((a, b) => a.accountId - b.accountId);
  for (const [at, owner] of owners.entries()) await raise(owner, `PART ${at}`, Array(25).fill('idling'));
  const left = () => Promise.all(owners.map(({ accountId }) => notifications().countDocuments({ accountId })));
  const [first = 0, second = 0] = owners.map(({ accountId }) => accountId);
  const seen: number[][] = [];
  let turns = 0;
  for (let from: number | null = first; from !== null && turns < 50; turns += 1) {
    from = await sweep(400, { from, isOver: () => true });
    const now = await left();
    // No slice leaves the claims of the notifications that it removed.
    expect(await claims()).toBe(now.reduce((sum, each) => sum + each, 0));
    if (from === first || from === second) seen.push(now);
  }
  expect(turns).toBeLessThan(50);
  expect(seen.slice(0, 3)).toEqual([
    [15, 25],
    [5, 25],
    [0, 25],
  ]);
  expect(seen.slice(-3)).toEqual([
    [0, 15],
    [0, 5],
    [0, 0],
  ]);
});

it('releases the server times of notifications a few at a time', async () => {
  const times = harness.deps.database.collection('notification_times');
  await purgeServerTimes(harness.deps.database, whole, inDays(9));
  await raise(harness.ours.owner, 'TIMES 1', Array(25).fill('idling'));
  const left: number[] = [];
  for (let next: number | null = 1; next !== null && left.length < 9; ) {
    next = await purgeServerTimes(harness.deps.database, { from: next, isOver: () => true }, inDays(2));
    left.push(await times.countDocuments());
  }
  // The slice after the last removal detects that nothing is left.
  expect(left).toEqual([15, 5, 0, 0]);
});
