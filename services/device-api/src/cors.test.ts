import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { respondWithStream, startFakeMediaPod } from './testing/fake-media-pod.ts';
import { DeviceApiHarness, randomImei } from './testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const page = 'https://fleet.example';
let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService({ PUBLIC_BASE_URL: page });
});
afterAll(() => harness.close());

/** Returns the origin that may read a response, and its status. */
async function readableBy(url: string, init: RequestInit = {}, origin = page): Promise<[number, string | null]> {
  const headers = { origin, ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(url, { ...init, headers });
  await response.body?.cancel();
  expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  return [response.status, response.headers.get('access-control-allow-origin')];
}

describe('a page of the platform', () => {
  it('reads streams of both services and their errors', async () => {
    const imei = randomImei();
    const urls = [
      `${api.video.base}/${imei}/1/stream.flv`,
      `${api.base}/api/v1/realtime/stream.flv?imei=${imei}&channel=1`,
    ];
    for (const url of urls) expect(await readableBy(url)).toEqual([404, page]);
    expect(await readableBy(`${api.base}/api/v1/history/stream.flv?imei=1`)).toEqual([400, page]);
    const pod = await startFakeMediaPod(respondWithStream());
    await harness.connectStream(imei, 1, pod.url);
    for (const url of urls) expect(await readableBy(url)).toEqual([200, page]);
    expect(await readableBy(urls[0] ?? '', {}, 'https://evil.example')).toEqual([200, null]);
    await pod.close();
  });

  it('calls the video service after a preflight', async () => {
    const imei = randomImei();
    const headers = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
    expect(await readableBy(`${api.video.base}/${imei}/start`, { method: 'OPTIONS', headers })).toEqual([204, page]);
    expect(await readableBy(`${api.video.base}/${imei}/start`, { method: 'POST' })).toEqual([404, page]);
  });

  it('reads nothing else of the Device API', async () => {
    expect(await readableBy(`${api.base}/api/v1/health/device?imei=${randomImei()}`)).toEqual([503, null]);
  });

  it('may be of the origins in CORS_ORIGINS instead', async () => {
    const other = await harness.startService({ PUBLIC_BASE_URL: page, CORS_ORIGINS: 'https://player.example' });
    const url = `${other.video.base}/${randomImei()}/1/stream.flv`;
    expect(await readableBy(url)).toEqual([404, null]);
    expect(await readableBy(url, {}, 'https://player.example')).toEqual([404, 'https://player.example']);
  });
});
