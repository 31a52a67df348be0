import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { Talker } from './testing/talker.ts';

// Services are killed and restarted.
jest.setTimeout(180_000);

let harness: DedicatedHarness;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
}, 240_000);
afterAll(() => harness?.stop(), 60_000);

const countFrames = ({ terminal }: Dashcam): number =>
  terminal.cameras.records.findLast(({ kind }) => kind === 'talk')?.receivedFrames.length ?? 0;

/** Opens a talk with an API key, and waits until voice arrives on both sides. */
async function talk(dashcam: Dashcam): Promise<Talker> {
  const { video_url: url, demo } = harness.product.runtime;
  const headers = { 'x-api-key': demo.api_key };
  const talker = await Talker.open(`${url.replace(/^http/, 'ws')}/${dashcam.imei}/1/talk`, { headers });
  await waitFor(() => talker.received.length > 0 && countFrames(dashcam) > 0, 'voice');
  return talker;
}

describe('an open talk', () => {
  it.each(['platform-api', 'platform-telemetry', 'jt808-gateway'])(
    'continues although %s is killed, and frees the device at its end',
    async (name) => {
      const create = () => dashcams.create().catch(() => undefined);
      const dashcam = await waitFor(create, 'platform-api', 60_000);
      const talker = await talk(dashcam);
      await waitForRestart(harness, name, killProcess(harness, name));
      await waitUntilHealthy(harness);
      const [receivedCount, frameCount] = [talker.received.length, countFrames(dashcam)];
      await waitFor(
        () => talker.received.length > receivedCount && countFrames(dashcam) > frameCount,
        'voice after the restart',
      );
      expect(talker.closeCode).toBeNull();
      talker.close();
      await dashcam.terminal.waitUntilOnline(60_000);
      (await waitFor(() => talk(dashcam).catch(() => undefined), 'another talk', 60_000)).close();
    },
  );
});
