import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { isApiError } from './testing/fleet.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

let harness: DedicatedHarness;

beforeAll(async () => {
  harness = await leaseHarness();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const query = (terminal: SimulatedTerminal, channel = 1): string => `imei=${terminal.phone}&channel=${channel}`;

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?${query(terminal)}`);

const startStream = (terminal: SimulatedTerminal) => harness.get(`/realtime/start-stream?${query(terminal)}`);

/** Starts live video and waits for its first picture. */
const play = async (terminal: SimulatedTerminal): Promise<Viewer> => {
  expect(await startStream(terminal)).toMatchObject({ status: 200 });
  const viewer = watch(terminal);
  await waitFor(() => viewer.pictures.length > 0, 'a picture');
  return viewer;
};

describe('a media pod that is killed while its streams are watched', () => {
  it('closes its viewers, and the next start-stream restores the video, however early it is sent', async () => {
    const terminal = await harness.startTerminal();
    const viewer = await play(terminal);
    const previousPid = killProcess(harness, 'jt1078-media');
    await waitFor(() => viewer.ended !== undefined, 'the end of the response');

    // The lease of the killed pod is still in Redis and must not count as a stream. 503: no other pod was ready in
    // time.
    const startBody = await waitFor(async () => {
      const { status, body } = await startStream(terminal);
      expect([200, 503]).toContain(status);
      return status === 200 && body;
    }, 'a reply of the camera');
    expect(startBody).toEqual({ response_id: '0x9101', result: 'success' });
    expect(terminal.receivedFrames(0x9101)).toHaveLength(2);
    const again = watch(terminal);
    await waitFor(() => again.pictures.length > 0, 'a picture from the new pod');
    again.leave();
    await waitForRestart(harness, 'jt1078-media', previousPid);
    await waitUntilHealthy(harness);
  }, 180_000);

  it('leaves no stale entry: the camera is not streaming, its viewers get an error, and nothing is blocked', async () => {
    const terminal = await harness.startTerminal();
    const viewer = await play(terminal);
    const killedAt = performance.now();
    const previousPid = killProcess(harness, 'jt1078-media');
    await waitFor(() => viewer.ended !== undefined, 'the end of the response');
    await waitFor(
      async () => (await harness.get(`/health/camera?${query(terminal)}`)).status === 503,
      'the entry to be deleted',
    );
    expect(performance.now() - killedAt).toBeLessThan(20_000);
    const refused = await harness.get(`/realtime/stream.flv?${query(terminal)}`);
    expect(refused.status).toBe(404);
    expect(isApiError(refused.body, 404)).toBe(true);

    await waitForRestart(harness, 'jt1078-media', previousPid);
    await waitUntilHealthy(harness);
    const again = await play(terminal);
    expect(terminal.receivedFrames(0x9101)).toHaveLength(2);
    again.leave();
  }, 180_000);
});
