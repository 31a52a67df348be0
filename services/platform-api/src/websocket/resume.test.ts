import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { toNotificationResponse } from '../domains/notifications/responses.ts';
import type { Notification } from '../domains/notifications/schema.ts';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness, type TestEvent } from '../testing/live-harness.ts';
import { recordTestNotification } from '../testing/notifications.ts';
import type { PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
let vehicleId: number;
beforeAll(async () => {
  live = await LiveHarness.open();
  harness = live.harness;
});
afterAll(() => live.close());
beforeEach(async () => {
  vehicleId = (await live.newVehicle()).id;
});
afterEach(() => live.hangUp());

/** Creates a recorded notification. */
const record = (type = 'sos', of: Partial<Notification> = {}): Promise<Notification> =>
  recordTestNotification(harness.deps, harness.ours.accountId, { vehicleId, type, ...of });

/** Publishes the event of a record, as the rules do. */
const eventOf = (notification: Notification): TestEvent => ({
  type: 'notification',
  vehicleId: notification.vehicleId,
  data: { ...toNotificationResponse(notification), user: harness.ours.owner.id },
});

const toViewerEvent = (client: LiveClient) => client.of('notification').map(({ data }) => data['id']);

describe('resume', () => {
  it('sends missed notifications in order, then live ones, and none twice', async () => {
    const records = [];
    for (let n = 0; n < 5; n += 1) records.push(await record());
    const [first, , , fourth, fifth] = records as [
      Notification,
      Notification,
      Notification,
      Notification,
      Notification,
    ];
    const client = await live.as(harness.ours.owner);
    // Published before the resume, and once more afterwards.
    live.publish(vehicleId, [eventOf(fourth)]);
    await client.next('notification');
    client.send({ type: 'resume', since: first._id });
    live.publish(vehicleId, [eventOf(fifth)]);
    await client.next('notification', 4);
    const later = await record();
    live.publish(vehicleId, [eventOf(fifth), eventOf(later), eventOf(later)]);
    await client.next('notification', 5);
    await client.settle();
    const ids = toViewerEvent(client);
    expect(new Set(ids)).toEqual(new Set([...records.slice(1), later].map(({ _id }) => _id)));
    expect(ids).toHaveLength(5);
    expect(ids.at(-1)).toBe(later._id);
    const [, second] = client.of('notification');
    expect(second?.data).toMatchObject({ notification_type: 'sos', user: harness.ours.owner.id, driver_id: 9 });
    expect(client.of('error')).toEqual([]);
  });

  it('loses no notification that is recorded while it runs', async () => {
    const since = await record();
    const client = await live.as(harness.ours.owner, live.replicaBase);
    const expected: number[] = [];
    for (let n = 0; n < 30; n += 1) {
      if (n === 10) client.send({ type: 'resume', since: since._id });
      const made = await record('overspeed');
      expected.push(made._id);
      live.publish(vehicleId, [eventOf(made)]);
    }
    await client.next('notification', expected.length);
    await client.settle();
    expect(new Set(toViewerEvent(client))).toEqual(new Set(expected));
    expect(toViewerEvent(client)).toHaveLength(expected.length);
  });

  it('repeats changed notifications', async () => {
    const made = await record();
    const client = await live.as(harness.ours.owner);
    live.publish(vehicleId, [
      eventOf(made),
      eventOf({ ...made, version: 2, attributes: '{"count":2}' }),
      eventOf(made),
    ]);
    await client.next('notification', 2);
    await client.settle();
    expect(client.of('notification').map(({ data }) => data['version'])).toEqual([1, 2]);
  });

  it('covers the last 24 hours, the preferences of the user, and the subscriptions of the client', async () => {
    const since = await record();
    const wanted = await record('geofence');
    await record('ignition_on');
    const { id: other } = await live.newVehicle();
    await record('sos', { vehicleId: other });
    const old = await record();
    await harness.records
      .collection<Notification>('notifications')
      .updateOne({ _id: old._id }, { $set: { createdAt: new Date(Date.now() - 25 * 3_600_000) } });
    const client = await live.as(harness.ours.owner);
    client.send({ type: 'subscribe', vehicles: [vehicleId], events: ['notification'] });
    client.send({ type: 'resume', since: since._id });
    await client.next('notification');
    await client.settle();
    expect(toViewerEvent(client)).toEqual([wanted._id]);
  });

  it('sends a guest notifications of shared vehicles only, as the share permits', async () => {
    const since = await record();
    const { id: other } = await live.newVehicle();
    const guest = await harness.user('manager', harness.theirs);
    const share = (vehicles: number[], permissions: string[]) =>
      live.owner.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles, permissions });
    await share([vehicleId], ['view', 'notifications']);
    await share([other], ['view']);
    const wanted = await record('sos', {
      attributes: '{"driver_id":9,"count":2}',
      address: 'Shenzhen',
      area: 'Depot of Ann',
    });
    await record('sos', { vehicleId: other });
    // It has passed to another user since it was shared.
    const heir = await harness.user('manager');
    expect((await live.owner.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: heir.id })).status).toBe(200);
    const client = await live.as(guest);
    client.send({ type: 'resume', since: since._id });
    const { data } = await client.next('notification');
    await client.settle();
    expect(toViewerEvent(client)).toEqual([wanted._id]);
    expect(data).toMatchObject({ driver_id: null, attributes: { count: 2 }, user: heir.id });
    expect(data['attributes']).not.toHaveProperty('driver_id');
    expect(data['address']).toBe('Shenzhen');
    expect(data).not.toHaveProperty('area');
    const stranger = await live.as(harness.theirs.owner);
    stranger.send({ type: 'resume', since: 0 });
    await stranger.settle();
    expect(toViewerEvent(stranger)).toEqual([]);
  });

  it('sends the newest 500, and reports that there were more', async () => {
    const since = await record();
    const last = since._id + 600;
    // As one write, because ids are irrelevant here.
    await harness.records
      .collection<Notification>('notifications')
      .insertMany(
        Array.from({ length: 600 }, (_unused, n) => ({ ...since, _id: since._id + n + 1, dedupeKey: `many-${n}` })),
      );
    const client = await live.as(harness.ours.owner);
    client.send({ type: 'resume', since: since._id, id: 'r' });
    expect((await client.next('error')).data).toMatchObject({ code: 'resume_incomplete', id: 'r' });
    await client.next('notification', 500);
    await client.settle();
    expect(toViewerEvent(client)).toEqual(Array.from({ length: 500 }, (_unused, n) => last - 499 + n));
    await harness.records.collection<Notification>('notifications').deleteMany({ vehicleId });
  });
});
