import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';

// Services are killed and restarted.
jest.setTimeout(180_000);

let harness: DedicatedHarness;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
}, 240_000);
afterAll(() => harness?.stop(), 60_000);

/** Requests a path of the video service. */
const fetchVideo = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(harness.product.runtime.video_url + path, {
    ...init,
    headers: { 'x-api-key': harness.product.runtime.demo.api_key },
  });

describe('a start whose response is lost with a killed gateway', () => {
  it('ends with the stream instead of the time-out of the device', async () => {
    const { imei, terminal } = await dashcams.create();
    // The camera streams; its response never arrives, as if the gateway had died with it.
    terminal.setBehaviour({ kind: 'mute' }, 0x9101);
    let isEnded = false;
    const start = fetchVideo(`/${imei}/start`, { method: 'POST' }).finally(() => {
      isEnded = true;
    });
    await waitFor(() => terminal.receivedFrames(0x9101).length > 0, 'the start of the stream', 30_000);
    const previousPid = killProcess(harness, 'jt808-gateway');
    // The time-out of the device is 90 seconds.
    await waitFor(() => isEnded, 'the response to the start', 60_000);
    expect((await start).status).toBe(200);
    const leave = new AbortController();
    const stream = await fetchVideo(`/${imei}/1/stream.flv`, { signal: leave.signal });
    expect(stream.status).toBe(200);
    leave.abort();
    await waitForRestart(harness, 'jt808-gateway', previousPid);
    await waitUntilHealthy(harness);
    expect(terminal.receivedFrames(0x9101)).toHaveLength(1);
  });

  it('still reports a camera that refuses after the restart', async () => {
    const dashcam = await waitFor(() => dashcams.create().catch(() => undefined), 'platform-api', 60_000);
    dashcam.terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x9101);
    const response = await fetchVideo(`/${dashcam.imei}/start`, { method: 'POST' });
    expect(await response.json()).toMatchObject({ response_id: '0x9101', result: 'failure' });
  });
});
