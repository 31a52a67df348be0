import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import type { PlatformRecord } from './testing/platform-client.ts';

// Services are killed and restarted.
jest.setTimeout(240_000);

/** Claims of a dead process expire in six seconds, and services restart in a few; a busy machine needs longer. */
const endTimeoutMs = 60_000;

const clip = { kind: 'clip', duration_seconds: 3 };
const frame = { quality: 'LOW' };

let harness: DedicatedHarness;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
}, 240_000);
afterAll(() => harness?.stop(), 90_000);

/** Creates a vehicle whose terminal takes no pictures, so that live video is recorded. */
async function createDashcam(): Promise<Dashcam> {
  const dashcam = await dashcams.create();
  dashcam.terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x8801);
  return dashcam;
}

/** Requests a capture over the video service. */
async function capture({ imei }: Dashcam, body: object) {
  const response = await fetch(`${harness.product.runtime.video_url}/${imei}/media-capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': harness.product.runtime.demo.api_key },
    body: JSON.stringify({ wait: 60, wake: false, ...body }),
  });
  return { status: response.status, body: (await response.json()) as PlatformRecord };
}

async function kill(name: string): Promise<void> {
  await waitForRestart(harness, name, killProcess(harness, name));
  await waitUntilHealthy(harness);
}

/** Waits until a capture is no longer pending. */
const waitForEnd = (captureId: unknown): Promise<PlatformRecord> =>
  waitFor(
    async () => {
      const found = await dashcams.client.requestData(`/dashcam-captures/${String(captureId)}`).catch(() => undefined);
      return found !== undefined && found['status'] !== 'pending' && found;
    },
    'the end of the capture',
    endTimeoutMs,
  );

const listMedia = ({ vehicleId }: Dashcam): Promise<PlatformRecord[]> =>
  dashcams.client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`);

/** Asserts that a capture has ended with one file, and that the next one works. */
async function expectOneFile(dashcam: Dashcam, ended: PlatformRecord): Promise<void> {
  expect(ended).toMatchObject({ status: 'completed', method: 'stream', error: null });
  expect(ended['media']).toHaveLength(1);
  await waitFor(async () => (await capture(dashcam, frame)).status === 200, 'the next capture', endTimeoutMs);
  const captureIds = (await listMedia(dashcam)).map((file) => file['capture_id']);
  expect(captureIds).toHaveLength(2);
  expect(new Set(captureIds).size).toBe(2);
}

describe('live video that is recorded', () => {
  it.each([
    ['a frame', 'device-api', frame],
    ['a frame', 'jt1078-media', frame],
    ['a frame', 'upload-ftp', frame],
    ['a frame', 'platform-api', frame],
    ['a clip', 'device-api', clip],
    ['a clip', 'jt1078-media', clip],
    ['a clip', 'jt808-gateway', clip],
    ['a clip', 'upload-ftp', clip],
    ['a clip', 'platform-api', clip],
  ])('as %s has one file although %s is killed while the camera streams', async (_what, name, body) => {
    const dashcam = await createDashcam();
    const { body: pending } = await capture(dashcam, { ...body, wait: 0 });
    const { cameras } = dashcam.terminal;
    // The stream of a frame may have ended before anybody can list it.
    if (body === clip) await dashcams.waitUntilStreaming(dashcam);
    else await waitFor(() => cameras.records.some(({ state }) => state === 'streaming'), 'the stream', 30_000);
    await kill(name);
    const ended = await waitForEnd(pending['capture_id']);
    expect(ended).toMatchObject({ status: 'completed', error: null });
    await expectOneFile(dashcam, ended);
  });

  // The response of a terminal may be lost with the connection of a killed gateway.
  it.each(['device-api', 'platform-api'])(
    'has one file, and is started once, although %s is killed before the camera responds',
    async (name) => {
      const dashcam = await createDashcam();
      const { terminal } = dashcam;
      terminal.setBehaviour({ kind: 'slow', delayMs: 2_500 }, 0x9101);
      const { body: pending } = await capture(dashcam, { ...frame, wait: 0 });
      await waitFor(() => terminal.receivedFrames(0x9101).length > 0, 'the start of the stream', 30_000);
      await kill(name);
      const ended = await waitForEnd(pending['capture_id']);
      const startCount = terminal.receivedFrames(0x9101).length;
      await expectOneFile(dashcam, ended);
      expect(startCount).toBe(1);
    },
  );
});

describe('a caller of the video service', () => {
  it.each(['platform-api', 'upload-ftp'])('gets the capture although %s is killed while it waits', async (name) => {
    const dashcam = await createDashcam();
    const response = capture(dashcam, clip);
    await dashcams.waitUntilStreaming(dashcam);
    await kill(name);
    const { status, body } = await response;
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'completed', method: 'stream' } });
    expect(await listMedia(dashcam)).toHaveLength(1);
  });
});

describe('a sleeping terminal', () => {
  it('has its picture taken although device-api is killed while it is being woken', async () => {
    const { vehicleId, terminal } = await dashcams.create();
    terminal.setBehaviour({ kind: 'sleeping', wakeAfterMs: 4_000 });
    const request = dashcams.client.requestData(`/vehicles/${vehicleId}/dashcam-media-capture?wait=60`, {});
    await waitFor(() => terminal.receivedFrames(0x8201).length > 0, 'the query that wakes it', 30_000);
    await kill('device-api');
    expect(await request).toMatchObject({ status: 'completed', method: 'terminal' });
    expect(terminal.receivedFrames(0x8801)).toHaveLength(1);
  });
});
