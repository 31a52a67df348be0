import { createHash, randomBytes } from 'node:crypto';
import { findDevice, keyRevoked, locateClip, publish, serve, serveUseCase, verifyKey } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { waitFor } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { type MediaPod, openMediaPod, streaming } from '../testing/media-pod.ts';
import { ftpPod, UploadWorld, uploading } from '../testing/upload-world.ts';
import { watchUntilCut } from '../testing/watch.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let uploads: UploadWorld;
let api: Awaited<ReturnType<UploadWorld['service']>>;
let pod: MediaPod;
let clipId: string;
let livePath: string;
/** Allowed addresses of the valid keys, by their hashes. */
const valid = new Map<string, readonly string[]>();
const hash = (key: string): string => createHash('sha256').update(key).digest('hex');
const here = ['127.0.0.0/8', '::1'];
const elsewhere = ['203.0.113.0/24'];

function newKey(): string {
  const key = `fk_${randomBytes(32).toString('base64url')}`;
  valid.set(hash(key), here);
  return key;
}

beforeAll(async () => {
  uploads = await UploadWorld.open({ platform: false });
  const { bus } = uploads.world;
  const options = { queue: 'platform-api', onError: () => undefined };
  serve(bus, verifyKey, options, async ({ keySha256 }) => {
    const ipAllowlist = valid.get(keySha256);
    if (ipAllowlist === undefined) return { valid: false as const };
    return {
      valid: true as const,
      keyId: 1,
      accountId: 7,
      scopes: ['command', 'video'],
      ipAllowlist: [...ipAllowlist],
    };
  });
  const device = { known: false, accountId: null, cameraUtcOffset: '+08:00' };
  serve(bus, findDevice, options, async () => device);
  pod = await openMediaPod(streaming());
  serveUseCase(bus, locateClip(ftpPod), options, async () => ({ httpUrl: pod.url }));
  await bus.nc.flush();
  api = await uploads.service({ DEVICE_API_AUTH: 'key' });
  const camera = await uploads.camera();
  const asked = { headers: { 'x-api-key': newKey() } };
  clipId = await uploading({ base: api.base, get: (path, init) => api.get(path, { ...init, ...asked }) }, camera);
  await uploads.records.transition(clipId, ['uploading'], 'completed');
  await uploads.world.cameraConnects(camera.imei, 1, pod.url);
  livePath = `/realtime/stream.flv?imei=${camera.imei}&channel=1`;
});
afterAll(async () => {
  await pod.close();
  await uploads.close();
});

/** Reads video until it is closed. */
async function show(path: string, key: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${api.base}/api/v1${path}`, { headers: { 'x-api-key': key, ...headers } });
  expect(answer.status).toBe(200);
  return watchUntilCut(answer);
}

describe.each([
  ['live video', () => livePath, {}],
  ['a clip', () => `/videos/file?video_id=${clipId}`, {}],
  ['a later part of a clip', () => `/videos/file?video_id=${clipId}`, { range: 'bytes=1000-' }],
])('%s that a key is watching', (_name, path, headers) => {
  it.each([
    [
      'whose revocation was published',
      (key: string) => {
        valid.delete(hash(key));
        publish(uploads.world.bus, keyRevoked, { keySha256: hash(key) });
      },
    ],
    ['whose revocation was missed', (key: string) => void valid.delete(hash(key))],
    ['whose addresses have changed without an event', (key: string) => void valid.set(hash(key), elsewhere)],
  ])('ends for a key %s, and for no other', async (_how, end) => {
    const [key, other] = [newKey(), newKey()];
    const cut = [await show(path(), key, headers), await show(path(), key, headers)];
    const kept = await show(path(), other, headers);
    try {
      valid.set(hash(other), [...here, ...elsewhere]);
      end(key);
      await waitFor(() => cut.every(({ isOver }) => isOver()));
      expect(kept.isOver()).toBe(false);
    } finally {
      await Promise.all([...cut, kept].map((each) => each.end()));
    }
  });
});
