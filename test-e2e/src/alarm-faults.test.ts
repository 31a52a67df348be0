import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { LoadFleet } from '@fleet/terminal-simulator';
import { campaignSize, campaignTimeoutMs, SeededRandom, selfSigned, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import {
  AlarmedVehicle,
  type AlarmReceipt,
  positions,
  sortReceipts,
  toReceipts,
  wordAlarms,
} from './testing/alarmed-vehicle.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type CommandCall, countStatuses, Fleet } from './testing/fleet.ts';
import { type DedicatedHarness, startHarness } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { formatLocationName, readStoredLocations } from './testing/stored-locations.ts';

// Each process is killed in random order, in two rounds, and restarts on a busy machine.
jest.setTimeout(campaignTimeoutMs(1_200_000));

/** ALARM_FAULTS_SEED selects other kills and pauses; `random` selects a new seed for each run. */
const seedSetting = process.env['ALARM_FAULTS_SEED'] ?? '22031369';
const seed = seedSetting === 'random' ? Date.now() % 0x1_0000_0000 : Number(seedSetting);
const processes = [
  'webhook-dispatcher',
  'platform-telemetry',
  'nats',
  'redis',
  'platform-api',
  'mongodb',
  'jt808-gateway',
] as const;
/** Processes that are not on the path of an alarm. Killed in every second round. */
const others = ['device-api', 'jt1078-media', 'upload-ftp', 'reverse-proxy'] as const;
/** 112 rounds are 1,008 kills. */
const rounds = campaignSize({
  what: 'rounds of kills of all processes',
  normal: 2,
  long: 112,
  setting: 'ALARM_FAULTS_ROUNDS',
});
/** Terminals that accept commands. Each receives one command per number, because the number travels as the channel. */
const commanded = { terminals: 20, commands: 250 } as const;
const vehicles = { word: 8, sos: 4, items: 4 } as const;
/** Terminals that only send reports, and the report interval. */
const background = { terminals: 100, intervalMs: 2_000 } as const;
const recoveryMs = 240_000;

const startedAtMs = Date.now();

let receiver: AlarmReceiver;
let harness: DedicatedHarness;
let client: PlatformClient;
let load: LoadFleet;
let fleet: Record<keyof typeof vehicles, AlarmedVehicle[]>;
let commandFleet: Fleet;
/** Whether the last kill is done. */
const kills = { areOver: false };

beforeAll(async () => {
  receiver = await AlarmReceiver.start(selfSigned());
  harness = await startHarness({
    ...receiver.settings,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
    RATE_LIMIT_PLATFORM_BURST: '10000',
    DEVICE_REPLY_TIMEOUT_MS: '20000',
    REQUEST_TIMEOUT_MS: '25000',
    WEBHOOK_RETRY_WAITS_MS: '1000,1000,1000,2000,2000,5000,5000,5000',
  });
  client = await PlatformClient.logIn(harness);
  await client.requestData('/user-webhooks', { url: receiver.url });
  const startVehicles = (name: keyof typeof vehicles): Promise<AlarmedVehicle[]> =>
    Promise.all(
      Array.from({ length: vehicles[name] }, (_unused, at) => AlarmedVehicle.start(harness, client, `${name} ${at}`)),
    );
  fleet = { word: await startVehicles('word'), sos: await startVehicles('sos'), items: await startVehicles('items') };
  await client.requestData('/geofences', {
    name: 'Yard',
    type: 'circle',
    coordinates: [[positions.inside, positions.longitude]],
    radius_m: positions.radiusM,
    vehicles: fleet.items.map(({ id }) => id),
  });
  // The first fix defines on which side of the geofence boundary the vehicle is.
  await Promise.all(fleet.items.map((vehicle) => vehicle.report()));
  load = await startLoad();
  commandFleet = await Fleet.start(harness, commanded.terminals, { reportIntervalMs: 1_000 });
}, 300_000);

afterAll(async () => {
  await load?.stop();
  await harness?.stop();
  await receiver?.stop();
}, 120_000);

async function startLoad(): Promise<LoadFleet> {
  const firstPhone = `138${String(process.pid % 10_000).padStart(4, '0')}00000`;
  const light = new LoadFleet({ ...harness.product.runtime.jt808, ...background, firstPhone, connectRate: 50 });
  for (let at = 0; at < light.phones.length; at += 10)
    await Promise.all(
      light.phones.slice(at, at + 10).map((imei) => client.requestData('/vehicles', { vehicle_no: `L${imei}`, imei })),
    );
  light.start();
  await waitFor(() => light.counters.online === background.terminals, 'all terminals to be online', 120_000);
  return light;
}

/** Pauses for a random time, or for 100 ms after the last kill. */
const pauseRandomly = (random: SeededRandom, lowMs: number, highMs: number): Promise<void> =>
  sleep(kills.areOver ? 100 : random.between(lowMs, highMs));

/** Raises each bit of the alarm word once, in random order. */
async function raiseBits(vehicle: AlarmedVehicle, random: SeededRandom): Promise<void> {
  for (const bit of random.shuffled(wordAlarms.keys())) {
    await vehicle.raise(bit);
    await pauseRandomly(random, 500, 4_000);
  }
}

/** Presses and releases the SOS button until the last kill. */
async function pressSos(vehicle: AlarmedVehicle, random: SeededRandom): Promise<void> {
  do {
    await vehicle.raise(0);
    await pauseRandomly(random, 0, 1_000);
    await vehicle.report();
    await pauseRandomly(random, 500, 5_000);
  } while (!kills.areOver);
}

/** Reports alarms with a start and an end, a lost camera signal and a visit to the geofence, randomly interleaved. */
async function raiseItems(vehicle: AlarmedVehicle, random: SeededRandom): Promise<void> {
  const ends = new Map<string, () => Promise<void>>();
  const alarm = (kind: 'adas' | 'dsm') => [
    async () => void ends.set(kind, await vehicle.startSafetyAlarm(kind)),
    async () => ends.get(kind)?.(),
  ];
  const steps = random.interleaved([
    alarm('adas'),
    alarm('dsm'),
    [() => vehicle.loseVideo(), () => vehicle.regainVideo()],
    [() => vehicle.drive('inside'), async () => void (await vehicle.report()), () => vehicle.drive('outside')],
  ]);
  for (const step of steps) {
    await step();
    await pauseRandomly(random, 2_000, 10_000);
  }
  await vehicle.report();
}

/**
 * Kills all processes of the round. Waits for health after some kills, and for a short random time after the others.
 */
async function killRound(random: SeededRandom, round: number): Promise<void> {
  const killed = new Map<string, number>();
  const names: readonly string[] = round % 2 === 1 ? [...processes, ...others] : processes;
  for (const name of random.shuffled(names)) {
    await waitFor(() => harness.product.runtime.processes[name] !== undefined, `${name} to run`, recoveryMs);
    killed.set(name, killProcess(harness, name));
    const [isHealed, waitMs] = [random.next() < 0.4, random.between(100, 4_000)];
    // Written before the wait, so that a failed run can be repeated.
    process.stdout.write(`killed ${name}, then ${isHealed ? 'waited for health' : `${waitMs.toFixed(0)} ms`}\n`);
    if (isHealed) await waitUntilAllHealthy(killed);
    else await sleep(waitMs);
  }
  await waitUntilAllHealthy(killed);
}

async function waitUntilAllHealthy(killed: ReadonlyMap<string, number>): Promise<void> {
  for (const [name, pid] of killed) await waitForRestart(harness, name, pid, recoveryMs);
  await waitUntilHealthy(harness, recoveryMs);
  const checkPlatformApi = (): Promise<boolean> =>
    client.request('/auth/me').then(
      () => true,
      () => false,
    );
  await waitFor(checkPlatformApi, 'the Platform API to respond', recoveryMs);
}

async function killAll(): Promise<void> {
  process.stdout.write(`ALARM_FAULTS_SEED=${seed}\n`);
  try {
    const random = new SeededRandom(seed);
    for (let round = 1; round <= rounds; round += 1) await killRound(random, round);
  } finally {
    kills.areOver = true;
  }
}

/** Sends commands until the last kill and returns their results. */
async function sendCommands(random: SeededRandom): Promise<CommandCall[]> {
  const calls: Promise<CommandCall>[] = [];
  for (let sent = 0; !kills.areOver && sent < commanded.terminals * commanded.commands; sent += 1) {
    const terminal = commandFleet.terminals[sent % commanded.terminals];
    if (terminal === undefined) throw new Error('no terminal accepts commands');
    calls.push(commandFleet.sendCommand(terminal, 1 + Math.floor(sent / commanded.terminals)));
    await pauseRandomly(random, 100, 900);
  }
  return Promise.all(calls);
}

/** Returns commands that were sent twice or whose status contradicts the frames that the terminal received. */
const findWrongCommands = (calls: readonly CommandCall[]): object[] =>
  calls
    .map((call) => ({ phone: call.phone, no: call.no, status: call.status, frames: call.frames() }))
    .filter(({ status, frames }) => frames > 1 || (status === 200 && frames === 0) || (status === 404 && frames > 0));

/**
 * Compares a vehicle's acknowledged locations with its history. Returns when the history has all of them or after a
 * timeout.
 */
async function compareLocations(
  vehicle: AlarmedVehicle,
): Promise<{ acknowledged: number; lost: string[]; twice: number }> {
  const acknowledged = vehicle.terminal.acknowledgedReports.map(formatLocationName);
  const window = { fromMs: startedAtMs - 600_000, toMs: Date.now() + 600_000 };
  const deadlineMs = performance.now() + recoveryMs;
  for (;;) {
    const names = await readStoredLocations(client, vehicle.id, window);
    const stored = new Set(names);
    const lost = acknowledged.filter((name) => !stored.has(name));
    if (lost.length === 0 || performance.now() > deadlineMs)
      return { acknowledged: acknowledged.length, lost, twice: names.length - stored.size };
    await sleep(1_000);
  }
}

const allVehicles = (): AlarmedVehicle[] => Object.values(fleet).flat();

/** Waits until the platform lists the expected alarms or a timeout expires, then asserts them. */
async function expectReceipts(vehicle: AlarmedVehicle): Promise<void> {
  const expected = vehicle.getExpectedReceipts();
  const readReceipts = async (): Promise<AlarmReceipt[]> => toReceipts(await vehicle.listNotifications(client));
  const deadlineMs = performance.now() + recoveryMs;
  const isReceivedOrLate = async (): Promise<boolean> =>
    isDeepStrictEqual(await readReceipts(), expected) || performance.now() > deadlineMs;
  await waitFor(isReceivedOrLate, 'the alarms of a vehicle', 2 * recoveryMs);
  expect(await readReceipts()).toEqual(expected);
}

/** Returns the delivery ids by notification. */
function deliveryIds(): Map<number, Set<string>> {
  const found = new Map<number, Set<string>>();
  for (const { id, envelope } of receiver.delivered) {
    const notificationId = Number(envelope.payload.notification.id);
    found.set(notificationId, (found.get(notificationId) ?? new Set()).add(id));
  }
  return found;
}

/** Lists the notifications of all vehicles. */
const listNotifications = async (): Promise<PlatformRecord[]> =>
  (await Promise.all(allVehicles().map((vehicle) => vehicle.listNotifications(client)))).flat();
const toIds = (notifications: readonly PlatformRecord[]): Set<number> =>
  new Set(notifications.map(({ id }) => Number(id)));

/** Formats one line with the counts of the campaign. */
function formatSummary(ids: ReadonlySet<number>, reported: number): string {
  const alarms = allVehicles().flatMap((vehicle) => vehicle.getExpectedReceipts());
  const risen = alarms.reduce((sum, { count }) => sum + count, 0);
  const received = receiver.delivered.filter(({ envelope }) => ids.has(Number(envelope.payload.notification.id)));
  const deliveries = new Set(received.map(({ id }) => id)).size;
  return (
    `${risen} alarms acknowledged, ${ids.size} notifications (${risen - ids.size} folded), ${deliveries} deliveries ` +
    `(${received.length - deliveries} repeats by id), beside ${reported} reports of ${background.terminals} terminals; ` +
    `ALARM_FAULTS_SEED=${seed}\n`
  );
}

describe('alarms, locations and commands while processes are killed', () => {
  it('yield one notification with one delivery id per alarm, one history point per location and one frame per command', async () => {
    let last = seed;
    const each = (name: keyof typeof vehicles, script: typeof raiseBits): Promise<void>[] =>
      fleet[name].map((vehicle) => {
        last += 1;
        return script(vehicle, new SeededRandom(last));
      });
    const reportedBefore = load.counters.reportsAcknowledged;
    last += 1;
    const commands = sendCommands(new SeededRandom(last));
    await Promise.all([killAll(), ...each('word', raiseBits), ...each('sos', pressSos), ...each('items', raiseItems)]);
    await waitFor(() => load.counters.online === background.terminals, 'the others to be online again', recoveryMs);
    const reported = load.counters.reportsAcknowledged - reportedBefore;
    expect(reported).toBeGreaterThan(background.terminals);

    for (const vehicle of allVehicles()) await expectReceipts(vehicle);
    const ids = toIds(await listNotifications());
    const isDelivered = (): boolean => [...ids].every((id) => receiver.notificationIds.has(id));
    await waitFor(isDelivered, 'a delivery of every notification', recoveryMs);
    process.stdout.write(formatSummary(ids, reported));
    const calls = await commands;
    expect(findWrongCommands(calls)).toEqual([]);
    const locations = await Promise.all(allVehicles().map(compareLocations));
    const acknowledged = locations.reduce((sum, compared) => sum + compared.acknowledged, 0);
    process.stdout.write(`commands by status ${JSON.stringify(countStatuses(calls))}, ${acknowledged} locations\n`);
    expect(locations.filter(({ lost, twice }) => lost.length > 0 || twice > 0)).toEqual([]);
    expect(countStatuses(calls)[200]).toBeGreaterThan(0);
    // No notification was added since, and some alarms were folded.
    const notifications = await listNotifications();
    const expected = allVehicles().flatMap((vehicle) => vehicle.getExpectedReceipts());
    expect(toIds(notifications)).toEqual(ids);
    expect(toReceipts(notifications)).toEqual(sortReceipts(expected));
    expect(expected.some(({ type, count }) => type === 'sos' && count > 1)).toBe(true);
    expect([...deliveryIds().values()].filter(({ size }) => size !== 1)).toEqual([]);
  });

  it('can be distinguished by timestamp and terminal, as webhook receivers do', () => {
    const names = new Map<string, number>();
    for (const { envelope } of receiver.delivered) {
      const { id, imei, server_timestamp: at } = envelope.payload.notification;
      const name = `${imei}:${at}`;
      expect(names.get(name) ?? id).toBe(id);
      names.set(name, Number(id));
    }
  });
});
