import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { ensureDemoFleet } from './demo-fleet.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness?.close());

const terminals = ['013800138001', '013800138002', '00000000013800138003'];

describe('demo fleet', () => {
  it('creates vehicles, drivers and groups once, and does not restore deleted vehicles', async () => {
    const owner = { _id: harness.ours.owner.id, accountId: harness.ours.accountId };
    const ensure = () => ensureDemoFleet(harness.deps, owner, terminals);
    await Promise.all([ensure(), ensure()]);
    const client = harness.as(harness.ours.owner);
    const vehicles = (await client.get('/api/vehicles?sort=id')).items;
    expect(vehicles.map((vehicle) => vehicle['imei'])).toEqual(terminals);
    const drivers = (await client.get('/api/drivers?sort=id')).items;
    expect(drivers.map((driver) => driver['vehicle_ids'])).toEqual(
      expect.arrayContaining([[vehicles[0]?.id], [vehicles[1]?.id]]),
    );
    expect(drivers).toHaveLength(2);
    expect((await client.get('/api/vehicle-groups?folderView=true')).items).toMatchObject([
      { name: 'Demo fleet', vehicle_count: 3, children: [{ name: 'North depot' }, { name: 'South depot' }] },
    ]);
    await client.delete(`/api/vehicles/${vehicles[0]?.id}`);
    await ensure();
    expect((await client.get('/api/vehicles')).items).toHaveLength(2);
  });

  it('finds its vehicles by their terminals while another replica is creating them', async () => {
    const tenant = await harness.tenant('Two replicas');
    const own = ['013800138011', '013800138012', '013800138013'];
    // The vehicle number is reserved before the vehicle exists.
    const collection = harness.records.collection.bind(harness.records);
    const slow = jest.spyOn(harness.records, 'collection').mockImplementation((name) => {
      const found = collection(name);
      const insertOne = found.insertOne.bind(found);
      if (name === 'vehicles')
        found.insertOne = async (...args: Parameters<typeof insertOne>) => {
          await delay(300);
          return insertOne(...args);
        };
      return found;
    });
    const owner = { _id: tenant.owner.id, accountId: tenant.accountId };
    await Promise.all([ensureDemoFleet(harness.deps, owner, own), ensureDemoFleet(harness.deps, owner, own)]);
    slow.mockRestore();
    const client = harness.as(tenant.owner);
    const ids = (await client.get('/api/vehicles?sort=id')).items.map(({ id }) => id);
    const drivers = (await client.get('/api/drivers')).items;
    expect(new Set(drivers.flatMap((driver) => driver['vehicle_ids']))).toEqual(new Set(ids.slice(0, 2)));
  });

  it('does not take over terminals of another account', async () => {
    const owner = { _id: harness.theirs.owner.id, accountId: harness.theirs.accountId };
    await ensureDemoFleet(harness.deps, owner, terminals.slice(1));
    expect((await harness.as(harness.theirs.owner).get('/api/vehicles')).items).toEqual([]);
  });
});
