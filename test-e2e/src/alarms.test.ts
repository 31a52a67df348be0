import { once } from 'node:events';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { selfSigned } from '../../libs/service-kit/src/testing/certificate.ts';
import { AlarmReceiver, type Delivered } from './testing/alarm-receiver.ts';
import { PlatformClient, type Shown } from './testing/platform-client.ts';
import { until } from './testing/until.ts';
import { newPhone, startWorld, type TerminalSetup, type World } from './testing/world.ts';

// A drive takes its seconds, more so on a busy machine.
jest.setTimeout(180_000);

interface LiveMessage {
  readonly type: string;
  readonly data: Shown;
}

let receiver: AlarmReceiver;
let world: World;
let client: PlatformClient;
let owner: Shown;
const sockets: WebSocket[] = [];
const live: LiveMessage[] = [];

/** A vehicle that stands in Shenzhen with its engine on. */
const standing = {
  latitudeDeg: 22.6,
  longitudeDeg: 114.06,
  altitudeM: 10,
  speedKmh: 0,
  directionDeg: 0,
  distanceM: 0,
  isIgnitionOn: true,
};

beforeAll(async () => {
  receiver = await AlarmReceiver.start(selfSigned());
  world = await startWorld(receiver.settings);
  client = await PlatformClient.logIn(world);
  owner = await client.data('/auth/me');
  await client.data('/user-webhooks', { url: receiver.url, secret: 'a-secret-of-ours' });
  await listen(live);
}, 180_000);

afterAll(async () => {
  for (const socket of sockets) socket.terminate();
  await world?.stop();
  await receiver?.stop();
}, 90_000);

/** Opens a websocket of the owner, and keeps what it is told. */
async function listen(told: LiveMessage[]): Promise<void> {
  const { token, ws_url: url } = await client.ask('/user/generate-websocket-token');
  const socket = new WebSocket(`${String(url)}?token=${String(token)}`);
  sockets.push(socket);
  socket.on('message', (data: Buffer) => told.push(JSON.parse(data.toString()) as LiveMessage));
  await once(socket, 'open');
  await until('the first message', () => told.length > 0);
}

async function vehicle(
  name: string,
  setup: TerminalSetup = {},
): Promise<{ id: number; imei: string; terminal: SimulatedTerminal }> {
  const imei = newPhone();
  const { id } = await client.data('/vehicles', { vehicle_no: name, imei });
  return { id: Number(id), imei, terminal: await world.terminal({ phone: imei, ...setup }) };
}

const deliveredOf = (imei: string, type: string): Delivered[] =>
  receiver.delivered.filter(({ envelope }) => {
    const { notification } = envelope.payload;
    return notification.imei === imei && notification.notification_type === type;
  });
const liveOf = (vehicleId: number, type: string, told = live): LiveMessage[] =>
  told.filter(
    ({ type: kind, data }) =>
      kind === 'notification' && data['vehicle_id'] === vehicleId && data['notification_type'] === type,
  );
// Without it the list is that of today, which may end in the middle of a test.
const fromMs = Date.now() - 3_600_000;
const listOf = async (vehicleId: number): Promise<Shown[]> =>
  (await client.ask(`/notifications/vehicle-notifications/${vehicleId}?from=${fromMs}`))['data'] as Shown[];

