import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NotificationHarness } from '../../testing/notification-harness.ts';
import type { Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { wantedNotifications } from './preferences.ts';
import { defaultTypes } from './rules.ts';

jest.setTimeout(60_000);

const base = '/api/notifications';
let tested: NotificationHarness;
let platform: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  tested = await NotificationHarness.open();
  ({ platform, owner } = tested);
});
afterAll(() => tested.close());
beforeEach(async () => {
  tested.vehicleId = await tested.createVehicle();
});

describe('vehicle preferences', () => {
  const write = (body: unknown, client = owner, id = tested.vehicleId) =>
    client.post(`${base}/update-preferences/${id}`, body);
  const read = (client = owner, id = tested.vehicleId) => client.get(`${base}/vehicle-preferences/${id}`);

  it('returns the preferences of each user, and the default until they are set', async () => {
    expect((await read()).body).toEqual({
      data: { vehicle_id: tested.vehicleId, notification_types: defaultTypes, channels: ['push'], is_default: true },
    });
    const set = await write({ notification_types: ['sos', 'geofence', 'sos'], channels: ['email', 'sms'] });
    expect(set.status).toBe(200);
    const data = {
      vehicle_id: tested.vehicleId,
      notification_types: ['sos', 'geofence'],
      channels: ['sms', 'email'],
      is_default: false,
    };
    expect(set.body).toEqual({ data });
    expect((await read()).body).toEqual({ data });
    expect((await read(platform.as(await platform.user('viewer')))).data).toMatchObject({ is_default: true });
    await write({ notification_types: [] });
    const muted = { notificationTypes: [], channels: ['sms', 'email'], isDefault: false };
    expect(await wantedNotifications(platform.deps, platform.ours.owner.id, tested.vehicleId)).toEqual(muted);
  });

  it('accepts preferences from every role that sees the vehicle', async () => {
    const guest = await platform.user('viewer', platform.theirs);
    const asGuest = platform.as(guest);
    expect((await write({ notification_types: ['sos'] }, asGuest)).body).toMatchObject({ code: 'vehicle_not_found' });
    expect((await read(asGuest)).status).toBe(404);
    await tested.share(guest, ['live_video']);
    expect((await write({ notification_types: ['sos'] }, asGuest)).status).toBe(403);
    await tested.share(guest, ['notifications']);
    expect((await write({ notification_types: ['sos'] }, asGuest)).status).toBe(200);
    expect((await read()).data).toMatchObject({ is_default: true });
  });

  it('creates one record for several concurrent requests', async () => {
    const responses = await Promise.all(
      ['sos', 'towing', 'idling'].map((type) => write({ notification_types: [type] })),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await read()).data['notification_types']).toHaveLength(1);
  });

  it.each([
    ['/notification_types/1', { notification_types: ['sos', 'SOS'] }],
    ['/notification_types', {}],
    ['/notification_types', { notification_types: 'sos' }],
    ['/channels/0', { notification_types: [], channels: ['pigeon'] }],
  ])('rejects an invalid value at %s', async (path, body) => {
    expect((await write(body)).body).toMatchObject({ status: 400, details: [{ path }] });
  });
});
