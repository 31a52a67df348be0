import { generateKeyPairSync } from 'node:crypto';
import { type NotificationRaised, notificationSubject } from '@fleet/bus';
import { createLogger, Lifecycle, Registry } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Geofence } from '../domains/geofences/schema.ts';
import { buildShape } from '../domains/geofences/shapes.ts';
import type { NotificationSubject } from '../domains/notifications/to-notification.ts';
import type { Finding } from '../rules/rule.ts';
import { FakeProvider, type ProviderReply, type ReceivedRequest } from '../testing/fake-provider.ts';
import { newImei } from '../testing/fake-terminals.ts';
import { type Client, PlatformHarness, type TestUser } from '../testing/platform-harness.ts';
import { startNotificationConsumers } from './notification-consumers.ts';

jest.setTimeout(120_000);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const sendPath = '/v1/projects/fleet-demo/messages:send';

let fake: FakeProvider;
let harness: PlatformHarness;
let owner: Client;
let vehicle: NotificationSubject;
let lifecycle: Lifecycle;
let registry: Registry;
let pushReply: (received: ReceivedRequest) => ProviderReply;
beforeAll(async () => {
  fake = await FakeProvider.open();
  fake.reply = (received) => {
    if (received.path === '/token') return { body: { access_token: 'access', expires_in: 3_600 } };
    if (received.path === sendPath) return pushReply(received);
    return { status: 201, body: { sid: `SM${fake.received.length}` } };
  };
  harness = await PlatformHarness.open({
    PLATFORM_ROLES: 'api',
    PUSH_PROVIDER: 'fcm',
    FCM_URL: fake.url,
    FCM_SERVICE_ACCOUNT: JSON.stringify({
      project_id: 'fleet-demo',
      client_email: 'push@fleet-demo.example',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      token_uri: `${fake.url}/token`,
    }),
    SMS_PROVIDER: 'twilio',
    SMS_FROM: '+14155550199',
    TWILIO_ACCOUNT_SID: 'AC1',
    TWILIO_AUTH_TOKEN: 'secret',
    TWILIO_URL: fake.url,
  });
  owner = harness.as(harness.ours.owner);
});
afterAll(async () => {
  await harness.close();
  await fake.close();
});
beforeEach(async () => {
  vehicle = await newVehicle();
  pushReply = () => ({ body: { name: 'message' } });
  start();
});
afterEach(() => lifecycle.stop());

function start(): void {
  lifecycle = new Lifecycle(createLogger('notification-consumers-test', 'silent'));
  registry = new Registry();
  const consumers = startNotificationConsumers(harness.deps, { registry, client: { retryMs: 1, resetTimeoutMs: 100 } });
  lifecycle.onStop('notification consumers', () => consumers.stop());
}

async function newVehicle(): Promise<NotificationSubject> {
  const imei = newImei();
  const { data } = await owner.post('/api/vehicles', { vehicle_no: `S${imei}`, imei });
  const { accountId, id: ownerUserId } = harness.ours.owner;
  return { id: data.id, accountId, ownerUserId, vehicleNo: String(data['vehicle_no']), imei, driverId: null };
}

let moment = Date.UTC(2026, 0, 31, 8, 15);
async function raise(type: string, more: Partial<Finding> = {}, of = vehicle): Promise<Finding> {
  moment += 60_000;
  const place = { latitude: 1.5, longitude: 2.5, gpsValid: true };
  const raised = { type, subject: '', atMs: moment, ...place, attributes: {}, backfilled: false, ...more };
  await harness.deps.notifications.raise([{ vehicle: of, raised }]);
  return raised;
}

interface Pushed {
  readonly token: string;
  readonly notification: { readonly title: string; readonly body: string };
  readonly data: Readonly<Record<string, string>>;
}

const pushed = (): Pushed[] => fake.to(sendPath).map(({ body }) => (JSON.parse(body) as { message: Pushed }).message);
/** Push messages of devices about a vehicle. */
const toDevices = (of = vehicle): Pushed[] => pushed().filter(({ data }) => data['vehicle_id'] === String(of.id));
const typesTo = (token: string): (string | undefined)[] =>
  toDevices()
    .filter((each) => each.token === token)
    .map(({ data }) => data['notification_type']);

