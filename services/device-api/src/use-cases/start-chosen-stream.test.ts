import { callUseCase, deviceApi, type Outcome, serve, switchStream } from '@fleet/bus';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { claimStream, isMainStreamWanted, openMainStreamViewer, readStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const podId = 'switching-pod';
const secret = 'a-secret-for-tests-only';
const [mainStream, subStream] = [0, 1];

let harness: DeviceApiHarness;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
const switched: { imei: string; streamType: number }[] = [];
let outcome: Outcome | null = createOutcome(0x9102);
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  service = await harness.startService({ DEVICE_API_AUTH: 'off', STREAM_TOKEN_SECRET: secret });
  const options = { queue: podId, onError: () => undefined };
  serve(harness.bus, switchStream(podId), options, async ({ imei, streamType }) => {
    switched.push({ imei, streamType });
    return { outcome };
  });
});
afterAll(() => harness.close());

const device = () => harness.connectDevice(() => createOutcome(0x9101));
const idOf = (imei: string) => ({ kind: 'live', imei, channel: 1 }) as const;
const start = (imei: string, body: object) =>
  service.video.get(`/${imei}/start`, { method: 'POST', body: JSON.stringify(body) });
const switchesOf = (imei: string): number[] =>
  switched.filter((each) => each.imei === imei).map(({ streamType }) => streamType);

/** Starts a stream of a type, and connects its camera to the pod. */
async function running(body: object): Promise<string> {
  const imei = await device();
  expect((await start(imei, body)).status).toBe(200);
  await harness.connectStream(imei, 2, 'http://127.0.0.1:1', podId);
  await claimStream(harness.redis, idOf(imei), { podId, url: 'http://127.0.0.1:1' });
  return imei;
}

describe('a start with a stream type', () => {
  it('requests that type from an idle camera, which returns to the sub stream later', async () => {
    const [high, low, none] = [await device(), await device(), await device()];
    await start(high, { stream_type: mainStream });
    await start(low, { stream_type: subStream });
    await start(none, {});
    const requestOf = async (imei: string) => (await readStream(harness.redis, idOf(imei))).request;
    expect(await requestOf(high)).toMatchObject({ streamType: mainStream, returnsToSub: true });
    expect(await requestOf(low)).toMatchObject({ streamType: subStream, returnsToSub: false });
    expect(await requestOf(none)).toMatchObject({ streamType: mainStream, returnsToSub: false });
    expect(await isMainStreamWanted(harness.redis, idOf(high))).toBe(true);
    expect(await isMainStreamWanted(harness.redis, idOf(none))).toBe(false);
  });

  it('switches a running stream of another type, and no other', async () => {
    const imei = await running({ stream_type: subStream });
    expect(await start(imei, {})).toMatchObject({ status: 200 });
    expect(await start(imei, { stream_type: subStream })).toMatchObject({ status: 200 });
    expect(switchesOf(imei)).toEqual([]);
    expect(await start(imei, { stream_type: mainStream })).toMatchObject({ status: 200, body: { result: 'success' } });
    expect(switchesOf(imei)).toEqual([mainStream]);
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it('is part of the URL, so that its viewers are known', async () => {
    const imei = await device();
    const tokens = new StreamTokens({ secrets: secret, lifetimeSeconds: 600 });
    const grantOf = async (body: object) => {
      const { stream_url: url } = (await start(imei, body)).body as { stream_url: string };
      return tokens.verify(new URL(url).searchParams.get('token') ?? '');
    };
    expect(await grantOf({ stream_type: mainStream })).toMatchObject({ isMainStream: true });
    expect(await grantOf({})).not.toHaveProperty('isMainStream');
  });

  it('leaves the main stream to other callers who want it', async () => {
    const imei = await running({ stream_type: mainStream });
    await openMainStreamViewer(harness.redis, { id: idOf(imei), viewer: 'a', caller: 'user:5' }, true);
    expect((await start(imei, { stream_type: subStream })).status).toBe(200);
    expect(switchesOf(imei)).toEqual([]);
    const request = { imei, channel: 1, dataType: 0, streamType: subStream, switchedBy: 'user:5' };
    await callUseCase(harness.bus, deviceApi.startLive, request, { timeoutMs: 10_000 });
    expect(switchesOf(imei)).toEqual([subStream]);
  });

  it('does not switch a stream of the Device API', async () => {
    const imei = await running({ stream_type: subStream });
    const { status } = await service.get(`/realtime/start-stream?imei=${imei}&channel=1&stream_type=0`);
    expect([status, switchesOf(imei)]).toEqual([200, []]);
  });

  it.each([
    ['refuses', createOutcome(0x9102, 1), 200, { response_id: '0x9102', result: 'failure' }],
    ['does not respond', { kind: 'timedOut' } as const, 504, { status: 504 }],
  ])('has the outcome of the command if the camera %s', async (_name, result, status, body) => {
    const imei = await running({ stream_type: subStream });
    outcome = result;
    try {
      expect(await start(imei, { stream_type: mainStream })).toMatchObject({ status, body });
      expect(await isMainStreamWanted(harness.redis, idOf(imei))).toBe(false);
    } finally {
      outcome = createOutcome(0x9102);
    }
  });
});

describe('a viewer of the main stream', () => {
  it('is recorded until it has left', async () => {
    const pod = await startFakeMediaPod(respondWithStream());
    const imei = await device();
    const { body } = await start(imei, { stream_type: mainStream });
    await harness.connectStream(imei, 1, pod.url);
    const members = () => harness.redis.zRangeWithScores(`stream-main:${imei}:1`, 0, -1);
    const viewer = new AbortController();
    const { stream_url: url } = body as { stream_url: string };
    const response = await fetch(url, { signal: viewer.signal });
    expect(response.status).toBe(200);
    await waitFor(async () => (await members())[0]?.value.startsWith('viewer:anonymous:'), 'the viewer');
    expect(await members()).toHaveLength(1);
    const openUntilMs = (await members())[0]?.score ?? 0;
    viewer.abort();
    await waitFor(async () => ((await members())[0]?.score ?? 0) < openUntilMs, 'the end of the viewer');
    await pod.close();
  });
});
