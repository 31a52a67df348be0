import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { openDriverSession } from '../domains/drivers/sessions.ts';
import { driverCollection } from '../domains/drivers/store.ts';
import { vehicleCollection } from '../domains/vehicles/store.ts';
import { lastLocationAt, writeLastLocation } from '../testing/last-location.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { makeTenantData } from '../testing/tenant-data.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness?.close());

/** Returns the fields of a document that name vehicles and contain the id, as `collection.field`. */
function findReferences(id: number, name: string, document: object): string[] {
  const found: string[] = [];
  const visit = (value: unknown, field: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, field);
    else if (typeof value === 'object' && value !== null && !(value instanceof Date))
      for (const [key, part] of Object.entries(value)) visit(part, key);
    else if (value === id && /vehicle/i.test(field)) found.push(`${name}.${field}`);
  };
  visit(document, '');
  return found;
}

async function listReferences(id: number): Promise<string[]> {
  const { db } = harness.deps.database;
  const names = (await db.listCollections().toArray()).map(({ name }) => name);
  const references = await Promise.all(
    names.map(async (name) => {
      const documents = await db.collection(name).find({}).toArray();
      return documents.flatMap((document) => findReferences(id, name, document));
    }),
  );
  return [...new Set(references.flat())].toSorted();
}

/** Fields of historical records. They are retained for their time and have no further effect. */
const history = [
  'audit_log.vehicle_id',
  'audit_log.vehicles',
  'captures.vehicleId',
  'chat_messages.vehicleId',
  'commands.vehicleId',
  'media.vehicleId',
  'notifications.vehicleId',
  'orders.vehicleIds',
  'position_buckets.vehicleId',
  'position_days.vehicleId',
  'share_links.vehicleId',
  'subscriptions.vehicleId',
  'support_tickets.vehicleId',
  'webhook_deliveries.vehicleId',
];

describe('deleted vehicles', () => {
  it("leaves the vehicle's id only in historical records", async () => {
    const tenant = await harness.tenant('Leaving');
    const client = harness.as(tenant.owner);
    const { names } = await makeTenantData(harness, tenant, 'LEAVING');
    const id = Number(names['vehicle']);
    const other = (await client.post('/api/vehicles', { vehicle_no: 'STAYS 1' })).data.id;
    const both = [id, other];
    const way = {
      waypoints: [
        { lat: 22.5, lng: 114 },
        { lat: 22.6, lng: 114.1 },
      ],
    };
    const route = (await client.post('/api/routes', { name: 'Both', ...way })).data.id;
    for (const vehicle of both) await client.post(`/api/vehicles/${vehicle}/link-route`, { route_ids: [route] });
    const circle = { type: 'circle', coordinates: [[22.5, 114]], radius_m: 100 };
    const geofence = (await client.post('/api/geofences', { name: 'Both', ...circle, vehicles: both })).data.id;
    const group = (await client.post('/api/vehicle-groups', { name: 'Both', vehicles: both })).data.id;
    const driver = (await client.post('/api/drivers', { name: 'Both', vehicle_ids: both })).data.id;
    const [stored, atWheel] = [
      await vehicleCollection(harness.records).find(tenant, id),
      await driverCollection(harness.records).find(tenant, driver),
    ];
    if (stored === null || atWheel === null) throw new Error('they are not there');
    await openDriverSession(harness.deps, stored, atWheel);
    const url = 'https://93.184.216.34/both';
    const webhook = (await client.post('/api/user-webhooks', { url, vehicle_ids: both })).data.id;
    await client.post(`/api/notifications/update-preferences/${id}`, { notification_types: ['sos'] });
    await client.post(`/api/subscription/orders/${names['order']}/mark-paid`);
    const imei = String(names['imei']);
    await writeLastLocation(harness.deps, lastLocationAt(imei, 22.5, 114));
    const named = await listReferences(id);
    expect(named).toEqual(
      expect.arrayContaining([
        'drivers.currentVehicleId',
        'geofences.vehicles',
        'routes.vehicleIds',
        'webhooks.vehicleIds',
      ]),
    );

    expect((await client.delete(`/api/vehicles/${id}`)).status).toBe(200);
    // The last id stays in the list of a geofence or webhook, because an empty list would mean all vehicles.
    const lastItem = ['geofences.vehicles', 'webhooks.vehicleIds'];
    expect((await listReferences(id)).filter((reference) => !history.includes(reference))).toEqual(lastItem);
    for (const path of [`/api/geofences/${geofence}`, `/api/vehicle-groups/${group}`])
      expect((await client.get(path)).data['vehicles']).toEqual([other]);
    expect((await client.get(`/api/drivers/${driver}`)).data).toMatchObject({
      vehicle_ids: [other],
      current_vehicle_id: null,
    });
    expect((await client.get(`/api/user-webhooks/${webhook}`)).data['vehicle_ids']).toEqual([other]);
    expect((await client.get(`/api/vehicles/${other}/list-linked-routes`)).items).toMatchObject([{ id: route }]);
    const command = await harness.records.collection('commands').findOne({ commandId: names['command'] } as object);
    expect(command).toMatchObject({ status: 'canceled' });

    const next = await harness.as(harness.theirs.owner).post('/api/vehicles', { vehicle_no: 'NEXT 1', imei });
    expect(next).toMatchObject({ status: 201, data: { location: null, state: 'never_connected' } });
    const commands = await harness.as(harness.theirs.owner).get(`/api/vehicles/${next.data.id}/commands`);
    expect(commands.items).toEqual([]);
  });

  /** Each domain whose records name vehicles, and its action when a vehicle is deleted. */
  const domains: Readonly<Record<string, string>> = {
    messaging: 'history',
    billing: 'history of payments',
    captures: 'history',
    'data-usage': 'history',
    drivers: "ends the driver's session",
    commands: 'cancels queued commands; other commands are history',
    geofences: 'removes the id from lists',
    media: 'history',
    'mining-devices': 'stores vehicle numbers of its own, as text',
    notifications: 'deletes preferences; notifications are history',
    partners: 'names no vehicle in its records',
    positions: 'history',
    'planned-routes': 'removes the id from lists',
    'share-links': 'ends links of the vehicle',
    'vehicle-shares': 'ends shares of the vehicle',
    'vehicle-states': 'deletes its state',
    'support-tickets': 'history',
    'toll-gates': 'has vehicle classes, and no vehicles',
    'vehicle-groups': 'derives its vehicles from vehicle records',
    vehicles: 'owns the record, which contains driver, owner and groups',
    webhooks: 'removes the id from lists',
  };

  it('lists an action for every domain whose records name vehicles', () => {
    const root = new URL('../domains/', import.meta.url);
    const names = /readonly \w*vehicle\w*\??:/i;
    const namingDomains = readdirSync(root).filter((domain) =>
      readdirSync(new URL(`${domain}/`, root))
        .filter((file) => /^(schema|store)\.ts$/.test(file))
        .some((file) => names.test(readFileSync(new URL(`${domain}/${file}`, root), 'utf8'))),
    );
    expect(namingDomains.filter((domain) => !(domain in domains))).toEqual([]);
  });
});
