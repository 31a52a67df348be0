import { type DemuxedTag, FlvDemuxer } from '@fleet/jt1078/testing';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { CuttableProxy } from './testing/cuttable-proxy.ts';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { HlsReader } from './testing/hls-reader.ts';
import { ServiceReplica } from './testing/service-replica.ts';
import { Viewer } from './testing/viewer.ts';

// Processes start on a machine that may be busy.
jest.setTimeout(300_000);
const timeoutMs = 90_000;

let harness: DedicatedHarness;
/** The one address of all media pods. */
let balancer: CuttableProxy;
/** Sends cameras to the balancer. */
let deviceApi: DeviceApiReplica;

beforeAll(async () => {
  [harness, balancer] = await Promise.all([leaseHarness(), CuttableProxy.open()]);
  balancer.targetPort = harness.product.runtime.jt1078.live_port;
  deviceApi = await DeviceApiReplica.start(harness, { MEDIA_LIVE_PORT: String(balancer.port) });
}, 240_000);
afterAll(async () => {
  await deviceApi?.stop();
  balancer?.close();
  await harness?.stop();
}, 90_000);

type Tag = Pick<DemuxedTag, 'type' | 'timestampMs'>;

/** Tags that a websocket viewer receives. */
function watchByWebsocket(terminal: SimulatedTerminal) {
  const headers = { 'x-api-key': harness.product.runtime.demo.api_key };
  const url = `${deviceApi.videoUrl.replace('http', 'ws')}/${terminal.phone}/1/stream.flv`;
  const websocket = new WebSocket(url, { headers });
  const watched = { tags: [] as Tag[], isClosed: false, leave: () => websocket.close() };
  const demuxer = new FlvDemuxer(({ type, timestampMs }) => watched.tags.push({ type, timestampMs }));
  websocket.on('message', (data) => demuxer.push(data as Buffer));
  websocket.on('close', () => {
    watched.isClosed = true;
  });
  websocket.on('error', () => undefined);
  return watched;
}

/** Starts live video that two FLV viewers and one HLS player watch. */
async function startWatched() {
  const terminal = await harness.startTerminal();
  const query = `imei=${terminal.phone}&channel=1`;
  expect(await deviceApi.get(`/realtime/start-stream?${query}`)).toMatchObject({ status: 200 });
  const viewer = new Viewer(`${deviceApi.url}/api/v1/realtime/stream.flv?${query}`);
  const websocket = watchByWebsocket(terminal);
  const headers = { 'x-api-key': harness.product.runtime.demo.api_key };
  const hls = new HlsReader(`${deviceApi.videoUrl}/${terminal.phone}/1/index.m3u8`, headers);
  await waitFor(() => viewer.pictures.length > 20, 'pictures', timeoutMs);
  await waitFor(() => websocket.tags.length > 20, 'pictures by websocket', timeoutMs);
  await waitFor(() => hls.sequences.length >= 2, 'segments of HLS', timeoutMs);
  return { terminal, viewer, websocket, hls };
}

/** Throws if time goes back on a track, or if all tracks together leave a gap. */
function assertContinuous(tags: readonly Tag[]): void {
  const latest = new Map<number, number>();
  for (const { type, timestampMs } of tags) {
    expect(timestampMs).toBeGreaterThanOrEqual(latest.get(type) ?? 0);
    const before = Math.max(...latest.values());
    if (latest.size > 0) expect(timestampMs - before).toBeLessThan(1_000);
    latest.set(type, timestampMs);
  }
}

/** Stops a pod, waits until all viewers continue, and returns what they and the camera have seen. */
async function watchDuring(
  { terminal, viewer, websocket, hls }: Awaited<ReturnType<typeof startWatched>>,
  stop: () => Promise<void>,
): Promise<{ readonly pauseMs: number; readonly seen: object }> {
  const startedAtMs = performance.now();
  const stopped = stop();
  await waitFor(() => terminal.receivedFrames(0x9101).length === 2, 'the second request of the camera', timeoutMs);
  const picturesBefore = viewer.pictures.length;
  const tagsBefore = websocket.tags.length;
  const segmentsBefore = hls.sequences.length;
  await waitFor(() => viewer.pictures.length > picturesBefore, 'a picture of the next pod', timeoutMs);
  const pauseMs = performance.now() - startedAtMs;
  await waitFor(() => viewer.pictures.length > picturesBefore + 40, 'pictures of the next pod', timeoutMs);
  await waitFor(() => websocket.tags.length > tagsBefore + 40, 'pictures by websocket', timeoutMs);
  await waitFor(() => hls.sequences.length >= segmentsBefore + 3, 'segments of the next pod', timeoutMs);
  await stopped;
  const seen = {
    isEnded: [viewer.ended !== undefined, websocket.isClosed],
    hlsFaults: hls.faults,
    starts: terminal.receivedFrames(0x9101).length,
    stops: terminal.receivedFrames(0x9102).length,
  };
  for (const tags of [viewer.tags, websocket.tags]) assertContinuous(tags);
  viewer.leave();
  websocket.leave();
  await hls.stop();
  return { pauseMs, seen };
}

/** One request of the user, and one for the next pod. */
const uninterrupted = { isEnded: [false, false], hlsFaults: [], starts: 2, stops: 0 };

describe('a media pod that is stopped while its streams are watched', () => {
  it('moves them to another pod: viewers see a pause, and the camera gets one request', async () => {
    const pod = await ServiceReplica.start(harness, 'jt1078-media');
    balancer.targetPort = Number(pod.ports['MEDIA_LIVE_PORT']);
    const watched = await startWatched();
    const { pauseMs, seen } = await watchDuring(watched, () => {
      // A load balancer sends no further connections to a pod that stops.
      balancer.targetPort = harness.product.runtime.jt1078.live_port;
      return pod.stop();
    });
    expect(seen).toEqual(uninterrupted);
    // Sound that begins late on a busy machine is a discontinuity, too.
    expect(watched.hls.discontinuity).toBeGreaterThanOrEqual(1);
    process.stdout.write(`another pod: viewers paused for ${pauseMs.toFixed(0)} ms\n`);
  });

  it('has them back after its restart if it is the only one', async () => {
    const watched = await startWatched();
    const { pauseMs, seen } = await watchDuring(watched, async () => {
      const pid = killProcess(harness, 'jt1078-media', 'SIGTERM');
      await waitForRestart(harness, 'jt1078-media', pid);
      await waitUntilHealthy(harness);
    });
    expect(seen).toEqual(uninterrupted);
    process.stdout.write(`the only pod restarted: viewers paused for ${pauseMs.toFixed(0)} ms\n`);
  });
});
