import { type LiveEvent, liveEvents, subscribe } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { NotificationHarness } from '../../testing/notification-harness.ts';
import type { Client, PlatformHarness } from '../../testing/platform-harness.ts';
import type { AuditEntry } from '../audit/schema.ts';

jest.setTimeout(60_000);

const base = '/api/notifications';
let tested: NotificationHarness;
let platform: PlatformHarness;
let owner: Client;
let stranger: Client;
beforeAll(async () => {
  tested = await NotificationHarness.open();
  ({ platform, owner, stranger } = tested);
});
afterAll(() => tested.close());
beforeEach(async () => {
  tested.vehicleId = await tested.createVehicle();
});

describe('POST /api/notifications/:id/acknowledge', () => {
  const acknowledge = (id: number, body?: unknown, client = owner) => client.post(`${base}/${id}/acknowledge`, body);

  it('stores the first user, the time and the note', async () => {
    const id = await tested.record('sos', Date.now());
    const first = await acknowledge(id, { note: 'called the driver' });
    expect(first.status).toBe(200);
    expect(first.data).toMatchObject({
      acknowledged_by: platform.ours.owner.id,
      attributes: { count: 2, acknowledge_note: 'called the driver' },
      version: 2,
    });
    const second = await acknowledge(id, undefined, platform.as(await platform.user('manager')));
    expect(second.data).toEqual(first.data);
  });

  it('confirms the alarm at the terminal, returns the result, and publishes the notification', async () => {
    const terminals = new FakeTerminals(platform.deps);
    const imei = newImei();
    tested.vehicleId = await tested.createVehicle(owner, { imei: imei.padStart(12, '0') });
    const events: LiveEvent[] = [];
    const listening = subscribe(platform.bus, liveEvents, console.error, (live) => events.push(...live.events));
    try {
      await terminals.connect(imei);
      const id = await tested.record('illegal_ignition', Date.now(), { imei, attributes: '{"bit":27}' });
      const { data } = await acknowledge(id, { note: 'seen' });
      const confirmed = () => terminals.seen.filter(({ command }) => command.kind === 'confirmAlarm');
      expect(confirmed().map(({ command }) => command)).toEqual([
        { kind: 'confirmAlarm', alarmSerialNo: 0, alarmTypes: 2 ** 27 },
      ]);
      expect(data).toMatchObject({ attributes: { bit: 27, acknowledge_note: 'seen', terminal_confirmed: true } });
      await waitFor(async () => events.some((event) => event.data['id'] === id));
      // Events have no names.
      const { driver_name: _driver, acknowledged_by_name: _user, ...content } = data;
      expect(events.find((event) => event.data['id'] === id)).toMatchObject({
        type: 'notification',
        vehicleId: tested.vehicleId,
        data: { ...content, user: platform.ours.owner.id },
      });
      // The alarm is confirmed once.
      expect((await acknowledge(id)).data).toEqual(data);
      expect(confirmed()).toHaveLength(1);
    } finally {
      listening.stop();
      await terminals.close();
    }
  });

  it('stores that the terminal is unavailable or refuses, and tries again with the next acknowledgement', async () => {
    const terminals = new FakeTerminals(platform.deps);
    const imei = newImei();
    tested.vehicleId = await tested.createVehicle(owner, { imei: imei.padStart(12, '0') });
    try {
      const id = await tested.record('sos', Date.now(), { imei, attributes: '{"bit":0}' });
      const away = await acknowledge(id);
      expect(away).toMatchObject({ status: 200, data: { attributes: { terminal_confirmed: false } } });
      await terminals.connect(imei);
      terminals.respond = async () => generalResponse(3, 0x8203);
      expect((await acknowledge(id)).data).toEqual(away.data);
      terminals.respond = async () => generalResponse(0, 0x8203);
      const { data } = await acknowledge(id);
      expect(data).toMatchObject({
        acknowledged_at: away.data['acknowledged_at'],
        attributes: { terminal_confirmed: true },
      });
      expect(terminals.seen).toHaveLength(2);
    } finally {
      await terminals.close();
    }
  });

  it('is recorded in the audit log of the vehicle’s account', async () => {
    const id = await tested.record('sos', Date.now());
    const guest = await platform.user('manager', platform.theirs);
    await tested.share(guest, ['notifications', 'commands']);
    await acknowledge(id, {}, platform.as(guest));
    const entries = platform.records
      .collection<AuditEntry>('audit_log')
      .find({ target: { type: 'notifications', id } });
    expect(await entries.toArray()).toMatchObject([
      {
        accountId: platform.ours.accountId,
        userId: guest.id,
        action: 'notifications.acknowledge',
        target: { type: 'notifications', id },
        detail: { vehicle_id: tested.vehicleId, type: 'sos' },
      },
    ]);
  });

  it('counts as a command in the bucket that device-api uses as well, and sends no command above its limit', async () => {
    const terminals = new FakeTerminals(platform.deps);
    const imei = newImei();
    tested.vehicleId = await tested.createVehicle(owner, { imei: imei.padStart(12, '0') });
    const bucket = `rate-limit:command:${imei}`;
    try {
      await terminals.connect(imei);
      const id = await tested.record('sos', Date.now(), { imei, attributes: '{"bit":0}' });
      // The bucket is empty, and its clock prevents a refill for a minute.
      await platform.deps.redis.set(bucket, `1000000.0000:${Date.now() + 60_000}`);
      expect(await acknowledge(id)).toMatchObject({
        status: 200,
        data: { acknowledged_by: platform.ours.owner.id, attributes: { terminal_confirmed: false } },
      });
      expect(terminals.seen).toEqual([]);
      await platform.deps.redis.del(bucket);
      expect((await acknowledge(id)).data).toMatchObject({ attributes: { terminal_confirmed: true } });
      expect(await platform.deps.redis.get(bucket)).toMatch(/^1\.0+:/);
    } finally {
      await platform.deps.redis.del(bucket);
      await terminals.close();
    }
  });

  it('confirms no alarms that end by themselves, and none whose terminal is in another vehicle', async () => {
    const terminals = new FakeTerminals(platform.deps);
    const imei = newImei();
    try {
      await terminals.connect(imei);
      await tested.createVehicle(stranger, { imei: imei.padStart(12, '0') });
      const ids = [
        await tested.record('power_cut', Date.now(), { imei, attributes: '{"bit":8}' }),
        await tested.record('unknown_alarm', Date.now(), { imei, attributes: '{"bit":31}' }),
        await tested.record('sos', Date.now(), { imei, attributes: '{"bit":0}' }),
      ];
      const responses = await Promise.all(ids.map((id) => acknowledge(id)));
      expect(responses.map(({ data }) => data['attributes'])).toEqual([
        { bit: 8 },
        { bit: 31 },
        { bit: 0, terminal_confirmed: false },
      ]);
      expect(terminals.seen.filter(({ command }) => command.kind === 'confirmAlarm')).toEqual([]);
    } finally {
      await terminals.close();
    }
  });

  it('requires permission to send commands to the vehicle', async () => {
    const id = await tested.record('sos', Date.now());
    for (const role of ['viewer', 'driver'] as const)
      expect((await acknowledge(id, {}, platform.as(await platform.user(role)))).status).toBe(403);
    expect((await acknowledge(id, {}, stranger)).status).toBe(404);
    expect((await acknowledge(999_999_999)).status).toBe(404);
    const guest = await platform.user('manager', platform.theirs);
    await tested.share(guest, ['notifications']);
    expect((await acknowledge(id, {}, platform.as(guest))).status).toBe(403);
    await tested.share(guest, ['commands']);
    expect((await acknowledge(id, {}, platform.as(guest))).status).toBe(404);
    await tested.share(guest, ['commands', 'notifications']);
    expect((await acknowledge(id, {}, platform.as(guest))).data).toMatchObject({ acknowledged_by: guest.id });
    expect((await acknowledge(id, { note: 5 })).status).toBe(400);
    expect((await acknowledge(id, { note: 'a'.repeat(1_001) })).status).toBe(400);
  });
});
