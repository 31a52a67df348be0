import { locateClip, serveUseCase } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { FakePlatform } from '../testing/fake-platform.ts';
import { readUntilClosed } from '../testing/read-until-closed.ts';
import { ftpPod, requestClip, UploadHarness } from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let uploads: UploadHarness;
let platform: FakePlatform;
let api: Awaited<ReturnType<UploadHarness['startService']>>;
let pod: FakeMediaPod;
let clipId: string;
let livePath: string;
const here = ['127.0.0.0/8', '::1'];
const elsewhere = ['203.0.113.0/24'];
const newKey = (): string => platform.newKey({ ipAllowlist: here });

beforeAll(async () => {
  uploads = await UploadHarness.open({ platform: false });
  const { bus } = uploads.harness;
  platform = await FakePlatform.start(bus);
  pod = await startFakeMediaPod(respondWithStream());
  const options = { queue: 'platform-api', onError: () => undefined };
  serveUseCase(bus, locateClip(ftpPod), options, async () => ({ httpUrl: pod.url }));
  await bus.nc.flush();
  api = await uploads.startService({ DEVICE_API_AUTH: 'key' });
  const camera = await uploads.connectCamera();
  const keyHeaders = { headers: { 'x-api-key': newKey() } };
  clipId = await requestClip(
    { base: api.base, get: (path, init) => api.get(path, { ...init, ...keyHeaders }) },
    camera,
  );
  await uploads.records.transition(clipId, ['uploading'], 'completed');
  await uploads.harness.connectStream(camera.imei, 1, pod.url);
  livePath = `/realtime/stream.flv?imei=${camera.imei}&channel=1`;
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await uploads.close();
});

/** Reads video until it is closed. */
async function startReader(path: string, key: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${api.base}/api/v1${path}`, { headers: { 'x-api-key': key, ...headers } });
  expect(response.status).toBe(200);
  return readUntilClosed(response);
}

describe.each([
  ['live video', () => livePath, {}],
  ['a clip', () => `/videos/file?video_id=${clipId}`, {}],
  ['a later part of a clip', () => `/videos/file?video_id=${clipId}`, { range: 'bytes=1000-' }],
])('%s that a key is watching', (_name, path, headers) => {
  it.each([
    ['whose revocation was published', (key: string) => platform.revokeKey(key)],
    ['whose revocation was missed', (key: string) => platform.removeKey(key)],
    ['whose addresses have changed without an event', (key: string) => platform.setAddresses(key, elsewhere)],
  ])('ends for a key %s, and for no other', async (_how, end) => {
    const [key, other] = [newKey(), newKey()];
    const closedReaders = [await startReader(path(), key, headers), await startReader(path(), key, headers)];
    const openReader = await startReader(path(), other, headers);
    try {
      platform.setAddresses(other, [...here, ...elsewhere]);
      end(key);
      await waitFor(() => closedReaders.every(({ isClosed: isOver }) => isOver()));
      expect(openReader.isClosed()).toBe(false);
    } finally {
      await Promise.all([...closedReaders, openReader].map((each) => each.end()));
    }
  });
});
