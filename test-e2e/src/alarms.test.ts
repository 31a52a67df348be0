import { once } from 'node:events';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { selfSigned, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { AlarmReceiver, type Delivered } from './testing/alarm-receiver.ts';
import { type ProductHarness, startHarness, type TerminalSetup, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

// A simulated drive takes some seconds, more on a busy machine.
jest.setTimeout(180_000);

interface LiveMessage {
  readonly type: string;
  readonly data: PlatformRecord;
}

let receiver: AlarmReceiver;
let harness: ProductHarness;
let client: PlatformClient;
let owner: PlatformRecord;
const sockets: WebSocket[] = [];
const live: LiveMessage[] = [];

/** A vehicle that is parked in Shenzhen with the engine on. */
const stationary = {
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
  harness = await startHarness(receiver.settings);
  client = await PlatformClient.logIn(harness);
  owner = await client.requestData('/auth/me');
  await client.requestData('/user-webhooks', { url: receiver.url, secret: 'a-secret-of-ours' });
  await collectMessages(live);
}, 180_000);

afterAll(async () => {
  for (const socket of sockets) socket.terminate();
  await harness?.stop();
  await receiver?.stop();
}, 90_000);

/** Opens a websocket of the owner and collects its messages. */
async function collectMessages(messages: LiveMessage[]): Promise<void> {
  const { token, ws_url: url } = await client.request('/user/generate-websocket-token');
  const socket = new WebSocket(`${String(url)}?token=${String(token)}`);
  sockets.push(socket);
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as LiveMessage));
  await once(socket, 'open');
  await waitFor(() => messages.length > 0, 'the first message');
}

async function startVehicle(
  name: string,
  setup: TerminalSetup = {},
): Promise<{ id: number; imei: string; terminal: SimulatedTerminal }> {
  const imei = uniquePhone();
  const { id } = await client.requestData('/vehicles', { vehicle_no: name, imei });
  return { id: Number(id), imei, terminal: await harness.startTerminal({ phone: imei, ...setup }) };
}

const findDelivered = (imei: string, type: string): Delivered[] =>
  receiver.delivered.filter(({ envelope }) => {
    const { notification } = envelope.payload;
    return notification.imei === imei && notification.notification_type === type;
  });
const findLiveMessages = (vehicleId: number, type: string, messages = live): LiveMessage[] =>
  messages.filter(
    ({ type: kind, data }) =>
      kind === 'notification' && data['vehicle_id'] === vehicleId && data['notification_type'] === type,
  );
// Without the parameter the API lists today's notifications, and the day may end in the middle of a test.
const fromMs = Date.now() - 3_600_000;
const listNotifications = async (vehicleId: number): Promise<PlatformRecord[]> =>
  (await client.request(`/notifications/vehicle-notifications/${vehicleId}?from=${fromMs}`))[
    'data'
  ] as PlatformRecord[];