const smsTo = (number: string): Record<string, string>[] =>
  fake
    .to('/2010-04-01/Accounts/AC1/Messages.json')
    .map(({ body }) => Object.fromEntries(new URLSearchParams(body)))
    .filter(({ To }) => To === number);

let devices = 0;
async function device(user: TestUser): Promise<string> {
  devices += 1;
  const token = `device-${devices}`;
  await harness.as(user).post('/api/notifications/update-push-token', { push_token: token, device_id: token });
  return token;
}

const prefer = (user: TestUser, types: string[], channels?: string[]) =>
  harness.as(user).post(`/api/notifications/update-preferences/${vehicle.id}`, {
    notification_types: types,
    ...(channels === undefined ? {} : { channels }),
  });

const result = async (channel: string, what: string): Promise<number> => {
  const { values = [] } = (await registry.getSingleMetric('platform_notification_messages_total')?.get()) ?? {};
  return values.find(({ labels }) => labels['channel'] === channel && labels['result'] === what)?.value ?? 0;
};

/** Waits until the broker has the acknowledgements of all notifications. */
async function untilAllPushed(): Promise<void> {
  const { consumers } = await harness.bus.jetstreamManager();
  await waitFor(async () => {
    const { num_pending, num_ack_pending } = await consumers.info('NOTIFICATIONS', 'notification-senders-push');
    return num_pending === 0 && num_ack_pending === 0;
  });
}

describe('push messages', () => {
  it('go to the devices of all users who see the vehicle and selected the type, in their language', async () => {
    const [spanish, mute, driver] = [
      await harness.user('viewer', harness.ours, { language: 'es' }),
      await harness.user('viewer'),
      await harness.user('driver'),
    ];
    const [guest, blind] = [
      await harness.user('manager', harness.theirs),
      await harness.user('manager', harness.theirs),
    ];
    const share = (user: TestUser, permissions: string[]) =>
      owner.post('/api/vehicle/share-vehicles', { secondaryUser: user.id, vehicles: [vehicle.id], permissions });
    await share(guest, ['notifications']);
    await share(blind, ['view']);
    await prefer(mute, []);
    const tokens = new Map<string, string>();
    for (const [name, user] of Object.entries({ owner: harness.ours.owner, spanish, mute, driver, guest, blind }))
      tokens.set(name, await device(user));
    await raise('overspeed');
    await waitFor(async () => toDevices().length >= 3);
    await raise('sos');
    await waitFor(async () => toDevices().length >= 6);
    const received = [...tokens].filter(([, token]) => typesTo(token).length > 0).map(([name]) => name);
    expect(received).toEqual(['owner', 'spanish', 'guest']);
    for (const name of received)
      expect(new Set(typesTo(tokens.get(name) ?? ''))).toEqual(new Set(['overspeed', 'sos']));
    const [inSpanish] = toDevices().filter(({ token }) => token === tokens.get('spanish'));
    expect(inSpanish?.notification).toEqual({
      title: 'Exceso de velocidad',
      body: `${vehicle.vehicleNo}: El vehículo circula por encima de su límite.`,
    });
  });

  it('are not sent again for a redelivered notification', async () => {
    await device(harness.ours.owner);
    await raise('sos');
    const { streams } = await harness.bus.jetstreamManager();
    const { state } = await streams.info('NOTIFICATIONS');
    const stored = await streams.getMessage('NOTIFICATIONS', { seq: state.last_seq });
    const { notification } = stored.json<NotificationRaised>();
    const ofIt = () => toDevices().filter(({ data }) => data['notification_id'] === String(notification.id));
    await untilAllPushed();
    const before = ofIt().length;
    expect(before).toBeGreaterThan(0);
    // Outside the broker's dedupe window it would be stored twice: simulated without its id.
    await harness.bus.js.publish(notificationSubject(vehicle.accountId, vehicle.imei), stored.data);
    await untilAllPushed();
    expect(ofIt()).toHaveLength(before);
  });

  it('omit a device that received the same kind recently', async () => {
    const token = await device(harness.ours.owner);
    await raise('overspeed');
    await waitFor(async () => typesTo(token).length === 1);
    await raise('overspeed');
    await waitFor(async () => (await result('push', 'skipped')) > 0);
    await raise('geofence');
    await waitFor(async () => typesTo(token).length === 2);
    expect(typesTo(token)).toEqual(['overspeed', 'geofence']);
  });

  it('stop for an unregistered device', async () => {
    const user = await harness.user('viewer');
    const token = await device(user);
    pushReply = ({ body }) =>
      body.includes(`"${token}"`)
        ? { status: 404, body: { error: { details: [{ errorCode: 'UNREGISTERED' }] } } }
        : { body: { name: 'message' } };
    await raise('sos');
    await waitFor(async () => (await result('push', 'unregistered')) === 1);
    expect(await harness.deps.database.collection('push_tokens').countDocuments({ token })).toBe(0);
  });

  it('wait for an unavailable provider without delaying text messages', async () => {
    const phone = '+14155550123';
    const user = await harness.user('manager', harness.ours, { phoneNumber: phone });
    const token = await device(user);
    await owner.put('/api/global-config', { sms: { enabled: true, notification_types: ['sos'] } });
    await prefer(user, ['sos'], ['push', 'sms']);
    pushReply = () => ({ status: 503 });
    await raise('sos');
    await waitFor(async () => (await result('push', 'failed')) > 0 && smsTo(phone).length === 1);
    pushReply = () => ({ body: { name: 'message' } });
    const before = fake.to(sendPath).length;
    const since = () => fake.to(sendPath).slice(before);
    await waitFor(async () => since().some(({ body }) => body.includes(`"${token}"`)));
    // The sent one was not sent again.
    expect(smsTo(phone)).toHaveLength(1);
  });

  it('continue after a restart', async () => {
    const token = await device(harness.ours.owner);
    await raise('sos');
    await waitFor(async () => typesTo(token).length === 1);
    await lifecycle.stop();
    await raise('collision');
    start();
    await waitFor(async () => typesTo(token).length === 2);
    expect(typesTo(token)).toEqual(['sos', 'collision']);
  });
});