describe('an SOS at a terminal', () => {
  it('reaches the webhook of the owner, a websocket and the list', async () => {
    const { id, imei, terminal } = await vehicle('SOS 1');
    const record = terminal.raiseAlarm('emergency');
    const delivered = await until('the delivery', () => deliveredOf(imei, 'sos')[0], 60_000);
    expect(delivered.secret).toBe('a-secret-of-ours');
    const { envelope } = delivered;
    expect(envelope).toMatchObject({ method: 'POST', path: '/alarms', query: 'from=fleet' });
    expect(envelope.content_length).toBe(Buffer.byteLength(envelope.body));
    expect(envelope.headers).toMatchObject({
      'X-Webhook-Secret': ['a-secret-of-ours'],
      'Content-Type': [expect.stringMatching(/^application\/json/)],
      'Content-Length': [String(envelope.content_length)],
    });
    expect(Math.abs(envelope.date - delivered.atMs)).toBeLessThan(60_000);
    expect(envelope.payload).toMatchObject({
      user: owner['id'],
      notification: {
        title: 'SOS',
        description: expect.stringMatching(/\S/),
        notification_type: 'sos',
        imei,
        timestamp: Date.parse(`${record.time}+08:00`),
        severity: 'critical',
      },
    });
    const listed = (await listOf(id)).filter(({ notification_type: type }) => type === 'sos');
    expect(listed).toMatchObject([{ imei, vehicle_id: id, severity: 'critical', acknowledged_at: null }]);
    const { server_timestamp: at, location } = envelope.payload.notification;
    expect(listed).toMatchObject([{ server_timestamp: at, location }]);
    await until('the websocket', () => liveOf(id, 'sos').length > 0, 60_000);
    expect(liveOf(id, 'sos')[0]?.data).toMatchObject({ id: listed[0]?.['id'], user: owner['id'], imei });
  });

  it('ends at the terminal when somebody acknowledges it', async () => {
    const { id, terminal } = await vehicle('SOS 2');
    terminal.raiseAlarm('emergency');
    const alarm = await until('the alarm', async () =>
      (await listOf(id)).find((each) => each['notification_type'] === 'sos'),
    );
    const answer = await client.data(`/notifications/${String(alarm['id'])}/acknowledge`, { note: 'on our way' });
    expect(answer).toMatchObject({ acknowledged_by: owner['id'], attributes: { terminal_confirmed: true } });
    expect(terminal.received(0x8203)).toHaveLength(1);
  });

  it('goes nowhere but into the history where the owner has silenced it', async () => {
    const { id, imei, terminal } = await vehicle('SOS 3');
    await client.data(`/notifications/update-preferences/${id}`, { notification_types: ['collision'] });
    // One that is open hears of it a moment later.
    const told: LiveMessage[] = [];
    await listen(told);
    terminal.raiseAlarm('emergency');
    terminal.raiseAlarm('collision');
    await until(
      'the other one',
      () => deliveredOf(imei, 'collision').length > 0 && liveOf(id, 'collision', told).length > 0,
      60_000,
    );
    const types = async (): Promise<unknown[]> => (await listOf(id)).map((each) => each['notification_type']);
    await until(
      'both in the list',
      async () => (await types()).filter((type) => type === 'sos' || type === 'collision').length === 2,
    );
    expect(deliveredOf(imei, 'sos')).toEqual([]);
    expect(liveOf(id, 'sos', told)).toEqual([]);
  });
});

describe('a terminal that reports a low battery', () => {
  it('raises low_battery, and its history has charge and supply voltage', async () => {
    const { id, imei, terminal } = await vehicle('BATTERY 1');
    const item = (itemId: number, hex: string) => ({ id: itemId, bytes: Buffer.from(hex, 'hex') });
    terminal.report([item(0xfe, '0f'), item(0x61, '04d2')]);
    await until('the notification', () => deliveredOf(imei, 'low_battery').length > 0, 60_000);
    const [event] = deliveredOf(imei, 'low_battery');
    expect(event?.envelope.payload.notification.attributes).toEqual({ battery_percent: 15 });
    await until('the history', async () => {
      const found = await client.ask(`/vehicles/${id}/locations?from=${Date.now() - 600_000}&to=${Date.now()}`);
      const points = (Array.isArray(found) ? found : found['data']) as Shown[];
      return points.some((point) => point['battery_percent'] === 15 && point['external_voltage'] === 12.34);
    });
  });
});

describe('a drive through an area', () => {
  it('is told once going in and once going out, and stands in the history', async () => {
    const place = { ...standing };
    const { id, imei, terminal } = await vehicle('AREA 1', { track: { name: 'held', at: () => place } });
    const area = { name: 'Yard', type: 'circle', coordinates: [[22.55, 114.06]], radius_m: 300, vehicles: [id] };
    const geofence = await client.data('/geofences', area);
    const report = async (latitudeDeg: number): Promise<void> => {
      place.latitudeDeg = latitudeDeg;
      const { time } = terminal.report();
      // A terminal's time has whole seconds, and a second fix is one of another time.
      await until('the next second', () => new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19) > time);
    };
    for (const latitude of [22.6, 22.6, 22.55, 22.55, 22.6, 22.6]) await report(latitude);
    await until('both events', () => deliveredOf(imei, 'geofence').length === 2, 60_000);
    const events = deliveredOf(imei, 'geofence').map(({ envelope }) => envelope.payload.notification.attributes);
    expect(events).toEqual(
      expect.arrayContaining(
        ['enter', 'exit'].map((event) => ({ event, geofence_id: geofence['id'], geofence_name: 'Yard' })),
      ),
    );
    const history = async (): Promise<Shown[]> => {
      const found = await client.ask(`/vehicles/${id}/locations?from=${Date.now() - 600_000}&to=${Date.now()}`);
      return (Array.isArray(found) ? found : found['data']) as Shown[];
    };
    await until('the history', async () => (await history()).length >= 6, 60_000);
    expect((await history()).map(({ latitude }) => latitude)).toEqual(expect.arrayContaining([22.6, 22.55]));
  });
});
