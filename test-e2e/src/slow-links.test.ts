import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDelayedLink } from './testing/delayed-link.ts';
import { PlatformClient, type Shown } from './testing/platform-client.ts';
import { openSlicer } from './testing/slicer.ts';
import { until } from './testing/until.ts';
import { newPhone, shareWorld, type World } from './testing/world.ts';

const reportCount = 20;
const latencyMs = 2_000;
/** Of the terminals: more than the round trip, else they would never log in. */
const replyTimeoutMs = 10_000;

let world: World;
let client: PlatformClient;

beforeAll(async () => {
  world = await shareWorld();
  client = await PlatformClient.logIn(world);
}, 180_000);

afterAll(() => world.stop(), 60_000);

const latitudeOf = (number: number): number => Math.round((22 + number / 1_000) * 1_000) / 1_000;

/** Starts a terminal of a vehicle behind a link; each of its reports is of another place. */
async function vehicleBehind(port: number): Promise<{ id: number; terminal: SimulatedTerminal }> {
  const phone = newPhone();
  const { id } = await client.data('/vehicles', { vehicle_no: `SLOW ${phone}`, imei: phone });
  let reports = 0;
  const at = () => {
    reports += 1;
    return {
      latitudeDeg: latitudeOf(reports),
      longitudeDeg: 114,
      altitudeM: 10,
      speedKmh: 40,
      directionDeg: 0,
      isIgnitionOn: true,
      distanceM: reports * 100,
    };
  };
  const link = { host: '127.0.0.1', port };
  const terminal = await world.terminal({ ...link, phone, replyTimeoutMs, track: { name: 'steps', at } });
  return { id: Number(id), terminal };
}

/** Sends reports in 0x0200 and 0x0704 in turn, and waits until all are acknowledged. */
async function sendReports(terminal: SimulatedTerminal): Promise<void> {
  while (terminal.reports.length < reportCount) {
    terminal.report();
    terminal.reportBatch(3);
  }
  const isAcknowledged = (): boolean => terminal.reports.every(({ acknowledgedAtMs }) => acknowledgedAtMs !== null);
  await until('every report to be acknowledged', isAcknowledged, 60_000);
}

/** Returns the latitudes of a vehicle's history, in order. */
async function historyOf(id: number): Promise<number[]> {
  const found = await client.ask(`/vehicles/${id}/locations?from=${Date.now() - 3_600_000}&to=${Date.now()}`);
  return (found['data'] as Shown[]).map(({ latitude }) => Number(latitude)).toSorted((left, right) => left - right);
}

const links = [
  { name: 'single bytes', open: () => openSlicer(world.product.runtime.jt808) },
  {
    name: 'two seconds of latency',
    open: () => openDelayedLink(world.product.runtime.jt808, latencyMs),
    isRepeating: true,
  },
] as const;

describe('acknowledged locations of a slow link', () => {
  it.each(links)(
    'are in the history, each once: $name',
    async ({ open }) => {
      const link = await open();
      try {
        const { id, terminal } = await vehicleBehind(link.port);
        await sendReports(terminal);
        const acknowledged = terminal.reports.map((_report, index) => latitudeOf(index + 1));
        const isComplete = async (): Promise<boolean> => (await historyOf(id)).length >= acknowledged.length;
        await until('every acknowledged location in the history', isComplete, 60_000);
        expect(await historyOf(id)).toEqual(acknowledged);
        await terminal.stop();
      } finally {
        link.stop();
      }
    },
    180_000,
  );
});