describe('push messages of an account without a provider', () => {
  it('are logged and counted, and sent to no device', async () => {
    const tenant = await harness.tenant('Logged');
    const client = harness.as(tenant.owner);
    expect((await client.put('/api/global-config', { push: { provider: 'log' } })).status).toBe(200);
    const imei = newImei();
    const { data } = await client.post('/api/vehicles', { vehicle_no: 'LOG1', imei });
    const of = { id: data.id, accountId: tenant.accountId, ownerUserId: tenant.owner.id, vehicleNo: 'LOG1' };
    await device(tenant.owner);
    await device(tenant.owner);
    const info = jest.spyOn(harness.deps.log, 'info');
    await raise('sos', {}, { ...of, imei, driverId: null });
    await waitFor(async () => (await result('push', 'sent')) === 2);
    const logged = info.mock.calls.filter(([, text]) => String(text).startsWith('no push provider'));
    info.mockRestore();
    expect(logged).toHaveLength(2);
    expect(logged[0]).toEqual([
      {
        collapseKey: `${data.id}:sos`,
        title: 'SOS',
        body: 'LOG1: The driver pressed the emergency button.',
      },
      'no push provider is configured, message not sent',
    ]);
    expect(toDevices({ ...of, imei, driverId: null })).toEqual([]);
  });
});

