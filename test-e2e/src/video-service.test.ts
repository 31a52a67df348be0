import { randomUUID } from 'node:crypto';
import { clipFrameHashes } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { decodePictureHashes } from './testing/decode.ts';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { getJson, type ProductHarness, startHarness } from './testing/harness.ts';
import { readVideoRows } from './testing/interface-tables.ts';
import { createRecording } from './testing/playback.ts';
import { Viewer } from './testing/viewer.ts';

jest.setTimeout(180_000);

const maxStreams = 4;
let harness: ProductHarness;
let dashcams: Dashcams;
let keyHeaders: Record<string, string>;
/** The two headers of the dashboard, with its origin. */
let sessionHeaders: Record<string, string>;
beforeAll(async () => {
  harness = await startHarness({ DEVICE_API_AUTH: 'key', MAX_STREAMS_PER_ACCOUNT: String(maxStreams) });
  dashcams = await Dashcams.open(harness);
  keyHeaders = { 'x-api-key': harness.product.runtime.demo.api_key };
  sessionHeaders = await logInToDashboard();
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

/** Logs in as the dashboard does, which gets its key with the session. */
async function logInToDashboard(): Promise<Record<string, string>> {
  const { base_url: url, demo } = harness.product.runtime;
  const login = { identifier: demo.email, password: demo.password };
  const { body } = await getJson(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(login),
  });
  const authorization = `Bearer ${(body as { data: { access_token: string } }).data.access_token}`;
  const me = await getJson(`${url}/api/auth/me`, { headers: { authorization } });
  const key = (me.body as { data: { dashboard_api_key: string } }).data.dashboard_api_key;
  return { authorization, 'x-api-key': key, origin: new URL(url).origin };
}

const videoUrl = (path: string): string => harness.product.runtime.video_url + path;
const post = (path: string, body: object, headers = keyHeaders, base = harness.product.runtime.video_url) =>
  getJson(base + path, { method: 'POST', headers, body: JSON.stringify(body) });

const span = { start_time: '2026-08-01T10:00:00+08:00', end_time: '2026-08-01T10:00:20+08:00' };
const clip = { channel: 1, ...span };
const recording = { ...clip, resource_type: 0, stream_type: 1, memory_type: 1 };
/** Bodies of the rows by the last part of their paths. */
const bodies: Readonly<Record<string, object>> = {
  upload: clip,
  'resource-list': clip,
  'history/start': recording,
  'history/control': { channel: 1, playback_control: 0 },
};

/** Connects a camera with a recording of 20 seconds. */
const createCamera = () =>
  dashcams.create(
    {},
    { recordings: [createRecording('2026-08-01T10:00:00', '2026-08-01T10:00:20')], logLimit: 100_000 },
  );

async function stopStreams(vehicleId: number): Promise<void> {
  await dashcams.client.request(`/vehicles/stop-dashcam-stream/${vehicleId}`, { force: true });
}

describe('the limit on streams of an account', () => {
  it('is 429 on both hosts and on two replicas, and ends with a stream', async () => {
    const cameras = await Promise.all(Array.from({ length: maxStreams + 1 }, () => dashcams.create()));
    const [first, ...others] = cameras;
    const last = others.at(-1);
    if (first === undefined || last === undefined) throw new Error('there are no cameras');
    const replica = await DeviceApiReplica.start(harness, { MAX_STREAMS_PER_ACCOUNT: String(maxStreams) });
    try {
      for (const [n, { imei }] of cameras.slice(0, maxStreams).entries())
        expect((await post(`/${imei}/start`, {}, keyHeaders, n % 2 === 0 ? undefined : replica.videoUrl)).status).toBe(
          200,
        );
      for (const base of [undefined, replica.videoUrl])
        expect(await post(`/${last.imei}/start`, {}, keyHeaders, base)).toMatchObject({ status: 429 });
      const url = `${harness.product.runtime.base_url}/api/vehicles/start-dashcam-stream/${last.vehicleId}`;
      const init = { method: 'POST', headers: sessionHeaders, body: JSON.stringify({ wake: false }) };
      const refused = await getJson(url, init);
      expect(refused).toMatchObject({ status: 429, body: { code: 'quota_exceeded' } });
      expect(refused.headers.get('retry-after')).toBe('60');
      await stopStreams(first.vehicleId);
      await waitFor(async () => (await post(`/${last.imei}/start`, {})).status === 200, 'a free stream');
      for (const { vehicleId } of cameras) await stopStreams(vehicleId);
    } finally {
      await replica.stop('SIGKILL');
    }
  });
});

/** The rows of the video service in the interface. */
const rows = [
  ['POST', '/:imei/start'],
  ['GET', '/:imei/wakeup'],
  ['GET', '/:imei/:channel/stream.flv'],
  ['POST', '/:imei/media-capture'],
  ['GET', '/:imei/ping'],
  ['POST', '/:imei/upload'],
  ['POST', '/:imei/resource-list'],
  ['POST', '/:imei/history/start'],
  ['POST', '/:imei/history/control'],
] as const;

describe('every row of the interface', () => {
  it('is tested here', () => {
    const documented = readVideoRows();
    // Without the shared documents there is nothing to compare.
    expect(documented?.map(({ method, path }) => [method, path]) ?? rows).toEqual(rows);
  });

  it('is in the OpenAPI document', async () => {
    const { body } = await getJson(videoUrl('/openapi.json'));
    const { paths } = body as { paths: Readonly<Record<string, object>> };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(documented).toEqual(expect.arrayContaining(rows.map((row) => row.join(' '))));
  });

  it.each(rows)('%s %s takes each credential', async (method, path) => {
    const { imei, vehicleId } = await createCamera();
    const [, name = ''] = /^\/:imei\/(.*)$/.exec(path) ?? [];
    if (name.endsWith('stream.flv')) await post(`/${imei}/start`, {});
    const url = videoUrl(path.replace(':imei', imei).replace(':channel', '1'));
    const statusOf = async (headers: Record<string, string>, query = ''): Promise<number> => {
      const body = method === 'POST' ? { body: JSON.stringify(bodies[name] ?? {}) } : {};
      const response = await fetch(url + query, { method, headers, ...body });
      await response.body?.cancel();
      return response.status;
    };
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ 'x-api-key': `fk_${randomUUID()}` })).toBe(401);
    const { origin: _origin, ...withoutOrigin } = sessionHeaders;
    expect(await statusOf(withoutOrigin)).toBe(403);
    expect(await statusOf({ ...sessionHeaders, authorization: 'Bearer bad' })).toBe(401);
    for (const headers of [sessionHeaders, keyHeaders]) expect([200, 202]).toContain(await statusOf(headers));
    const { body } = await post(`/${imei}/start`, {});
    const token = new URL((body as { stream_url: string }).stream_url).searchParams.get('token') ?? '';
    expect(await statusOf({}, `?token=${token}`)).toBe(name.endsWith('stream.flv') ? 200 : 401);
    await stopStreams(vehicleId);
  });
});

