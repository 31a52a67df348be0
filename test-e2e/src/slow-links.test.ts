import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDelayedLink } from './testing/delayed-link.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { openTcpFragmenter } from './testing/tcp-fragmenter.ts';

const reportCount = 20;
const latencyMs = 2_000;
/** Reply timeout of the terminals: longer than the round trip, otherwise they could never log in. */
const replyTimeoutMs = 10_000;

let harness: ProductHarness;
let client: PlatformClient;

beforeAll(async () => {
  harness = await joinSharedHarness();
  client = await PlatformClient.logIn(harness);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const toLatitude = (number: number): number => Math.round((22 + number / 1_000) * 1_000) / 1_000;

/** Starts a terminal of a vehicle behind a slow link; each of its reports has another position. */
async function startDelayedVehicle(port: number): Promise<{ id: number; terminal: SimulatedTerminal }> {
  const phone = uniquePhone();
  const { id } = await client.requestData('/vehicles', { vehicle_no: `SLOW ${phone}`, imei: phone });
  let reports = 0;
  const at = () => {
    reports += 1;
    return {
      latitudeDeg: toLatitude(reports),
      longitudeDeg: 114,
      altitudeM: 10,
      speedKmh: 40,
      directionDeg: 0,
      isIgnitionOn: true,
      distanceM: reports * 100,
    };
  };
  const link = { host: '127.0.0.1', port };
  const terminal = await harness.startTerminal({ ...link, phone, replyTimeoutMs, track: { name: 'steps', at } });
  return { id: Number(id), terminal };
}

/** Sends reports alternately in 0x0200 and 0x0704, and waits until all are acknowledged. */
async function sendReports(terminal: SimulatedTerminal): Promise<void> {
  while (terminal.reports.length < reportCount) {
    terminal.report();
    terminal.reportBatch(3);
  }
  const isAcknowledged = (): boolean => terminal.reports.every(({ acknowledgedAtMs }) => acknowledgedAtMs !== null);
  await waitFor(isAcknowledged, 'every report to be acknowledged', 60_000);
}

/** Returns the latitudes of a vehicle's history, in order. */
async function readHistory(id: number): Promise<number[]> {
  const found = await client.request(`/vehicles/${id}/locations?from=${Date.now() - 3_600_000}&to=${Date.now()}`);
  return (found['data'] as PlatformRecord[])
    .map(({ latitude }) => Number(latitude))
    .toSorted((left, right) => left - right);
}

const links = [
  { name: 'single bytes', open: () => openTcpFragmenter(harness.product.runtime.jt808) },
  {
    name: 'two seconds of latency',
    open: () => openDelayedLink(harness.product.runtime.jt808, latencyMs),
    isRepeating: true,
  },
] as const;

describe('acknowledged locations of a slow link', () => {
  it.each(links)(
    'appear in the history once each: $name',
    async ({ open }) => {
      const link = await open();
      try {
        const { id, terminal } = await startDelayedVehicle(link.port);
        await sendReports(terminal);
        const acknowledged = terminal.reports.map((_report, index) => toLatitude(index + 1));
        const isComplete = async (): Promise<boolean> => (await readHistory(id)).length >= acknowledged.length;
        await waitFor(isComplete, 'every acknowledged location in the history', 60_000);
        expect(await readHistory(id)).toEqual(acknowledged);
        await terminal.stop();
      } finally {
        link.stop();
      }
    },
    180_000,
  );
});
