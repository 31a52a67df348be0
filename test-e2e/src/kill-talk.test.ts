import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import type { PlatformRecord } from './testing/platform-client.ts';
import { Talker } from './testing/talker.ts';

// Services are killed and restarted.
jest.setTimeout(180_000);

/** Services restart in seconds; a busy machine needs longer. */
const recoveryTimeoutMs = 60_000;

let harness: DedicatedHarness;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
}, 240_000);
afterAll(() => harness?.stop(), 60_000);

const countFrames = ({ terminal }: Dashcam): number =>
  terminal.cameras.records.findLast(({ kind }) => kind === 'talk')?.receivedFrames.length ?? 0;

const createDashcam = (): Promise<Dashcam> =>
  waitFor(() => dashcams.create().catch(() => undefined), 'platform-api', recoveryTimeoutMs);

/** Opens a talk as the user who is logged in, and waits until voice arrives on both sides. */
async function talk(dashcam: Dashcam): Promise<Talker> {
  const stream = await dashcams.client.requestData(`/vehicles/start-dashcam-stream/${dashcam.vehicleId}`, {});
  const talker = await Talker.open(String(stream['talk_url']));
  await waitFor(() => talker.received.length > 0 && countFrames(dashcam) > 0, 'voice');
  return talker;
}

async function kill(name: string): Promise<void> {
  await waitForRestart(harness, name, killProcess(harness, name));
  await waitUntilHealthy(harness);
}

const listEntries = async ({ vehicleId }: Dashcam, wanted: string): Promise<PlatformRecord[]> =>
  (await dashcams.client.listAll('/audit-log').catch((): PlatformRecord[] => [])).filter(
    ({ action, target }) => action === wanted && (target as { id: unknown }).id === vehicleId,
  );

/** Waits until both entries of a talk are in the audit log, and asserts that each is there once. */
async function expectAudited(dashcam: Dashcam): Promise<void> {
  const findEnds = async (): Promise<PlatformRecord[] | false> => {
    const found = await listEntries(dashcam, 'video.talk_end');
    return found.length > 0 && found;
  };
  const ends = await waitFor(findEnds, 'the end in the audit log', recoveryTimeoutMs);
  const [start, ...others] = await listEntries(dashcam, 'video.talk');
  expect(others).toEqual([]);
  const detail = { operation: 'talk', channel_id: 1 };
  expect(start).toMatchObject({ user_id: expect.any(Number), detail });
  expect(ends).toEqual([
    expect.objectContaining({
      user_id: start?.['user_id'],
      detail: expect.objectContaining({ ...detail, seconds: expect.any(Number) }),
    }),
  ]);
}

describe('an open talk', () => {
  it.each(['platform-api', 'platform-telemetry', 'jt808-gateway', 'upload-ftp'])(
    'continues although %s is killed, frees the device at its end, and is in the audit log with its duration',
    async (name) => {
      const dashcam = await createDashcam();
      const talker = await talk(dashcam);
      await kill(name);
      const [receivedCount, frameCount] = [talker.received.length, countFrames(dashcam)];
      await waitFor(
        () => talker.received.length > receivedCount && countFrames(dashcam) > frameCount,
        'voice after the restart',
      );
      expect(talker.closeCode).toBeNull();
      talker.close();
      await expectAudited(dashcam);
      await dashcam.terminal.waitUntilOnline(recoveryTimeoutMs);
      (await waitFor(() => talk(dashcam).catch(() => undefined), 'another talk', recoveryTimeoutMs)).close();
    },
  );

  it.each(['device-api', 'jt1078-media'])(
    'ends when %s is killed, is in the audit log with its duration, and frees the device',
    async (name) => {
      const dashcam = await createDashcam();
      const talker = await talk(dashcam);
      await kill(name);
      await waitFor(() => talker.closeCode !== null, 'the end of the talk', recoveryTimeoutMs);
      expect(talker.closeCode).toBe(name === 'device-api' ? 1006 : 4502);
      await expectAudited(dashcam);
      (await waitFor(() => talk(dashcam).catch(() => undefined), 'another talk', recoveryTimeoutMs)).close();
    },
  );
});
