import { randomInt } from 'node:crypto';
import type { Collection } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { type RecordFields, RecordStore } from '../../store/record-store.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { driverCollection } from '../drivers/store.ts';
import { createDriver, updateDriver } from '../drivers/use-cases.ts';
import { geofenceCollection } from '../geofences/store.ts';
import { linkRoutes } from '../planned-routes/links.ts';
import { createGroup, updateGroup } from '../vehicle-groups/commands.ts';
import { createVehicle, updateVehicle } from './commands.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let caller: Caller;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  const { id: userId, accountId, role } = harness.ours.owner;
  const session = { sessionId: null, mintedByKeyId: null, keyId: null, scopes: [] };
  caller = { userId, accountId, role, canViewVideo: true, ...session };
});
afterAll(() => harness?.close());

const writes = new Set<PropertyKey>(['insertOne', 'updateMany', 'findOneAndUpdate']);

/**
 * Record store that runs an operation before its first write to a collection: after the check of a link, and before the
 * link.
 */
class Interrupted extends RecordStore {
  readonly #name: string;
  #concurrently: (() => Promise<unknown>) | null;

  constructor(name: string, concurrently: () => Promise<unknown>) {
    super(harness.deps.database);
    this.#name = name;
    this.#concurrently = concurrently;
  }

  override collection<T extends RecordFields>(name: string): Collection<T> {
    const collection = super.collection<T>(name);
    if (name !== this.#name) return collection;
    return new Proxy(collection, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const call = (): unknown => Reflect.apply(value, target, args);
          return writes.has(key) ? this.#interrupt().then(call) : call();
        };
      },
    });
  }

  async #interrupt(): Promise<void> {
    const concurrently = this.#concurrently;
    this.#concurrently = null;
    await concurrently?.();
  }
}

/** Returns dependencies that delete a record before the first write to a collection. */
const whileDeleting = (path: string, name: string): Deps => ({
  ...harness.deps,
  records: new Interrupted(name, async () => {
    expect((await owner.delete(path)).status).toBe(200);
  }),
});

const made = async (path: string, body: object): Promise<number> => (await owner.post(path, body)).data.id;
const vehicle = () => made('/api/vehicles', { vehicle_no: `GL${randomInt(10 ** 9)}` });
const driver = () => made('/api/drivers', { name: 'Leaving' });
const group = () => made('/api/vehicle-groups', { name: `G${randomInt(10 ** 9)}` });
const corners = [
  [1, 1],
  [1, 2],
  [2, 2],
];
const geofence = () => made('/api/geofences', { name: 'Leaving', coordinates: corners });

const noHooks = { terminalAssigned: [], deleted: [], terminalRemoved: [] };

describe('records that are deleted while they are being linked', () => {
  it('are removed from a vehicle: a driver and a group', async () => {
    const id = await vehicle();
    const [driver_id, group_id] = [await driver(), await group()];
    const change = { driver_id, group_ids: [group_id] };
    const body = { vehicle_no: `GL${randomInt(10 ** 9)}`, ...change };
    const withoutDriver = await createVehicle(
      whileDeleting(`/api/drivers/${driver_id}`, 'vehicles'),
      caller,
      body,
      noHooks,
      'x',
    );
    expect(withoutDriver).toMatchObject({ driver_id: null, group_ids: [group_id] });
    const next = { ...change, driver_id: await driver() };
    const deps = whileDeleting(`/api/vehicle-groups/${group_id}`, 'vehicles');
    const response = await updateVehicle(deps, caller, id, next, noHooks, undefined);
    expect(response).toMatchObject({ driver_id: next.driver_id, group_ids: [] });
    expect((await owner.get(`/api/vehicles/${id}`)).data).toMatchObject({ ...next, group_ids: [] });
  });

  it('have no vehicles: a driver and a group', async () => {
    const id = await vehicle();
    const of = async () => (await owner.get(`/api/vehicles/${id}`)).data;
    const [driverId, groupId] = [await driver(), await group()];
    const driverDeps = whileDeleting(`/api/drivers/${driverId}`, 'vehicles');
    await updateDriver(driverDeps, caller, driverId, { vehicle_ids: [id] }, undefined);
    expect(await of()).toMatchObject({ driver_id: null });
    const groupDeps = whileDeleting(`/api/vehicle-groups/${groupId}`, 'vehicles');
    const gone = updateGroup(groupDeps, caller, groupId, { add_vehicles: [id] }, undefined);
    await expect(gone).rejects.toMatchObject({ code: 'not_found' });
    expect(await of()).toMatchObject({ group_ids: [] });
  });

  it('are removed from a group: a driver and a geofence', async () => {
    const [person, area] = [await driver(), await geofence()];
    const body = { name: `G${randomInt(10 ** 9)}`, drivers: [person], geofences: [area] };
    const created = await createGroup(whileDeleting(`/api/drivers/${person}`, 'vehicle_groups'), caller, body);
    expect(created).toMatchObject({ drivers: [], geofences: [area] });
    const other = await group();
    const deps = whileDeleting(`/api/geofences/${area}`, 'vehicle_groups');
    expect(await updateGroup(deps, caller, other, { geofences: [area] }, undefined)).toMatchObject({ geofences: [] });
  });

  it('are not linked to a route: a vehicle', async () => {
    const id = await vehicle();
    const waypoints = [
      { lat: 1, lng: 1 },
      { lat: 2, lng: 2 },
    ];
    const route = await made('/api/routes', { name: 'Linked', waypoints });
    const linking = linkRoutes(whileDeleting(`/api/vehicles/${id}`, 'routes'), caller, id, [route]);
    await expect(linking).rejects.toMatchObject({ code: 'vehicle_not_found' });
    expect((await owner.get(`/api/routes/${route}`)).data).toMatchObject({ vehicle_ids: [] });
  });

  it('can be sent back as they were read if a crash has left them linked', async () => {
    const scope = { accountId: caller.accountId };
    const [person, area] = [await driver(), await geofence()];
    const path = `/api/vehicles/${await made('/api/vehicles', { vehicle_no: `GL${randomInt(10 ** 9)}`, driver_id: person })}`;
    const links = { drivers: [person], geofences: [area] };
    const groupPath = `/api/vehicle-groups/${await made('/api/vehicle-groups', { name: 'Left', ...links })}`;
    await driverCollection(harness.records).remove(scope, person);
    await geofenceCollection(harness.records).remove(scope, area);
    const read = (await owner.get(path)).data;
    expect(read['driver_id']).toBe(person);
    expect(await owner.put(path, read)).toMatchObject({ status: 200, data: { driver_id: null } });
    const back = await owner.put(groupPath, (await owner.get(groupPath)).data);
    expect(back).toMatchObject({ status: 200, data: { drivers: [], geofences: [] } });
  });
});

describe('concurrent replacements of vehicles', () => {
  it('store the vehicles of one request only, in a group and for a driver', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, vehicle));
    const groupPath = `/api/vehicle-groups/${await group()}`;
    const person = (await createDriver(harness.deps, caller, { name: 'Wanted' })).id;
    await Promise.all(ids.map((id) => owner.put(groupPath, { vehicles: [id] })));
    await Promise.all(ids.map((id) => owner.put(`/api/drivers/${person}`, { vehicle_ids: [id] })));
    expect((await owner.get(groupPath)).data['vehicles']).toHaveLength(1);
    expect((await owner.get(`/api/drivers/${person}`)).data['vehicle_ids']).toHaveLength(1);
  });
});
