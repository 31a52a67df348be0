import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { readSizes } from './testing/decode.ts';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

jest.setTimeout(180_000);

const mainSize = '640x360';
const subSize = '352x288';

let harness: DedicatedHarness;
let dashcams: Dashcams;
let key: Record<string, string>;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
  key = { 'x-api-key': harness.product.runtime.demo.api_key };
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

/** Starts a stream of a type through the Platform API; returns its record. */
const start = ({ vehicleId }: Dashcam, type: 'LOW' | 'HIGH') =>
  dashcams.client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, { stream_type: type, wake: false });
const describeStream = ({ vehicleId }: Dashcam) =>
  dashcams.client.requestData(`/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1&autoStart=false`);
const watch = (stream: Readonly<Record<string, unknown>>): Viewer => new Viewer(String(stream['stream_url']));
const waitForSizes = (viewer: Viewer, sizes: string[]): Promise<void> =>
  waitForAssertion(() => expect(readSizes(viewer.tags)).toEqual(sizes), 60_000);
/** The last pictures of the sub stream may come before the first ones of the main stream. */
const waitForMainStream = (viewer: Viewer): Promise<void> =>
  waitForAssertion(() => expect(readSizes(viewer.tags).at(-1)).toBe(mainSize), 60_000);

describe('the stream type of a channel', () => {
  it('is switched for all viewers, and back after the last viewer of the main stream has left', async () => {
    const dashcam = await dashcams.create();
    const low = watch(await start(dashcam, 'LOW'));
    await waitForSizes(low, [subSize]);
    const started = await start(dashcam, 'HIGH');
    expect(started).toMatchObject({ stream_type: 'HIGH', status: 'streaming' });
    const high = watch(started);
    await waitForMainStream(high);
    await waitForSizes(low, [subSize, mainSize]);
    await waitFor(async () => (await describeStream(dashcam))['width'] === 640, 'the size in the record');
    high.leave();
    const leftAtMs = performance.now();
    await waitFor(async () => (await describeStream(dashcam))['stream_type'] === 'LOW', 'the sub stream', 60_000);
    expect(performance.now() - leftAtMs).toBeGreaterThan(9_000);
    const { length } = low.pictures;
    await waitFor(() => low.pictures.length > length + 30, 'pictures of the sub stream');
    await waitFor(async () => (await describeStream(dashcam))['width'] === 352, 'the size in the record');
    expect(low.ended).toBeUndefined();
    low.leave();
  });

  it('is the same for two replicas, and does not outlive a killed one', async () => {
    const dashcam = await dashcams.create();
    const low = watch(await start(dashcam, 'LOW'));
    await waitForSizes(low, [subSize]);
    const replica = await DeviceApiReplica.start(harness);
    try {
      const init = { method: 'POST', headers: key, body: JSON.stringify({ stream_type: 0 }) };
      const response = await fetch(`${replica.videoUrl}/${dashcam.imei}/start`, init);
      expect(response.status).toBe(200);
      const { stream_url: url } = (await response.json()) as { stream_url: string };
      const high = new Viewer(url);
      await waitForMainStream(high);
      expect(await describeStream(dashcam)).toMatchObject({ stream_type: 'HIGH' });
      // Another caller's LOW does not take the main stream away from this viewer.
      expect(await start(dashcam, 'LOW')).toMatchObject({ stream_type: 'HIGH' });
      await replica.stop('SIGKILL');
      await waitFor(async () => (await describeStream(dashcam))['stream_type'] === 'LOW', 'the sub stream', 60_000);
      expect(low.ended).toBeUndefined();
    } finally {
      await replica.stop('SIGKILL');
      low.leave();
    }
  });

  it('does not outlive a killed media pod', async () => {
    const dashcam = await dashcams.create();
    const high = watch(await start(dashcam, 'HIGH'));
    await waitForMainStream(high);
    const previousPid = killProcess(harness, 'jt1078-media');
    await waitFor(() => high.ended !== undefined, 'the end of the response');
    // Refused while no pod is ready.
    const restarted = await waitFor(() => start(dashcam, 'LOW').catch(() => null), 'the next start', 60_000);
    const low = watch(restarted);
    await waitForSizes(low, [subSize]);
    expect(await describeStream(dashcam)).toMatchObject({ stream_type: 'LOW' });
    low.leave();
    await waitForRestart(harness, 'jt1078-media', previousPid);
  });
});
