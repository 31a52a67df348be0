import { fleetChanged, type LiveEvents, liveEvents, subscribe } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

describe('changes of the fleet', () => {
  let harness: PlatformHarness;
  const received: LiveEvents[] = [];
  const changes: { accountId: number; kind: string }[] = [];
  const stops: (() => void)[] = [];

  beforeAll(async () => {
    harness = await PlatformHarness.open();
    const onError = (error: unknown) => {
      throw error;
    };
    for (const listener of [
      subscribe(harness.bus, liveEvents, onError, (event) => received.push(event)),
      subscribe(harness.bus, fleetChanged, onError, (event) => changes.push(event)),
    ])
      stops.push(() => listener.stop());
  });
  beforeEach(() => {
    received.length = 0;
    changes.length = 0;
  });
  afterAll(async () => {
    for (const stop of stops) stop();
    await harness.close();
  });

  const vehicleEvents = () =>
    received.flatMap(({ accountId, events }) =>
      events.filter(({ type }) => type === 'vehicle').map(({ data }) => ({ accountId, ...data })),
    );

  it('of vehicles are published to websockets and caches', async () => {
    const { accountId, owner } = harness.ours;
    const api = harness.as(owner);
    const { id } = (await api.post('/api/vehicles', { vehicle_no: 'LIVE1' })).data;
    await api.put(`/api/vehicles/${id}`, { color: 'red' });
    await api.delete(`/api/vehicles/${id}`);
    await waitFor(async () => vehicleEvents().length >= 3);
    expect(vehicleEvents()).toEqual(
      ['created', 'updated', 'removed'].map((action) => ({ accountId, vehicle_id: id, action })),
    );
    expect(changes.filter(({ kind }) => kind === 'vehicles')).toHaveLength(3);
  });

  it('of many vehicles name each of them', async () => {
    const api = harness.as(harness.ours.owner);
    const ids: number[] = [];
    for (const vehicle_no of ['MANY1', 'MANY2']) ids.push((await api.post('/api/vehicles', { vehicle_no })).data.id);
    await waitFor(() => vehicleEvents().length === ids.length);
    received.length = 0;
    await api.post('/api/drivers', { name: 'Many', vehicle_ids: ids });
    await waitFor(async () => vehicleEvents().length >= 2);
    expect(vehicleEvents().map((event) => ({ ...event, accountId: 0 }))).toEqual(
      ids.map((id) => ({ accountId: 0, vehicle_id: id, action: 'updated' })),
    );
    expect(changes.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['drivers', 'vehicles']));
  });

  it('of shares are published to both accounts', async () => {
    const api = harness.as(harness.ours.owner);
    const { id } = (await api.post('/api/vehicles', { vehicle_no: 'SHARED1' })).data;
    await waitFor(() => vehicleEvents().length === 1);
    received.length = 0;
    const given = { secondary_user: harness.theirs.owner.id, vehicles: [id] };
    expect((await api.post('/api/vehicle/share-vehicles', given)).status).toBeLessThan(300);
    await waitFor(async () => vehicleEvents().some(({ accountId }) => accountId === harness.theirs.accountId));
    expect(vehicleEvents()).toEqual(
      [harness.ours, harness.theirs].map(({ accountId }) => ({ accountId, vehicle_id: id, action: 'shared' })),
    );
  });

  it.each([
    ['groups', '/api/vehicle-groups', { name: 'Watched group' }],
    ['geofences', '/api/geofences', { name: 'Watched', type: 'circle', coordinates: [[22.5, 114]], radius_m: 100 }],
    [
      'routes',
      '/api/routes',
      {
        name: 'Watched',
        waypoints: [
          { lat: 22.5, lng: 114 },
          { lat: 22.6, lng: 114.1 },
        ],
      },
    ],
  ])('of %s invalidate caches', async (kind, path, body) => {
    const made = await harness.as(harness.ours.owner).post(path, body);
    expect(made.status).toBe(201);
    await waitFor(async () => changes.some((change) => change.kind === kind));
    expect(changes).toContainEqual({ accountId: harness.ours.accountId, kind });
  });

  it('of more vehicles than fit into one message are published in several', async () => {
    const { accountId } = harness.ours;
    const ids = Array.from({ length: 20_000 }, (_unused, at) => ({ _id: 5_000_000 + at }));
    harness.records.notifyChanged({ collection: 'vehicles', accountId, action: 'updated', records: ids });
    await waitFor(() => vehicleEvents().length >= ids.length);
    expect(new Set(received.flatMap(({ events }) => events.map(({ vehicleId }) => vehicleId))).size).toBe(ids.length);
  });

  it('of preferences invalidate caches', async () => {
    const api = harness.as(harness.ours.owner);
    expect((await api.put('/api/user-preferences/me', { language: 'es' })).status).toBe(200);
    await waitFor(async () => changes.some(({ kind }) => kind === 'preferences'));
    expect(changes).toContainEqual({ accountId: harness.ours.accountId, kind: 'preferences' });
  });
});
