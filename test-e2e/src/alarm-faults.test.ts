import type { ReportRecord, SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { selfSigned } from '../../libs/service-kit/src/testing/certificate.ts';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import { healthy, kill, restarted } from './testing/faults.ts';
import { PlatformClient, type Shown } from './testing/platform-client.ts';
import { until } from './testing/until.ts';
import { newPhone, startWorld, type World } from './testing/world.ts';

// Everything is killed in turn, and comes back on a machine that is busy.
jest.setTimeout(600_000);

/** Bits of the alarm word (JT/T 808-2013 table 24) that a 2013 terminal may have, and what they become. `overspeed` and those with an area or route have tests of their own. */
const alarms = new Map<number, string>([
  [0, 'sos'],
  [2, 'fatigue_driving'],
  [4, 'gnss_fault'],
  [5, 'gnss_antenna_disconnected'],
  [6, 'gnss_antenna_short'],
  [7, 'power_low'],
  [8, 'power_cut'],
  [9, 'display_fault'],
  [10, 'tts_fault'],
  [11, 'camera_fault'],
  [12, 'ic_card_fault'],
  [13, 'overspeed_warning'],
  [14, 'fatigue_warning'],
  [18, 'driving_overtime'],
  [19, 'parking_overtime'],
  [24, 'speed_sensor_fault'],
  [25, 'fuel_abnormal'],
  [26, 'vehicle_theft'],
  [29, 'collision'],
  [30, 'rollover'],
]);
const vehicleCount = 8;
const processes = [
  'webhook-dispatcher',
  'platform-telemetry',
  'nats',
  'redis',
  'platform-api',
  'mongodb',
  'jt808-gateway',
] as const;

interface Alarmed {
  readonly terminal: SimulatedTerminal;
  readonly vehicleId: number;
  readonly raised: { readonly type: string; readonly record: ReportRecord }[];
}

let receiver: AlarmReceiver;
let world: World;
let client: PlatformClient;
let fleet: Alarmed[];

beforeAll(async () => {
  receiver = await AlarmReceiver.start(selfSigned());
  world = await startWorld({
    ...receiver.settings,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
    RATE_LIMIT_PLATFORM_BURST: '10000',
    WEBHOOK_RETRY_WAITS_MS: '1000,1000,1000,2000,2000,5000,5000,5000',
  });
  client = await PlatformClient.logIn(world);
  await client.data('/user-webhooks', { url: receiver.url });
  fleet = await Promise.all(
    Array.from({ length: vehicleCount }, async (_unused, at): Promise<Alarmed> => {
      const phone = newPhone();
      const { id } = await client.data('/vehicles', { vehicle_no: `FAULT ${at}`, imei: phone });
      const setup = { phone, reportIntervalMs: 500, reconnect: { minMs: 200, maxMs: 1_000 }, replyTimeoutMs: 10_000 };
      return { terminal: await world.terminal(setup), vehicleId: Number(id), raised: [] };
    }),
  );
}, 240_000);

afterAll(async () => {
  await world?.stop();
  await receiver?.stop();
}, 90_000);

/** Each alarm once for each vehicle, a little apart. */
async function raiseAll(): Promise<void> {
  for (const [bit, type] of alarms)
    for (const each of fleet) {
      each.raised.push({ type, record: each.terminal.raiseAlarm(bit) });
      await new Promise((resolve) => {
        setTimeout(resolve, 150);
      });
    }
}

async function killInTurn(): Promise<void> {
  const order = processes.toSorted(() => Math.random() - 0.5);
  // What fails can be done again.
  process.stdout.write(`killed in this order: ${order.join(', ')}\n`);
  for (const name of order) {
    await restarted(world, name, kill(world, name));
    await healthy(world);
  }
}

const alarmTypes = new Set(alarms.values());
const notificationsOf = async ({ vehicleId }: Alarmed): Promise<Shown[]> => {
  const found = await client.all(`/notifications?vehicle_id=${vehicleId}`);
  return found.filter((each) => alarmTypes.has(String(each['notification_type'])));
};

describe('alarms while every process is killed in turn', () => {
  it('become one notification each, and at least one delivery with one id', async () => {
    await Promise.all([raiseAll(), killInTurn()]);
    await until(
      'every alarm to be acknowledged to its terminal',
      () => fleet.every(({ raised }) => raised.every(({ record }) => record.acknowledgedAtMs !== null)),
      120_000,
    );
    const expected = [...alarmTypes].toSorted();
    for (const each of fleet) {
      const types = async (): Promise<string[]> =>
        (await notificationsOf(each)).map(({ notification_type: type }) => String(type)).toSorted();
      await until(
        'a notification of every alarm',
        async () => new Set(await types()).size === expected.length,
        120_000,
      );
      expect(await types()).toEqual(expected);
    }
    const ids = (await Promise.all(fleet.map(notificationsOf))).flat().map(({ id }) => Number(id));
    await until('a delivery of every notification', () => ids.every((id) => receiver.notificationIds.has(id)), 120_000);
    const deliveries = new Map<number, Set<string>>();
    for (const { id, envelope } of receiver.delivered) {
      const notificationId = Number(envelope.payload.notification.id);
      deliveries.set(notificationId, (deliveries.get(notificationId) ?? new Set()).add(id));
    }
    expect([...deliveries.values()].filter(({ size }) => size > 1)).toEqual([]);
  });

  it('and are told apart by time and terminal, as receivers do', () => {
    const names = new Map<string, number>();
    for (const { envelope } of receiver.delivered) {
      const { id, imei, server_timestamp: at } = envelope.payload.notification;
      const name = `${imei}:${at}`;
      expect(names.get(name) ?? id).toBe(id);
      names.set(name, Number(id));
    }
  });
});
