import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { PlatformWorld } from '../../testing/platform-world.ts';
import { removeOldNotifications } from './retention.ts';
import type { Notification } from './schema.ts';

jest.setTimeout(60_000);
let world: PlatformWorld;
beforeAll(async () => {
  world = await PlatformWorld.open({ PLATFORM_ROLES: 'api' });
});
afterAll(() => world.close());

it('removes what is older than the account wants, critical ones after three years, with the claims of their keys', async () => {
  const { accountId, id: ownerUserId } = world.ours.owner;
  const { data } = await world.as(world.ours.owner).post('/api/vehicles', { vehicle_no: 'OLD 1' });
  const vehicle = { id: data.id, accountId, ownerUserId, vehicleNo: 'OLD1', imei: null, driverId: null };
  const place = { latitude: 1, longitude: 2, gpsValid: true };
  const raise = (type: string, subject: string) => {
    const raised = { type, subject, atMs: Date.now(), ...place, attributes: {}, backfilled: false };
    return world.deps.notifications.raise([{ vehicle, raised }]);
  };
  await raise('idling', 'a');
  await raise('sos', 'b');
  const left = async (): Promise<string[]> =>
    (await world.records.collection<Notification>('notifications').find({ accountId }).toArray()).map(
      ({ type }) => type,
    );
  const claims = () =>
    world.deps.database
      .collection<{ _id: string }>('unique_values')
      .countDocuments({ _id: { $regex: '^notifications' } });
  const inDays = (days: number): number => Date.now() + days * 24 * 3_600_000;
  await world.as(world.ours.owner).put('/api/global-config', { retention: { notifications_days: 30 } });
  expect(await removeOldNotifications(world.deps, inDays(29))).toBe(0);
  expect(await removeOldNotifications(world.deps, inDays(31))).toBe(1);
  expect(await left()).toEqual(['sos']);
  expect(await claims()).toBe(1);
  expect(await removeOldNotifications(world.deps, inDays(3 * 365 - 1))).toBe(0);
  expect(await removeOldNotifications(world.deps, inDays(3 * 365 + 1))).toBe(1);
  expect(await claims()).toBe(0);
});