describe('text messages', () => {
  it('use the channels of the vehicle up to the daily limit, and are recorded in the chat log', async () => {
    const phone = '+14155550142';
    const tenant = await harness.tenant('Limited');
    const client = harness.as(tenant.owner);
    await client.put('/api/global-config', {
      sms: { enabled: true, sender_id: 'FLEET', notification_types: ['sos', 'collision'], daily_limit: 1 },
    });
    const imei = newImei();
    const { data } = await client.post('/api/vehicles', { vehicle_no: 'SMS 1', imei });
    const of = { id: data.id, accountId: tenant.accountId, ownerUserId: tenant.owner.id, vehicleNo: 'SMS1' };
    const user = await harness.user('manager', tenant, { phoneNumber: phone });
    await harness.as(user).post(`/api/notifications/update-preferences/${data.id}`, {
      notification_types: ['sos', 'collision', 'rollover'],
      channels: ['sms'],
    });
    const about = { ...of, imei, driverId: null };
    await raise('rollover', {}, about);
    await raise('sos', {}, about);
    await waitFor(async () => (await result('sms', 'sent')) === 1);
    await raise('collision', {}, about);
    await waitFor(async () => (await result('sms', 'skipped')) === 1);
    expect(smsTo(phone)).toEqual([
      {
        To: phone,
        From: 'FLEET',
        Body: expect.stringMatching(/^SMS1: SOS, 2026-01-31 \d\d:\d\d\. The driver pressed/),
      },
    ]);
    const { items } = await client.get('/api/chat-log?channel=sms');
    expect(items).toMatchObject([
      {
        direction: 'out',
        provider: 'twilio',
        to: phone,
        from: 'FLEET',
        status: 'sent',
        user_id: user.id,
        vehicle_id: data.id,
      },
    ]);
  });
});

it('sends mails to users who selected them, from the address of the account', async () => {
  await owner.put('/api/global-config', {
    email: { enabled: true, from: 'fleet@example.com', notification_types: ['rollover'] },
  });
  const user = await harness.user('viewer');
  await harness.as(user).put('/api/user-preferences/me', { notifications: { email: true } });
  await raise('rollover');
  await waitFor(async () => harness.sent.some(({ to }) => to === user.email));
  expect(harness.sent.filter(({ to }) => to === user.email)).toEqual([
    {
      kind: 'mail',
      to: user.email,
      from: 'fleet@example.com',
      subject: `${vehicle.vehicleNo}: Rollover`,
      // The position replaces an address that is not known in time.
      text: expect.stringMatching(
        /^The vehicle has rolled over\.\n\n.*\n2026-01-31 \d\d:\d\d\n(1\.5, 2\.5|.* São Tomé.*)$/,
      ),
    },
  ]);
});

it('names the geofence in mails to the account, not to users of shares', async () => {
  await owner.put('/api/global-config', {
    email: { enabled: true, from: 'fleet@example.com', notification_types: ['rollover'] },
  });
  const [user, guest] = [await harness.user('viewer'), await harness.user('manager', harness.theirs)];
  const shared = { secondaryUser: guest.id, vehicles: [vehicle.id], permissions: ['notifications'] };
  await owner.post('/api/vehicle/share-vehicles', shared);
  for (const each of [user, guest])
    await harness.as(each).put('/api/user-preferences/me', { notifications: { email: true } });
  const shape = buildShape({ type: 'circle', positions: [[1.5, 2.5]], radiusM: 100, widthM: null });
  const geofences = [{ name: 'Depot of Ann', ...shape } as Geofence];
  const place = { latitude: 1.5, longitude: 2.5, gpsValid: true };
  const raised = { type: 'rollover', subject: '', atMs: moment, ...place, attributes: {}, backfilled: false };
  await harness.deps.notifications.raise([{ vehicle, raised, geofences }]);
  const mailTo = ({ email }: TestUser) => harness.sent.find(({ to }) => to === email);
  await waitFor(async () => [user, guest].every((each) => mailTo(each) !== undefined));
  expect(mailTo(user)).toMatchObject({ text: expect.stringContaining('Depot of Ann') as unknown });
  expect(mailTo(guest)).not.toMatchObject({ text: expect.stringContaining('Depot of Ann') as unknown });
});

it('skips invalid notifications', async () => {
  const token = await device(harness.ours.owner);
  await harness.bus.js.publish(
    notificationSubject(vehicle.accountId, vehicle.imei),
    new TextEncoder().encode('{"x":1}'),
  );
  await raise('sos');
  await waitFor(async () => typesTo(token).length === 1);
  expect(typesTo(token)).toEqual(['sos']);
});
