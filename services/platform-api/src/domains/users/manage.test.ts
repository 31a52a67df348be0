import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformWorld } from '../../testing/platform-world.ts';
import { webhooksOf } from '../webhooks/store.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: PlatformWorld;
let owner: Client;
let vehicleId: number;
beforeAll(async () => {
  world = await PlatformWorld.open();
  owner = world.as(world.ours.owner);
  vehicleId = (await owner.post('/api/vehicles', { vehicle_no: 'Manage 1' })).data.id;
});
afterAll(() => world.close());

/** A manager with a webhook and a share link, and how these are now. */
async function managerWithBoth() {
  const user = await world.user('manager');
  const client = world.as(user);
  const webhook = await client.post('/api/user-webhooks', { url: 'https://9.9.9.9/fleet/hook' });
  const link = await client.post('/api/share-links', { vehicle_id: vehicleId, expires_in_hours: 2 });
  expect([webhook.status, link.status]).toEqual([201, 201]);
  const standing = async () => ({
    webhook: (await webhooksOf(world.records).find(world.ours, webhook.data.id))?.enabled,
    link: (await world.anonymous.get(`/api/public/share-links/${String(link.data['slug'])}`)).status,
  });
  return { path: `/api/users/${user.id}`, standing };
}

describe('webhooks and share links of a user', () => {
  it.each([[{ disabled: true }], [{ role: 'viewer' }], [{ role: 'driver' }]])(
    'end with the change %j',
    async (change) => {
      const { path, standing } = await managerWithBoth();
      const others = await managerWithBoth();
      expect(await standing()).toEqual({ webhook: true, link: 200 });
      expect((await owner.put(path, change)).status).toBe(200);
      expect(await standing()).toEqual({ webhook: false, link: 410 });
      expect(await others.standing()).toEqual({ webhook: true, link: 200 });
    },
  );

  it('stay with what takes no right to them away, and come back by nobody’s hand but the user’s', async () => {
    const { path, standing } = await managerWithBoth();
    for (const change of [{ name: 'Other' }, { role: 'admin' }]) await owner.put(path, change);
    expect(await standing()).toEqual({ webhook: true, link: 200 });
    for (const disabled of [true, false]) await owner.put(path, { disabled });
    expect(await standing()).toEqual({ webhook: false, link: 410 });
  });
});
