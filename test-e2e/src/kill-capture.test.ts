import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { type PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

// Services are killed and restarted.
jest.setTimeout(240_000);

/** Longer than the wait for a crashed process, and for the live video that replaces a picture. */
const completionTimeoutMs = 120_000;

let harness: DedicatedHarness;
let client: PlatformClient;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
  client = dashcams.client;
}, 240_000);
afterAll(() => harness?.stop(), 90_000);

const listMedia = (vehicleId: number): Promise<PlatformRecord[]> =>
  client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`);

/** Waits until the pictures of a vehicle name their captures and returns the captures, each once. */
const waitForCaptures = (vehicleId: number, count: number): Promise<PlatformRecord[]> =>
  waitFor(
    async () => {
      const media = await listMedia(vehicleId).catch(() => []);
      const ids = new Set(media.flatMap(({ capture_id: id }) => (typeof id === 'string' ? [id] : [])));
      if (ids.size < count) return false;
      const captures = await Promise.all(
        [...ids].map((id) => client.requestData(`/dashcam-captures/${id}`).catch(() => null)),
      );
      return captures.every((capture) => capture?.['status'] === 'completed') && (captures as PlatformRecord[]);
    },
    `${count} captures of vehicle ${vehicleId}`,
    completionTimeoutMs,
  );

describe('a capture', () => {
  it.each(['platform-api', 'platform-telemetry', 'jt808-gateway', 'upload-ftp'])(
    'is completed although %s is killed while the terminal takes its picture',
    async (name) => {
      const { vehicleId, terminal } = await dashcams.create();
      terminal.setBehaviour({ kind: 'slow', delayMs: 1_500 }, 0x8801);
      const request = client
        .requestData(`/vehicles/${vehicleId}/dashcam-media-capture?wait=60`, {})
        .catch(() => undefined);
      await waitFor(() => terminal.receivedFrames(0x8801).length > 0, 'the command', 30_000);
      const pid = killProcess(harness, name);
      await waitForRestart(harness, name, pid);
      await waitUntilHealthy(harness);
      await request;
      const [capture] = await waitForCaptures(vehicleId, 1);
      expect(capture).toMatchObject({ status: 'completed', vehicle_id: vehicleId });
      // A retry must not make the terminal take another picture.
      expect(terminal.receivedFrames(0x8801)).toHaveLength(1);
    },
  );
});