describe('playback through the video service', () => {
  it('plays a recording by its URL alone, and pauses, seeks and ends it', async () => {
    const { imei, terminal } = await createCamera();
    const { status, body } = await post(`/${imei}/history/start`, recording, sessionHeaders);
    expect({ status, body }).toMatchObject({ status: 200, body: { response_id: '0x9201', result: 'success' } });
    const viewer = new Viewer(`${(body as { stream_url: string }).stream_url}&audio=none`);
    const stream = () => terminal.cameras.records.findLast(({ kind }) => kind === 'history');
    /** Position in the recording of the picture that was sent last, in seconds. */
    const position = (): number =>
      ((stream()?.sentVideoFrames.at(-1)?.timestampMs ?? 0) - Date.parse(span.start_time)) / 1000;
    await waitFor(() => viewer.pictures.length > 10, 'pictures');
    const control = async (playbackControl: number, more: object = {}) => {
      const fields = { channel: 1, playback_control: playbackControl, ...more };
      expect(await post(`/${imei}/history/control`, fields)).toMatchObject({
        status: 200,
        body: { response_id: '0x9202', result: 'success' },
      });
    };
    await control(1);
    const pausedAt = position();
    expect(pausedAt).toBeLessThan(10);
    await control(5, { drag_playback_time: '2026-08-01T10:00:15+08:00' });
    await control(0);
    await waitFor(() => position() >= 15, 'the position of the seek');
    await waitFor(() => viewer.ended !== undefined, 'the end of the recording', 60_000);
    expect(viewer.ended).toBe('clean');
    const camera = await terminal.options.clips?.(1, 'main');
    if (camera === undefined) throw new Error('the terminal has no camera');
    const hashes = await clipFrameHashes(camera);
    expect(await decodePictureHashes(viewer.bytes)).toEqual(
      stream()?.sentVideoFrames.map(({ clipIndex }) => hashes[clipIndex]),
    );
  });

  it('lists recordings and uploads clips', async () => {
    const { imei, vehicleId } = await createCamera();
    const { body } = await post(`/${imei}/resource-list`, clip, sessionHeaders);
    expect(body).toMatchObject({ total_resources: 1, resources: [{ logical_channel_no: 1 }] });
    const upload = await post(`/${imei}/upload`, clip, sessionHeaders);
    expect(upload).toMatchObject({ status: 200, body: { response_id: '0x9206', result: 'success' } });
    const { video_id: id } = upload.body as { video_id: string };
    await waitFor(
      async () => {
        const { body: found } = await harness.get(`/videos?video_id=${id}`, { headers: keyHeaders });
        return (found as { status: string }).status === 'completed';
      },
      'the clip',
      60_000,
    );
    expect(vehicleId).toBeGreaterThan(0);
  });
});