describe('an SOS at a terminal', () => {
  it("is delivered to the owner's webhook, a websocket and the notification list", async () => {
    const { id, imei, terminal } = await startVehicle('SOS 1');
    const record = terminal.raiseAlarm('emergency');
    const delivered = await waitFor(() => findDelivered(imei, 'sos')[0], 'the delivery', 60_000);
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
    const listed = (await listNotifications(id)).filter(({ notification_type: type }) => type === 'sos');
    expect(listed).toMatchObject([{ imei, vehicle_id: id, severity: 'critical', acknowledged_at: null }]);
    const { server_timestamp: at, location } = envelope.payload.notification;
    expect(listed).toMatchObject([{ server_timestamp: at, location }]);
    await waitFor(() => findLiveMessages(id, 'sos').length > 0, 'the websocket', 60_000);
    expect(findLiveMessages(id, 'sos')[0]?.data).toMatchObject({ id: listed[0]?.['id'], user: owner['id'], imei });
  });

  it('ends at the terminal when a user acknowledges it', async () => {
    const { id, terminal } = await startVehicle('SOS 2');
    terminal.raiseAlarm('emergency');
    const alarm = await waitFor(
      async () => (await listNotifications(id)).find((each) => each['notification_type'] === 'sos'),
      'the alarm',
    );
    const acknowledged = await client.requestData(`/notifications/${String(alarm['id'])}/acknowledge`, {
      note: 'on our way',
    });
    expect(acknowledged).toMatchObject({ acknowledged_by: owner['id'], attributes: { terminal_confirmed: true } });
    expect(terminal.receivedFrames(0x8203)).toHaveLength(1);
  });

  it('appears only in the history when the owner has disabled its type', async () => {
    const { id, imei, terminal } = await startVehicle('SOS 3');
    await client.requestData(`/notifications/update-preferences/${id}`, { notification_types: ['collision'] });
    // An open websocket receives it a moment later.
    const messages: LiveMessage[] = [];
    await collectMessages(messages);
    terminal.raiseAlarm('emergency');
    terminal.raiseAlarm('collision');
    await waitFor(
      () => findDelivered(imei, 'collision').length > 0 && findLiveMessages(id, 'collision', messages).length > 0,
      'the other notification',
      60_000,
    );
    const types = async (): Promise<unknown[]> =>
      (await listNotifications(id)).map((each) => each['notification_type']);
    await waitFor(
      async () => (await types()).filter((type) => type === 'sos' || type === 'collision').length === 2,
      'both notifications in the list',
    );
    expect(findDelivered(imei, 'sos')).toEqual([]);
    expect(findLiveMessages(id, 'sos', messages)).toEqual([]);
  });
});

describe('a terminal that reports a low battery', () => {
  it('raises low_battery and adds charge and supply voltage to the history', async () => {
    const { id, imei, terminal } = await startVehicle('BATTERY 1');
    const item = (itemId: number, hex: string) => ({ id: itemId, bytes: Buffer.from(hex, 'hex') });
    terminal.report([item(0xfe, '0f'), item(0x61, '04d2')]);
    await waitFor(() => findDelivered(imei, 'low_battery').length > 0, 'the notification', 60_000);
    const [event] = findDelivered(imei, 'low_battery');
    expect(event?.envelope.payload.notification.attributes).toEqual({ battery_percent: 15 });
    await waitFor(async () => {
      const found = await client.request(`/vehicles/${id}/locations?from=${Date.now() - 600_000}&to=${Date.now()}`);
      const points = (Array.isArray(found) ? found : found['data']) as PlatformRecord[];
      return points.some((point) => point['battery_percent'] === 15 && point['external_voltage'] === 12.34);
    }, 'the history');
  });
});

describe('a drive through a geofence', () => {
  it('raises one notification on entry and one on exit, and both appear in the history', async () => {
    const position = { ...stationary };
    const { id, imei, terminal } = await startVehicle('AREA 1', { track: { name: 'held', at: () => position } });
    const area = { name: 'Yard', type: 'circle', coordinates: [[22.55, 114.06]], radius_m: 300, vehicles: [id] };
    const geofence = await client.requestData('/geofences', area);
    const report = async (latitudeDeg: number): Promise<void> => {
      position.latitudeDeg = latitudeDeg;
      const { time } = terminal.report();
      // Terminal timestamps have a resolution of one second, and the second fix needs another timestamp.
      await waitFor(() => new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19) > time, 'the next second');
    };
    for (const latitude of [22.6, 22.6, 22.55, 22.55, 22.6, 22.6]) await report(latitude);
    await waitFor(() => findDelivered(imei, 'geofence').length === 2, 'both events', 60_000);
    const events = findDelivered(imei, 'geofence').map(({ envelope }) => envelope.payload.notification.attributes);
    expect(events).toEqual(
      expect.arrayContaining(
        ['enter', 'exit'].map((event) => ({ event, geofence_id: geofence['id'], geofence_name: 'Yard' })),
      ),
    );
    const history = async (): Promise<PlatformRecord[]> => {
      const found = await client.request(`/vehicles/${id}/locations?from=${Date.now() - 600_000}&to=${Date.now()}`);
      return (Array.isArray(found) ? found : found['data']) as PlatformRecord[];
    };
    await waitFor(async () => (await history()).length >= 6, 'the history', 60_000);
    expect((await history()).map(({ latitude }) => latitude)).toEqual(expect.arrayContaining([22.6, 22.55]));
  });
});
