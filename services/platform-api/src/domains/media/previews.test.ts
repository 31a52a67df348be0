import { createPreview, type MediaPreview, serveUseCase } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type FakeMediaPod, openFakeMediaPod } from '../../testing/fake-media-pod.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { newMedia } from '../../testing/media-records.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleCollection } from '../vehicles/store.ts';
import { createDuePreviews, createMediaPreview, newPreviewFields } from './previews.ts';
import { recordMedia } from './record.ts';
import { removeMedia } from './removal.ts';
import type { Media } from './schema.ts';
import { findMedia } from './store.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

const thumbnailId = 'f'.repeat(24);
let harness: PlatformHarness;
let api: Client;
let pod: FakeMediaPod;
let vehicle: Vehicle;
let server: { stop(): Promise<void> };
let respond: () => MediaPreview | null;
let requestCount = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  api = harness.as(harness.ours.owner);
  pod = await openFakeMediaPod(harness.bus, 'pod-a');
  server = serveUseCase(harness.bus, createPreview(pod.id), { queue: 'test', onError: () => undefined }, async () => {
    requestCount += 1;
    return { preview: respond() };
  });
  await harness.bus.nc.flush();
  const created = await api.post('/api/vehicles', { vehicle_no: 'THUMB 1', imei: newImei() });
  vehicle = (await vehicleCollection(harness.records).find(harness.ours, created.data.id)) as Vehicle;
});
afterAll(async () => {
  await server?.stop();
  await pod?.close();
  await harness?.close();
});
beforeEach(() => {
  requestCount = 0;
  respond = createdPreview;
});

const createdPreview = (): MediaPreview => ({
  width: 640,
  height: 360,
  durationMs: 3_200,
  thumbnail: { fileId: thumbnailId, server: pod.id, width: 320, height: 180 },
});

const recordFile = (more: Partial<Media> = {}): Promise<Media> =>
  recordMedia(harness.deps, vehicle, newMedia(vehicle, pod.id, { ...newPreviewFields(more.kind ?? 'image'), ...more }));
const reload = async ({ _id }: Media): Promise<Media> => (await findMedia(harness.records, _id)) as Media;
/** Requests the thumbnail of a file with the URL of its record. */
async function openThumbnail(media: Media): Promise<Response> {
  const url = String((await listed(media))?.['thumbnail_url']);
  return fetch(harness.base + url.slice(harness.deps.config.PUBLIC_BASE_URL.length));
}
const listed = async ({ _id }: Media) =>
  (await api.get(`/api/vehicles/${vehicle._id}/list-dashcam-media`)).items.find(({ id }) => id === _id);

describe('the thumbnail of a file', () => {
  it('is created once, and described with the size and the duration of the file', async () => {
    const media = await recordFile({ kind: 'video' });
    await createMediaPreview(harness.deps, media);
    await createMediaPreview(harness.deps, await reload(media));
    await createDuePreviews(harness.deps);
    expect(requestCount).toBe(1);
    expect(await listed(media)).toMatchObject({
      thumbnail_url: expect.stringMatching(/&thumbnail=1$/),
      thumbnail_width: 320,
      thumbnail_height: 180,
      width: 640,
      height: 360,
      duration_seconds: 3.2,
    });
  });

  it('has a URL from the beginning, whose requests create it once', async () => {
    pod.respond = (_request, response) => void response.writeHead(200, { 'content-length': '5' }).end('small');
    const media = await recordFile();
    expect(await listed(media)).toMatchObject({
      thumbnail_url: expect.stringMatching(/&thumbnail=1$/),
      thumbnail_width: null,
    });
    const responses = await Promise.all([1, 2, 3].map(() => openThumbnail(media)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(requestCount).toBe(1);
    expect(await listed(media)).toMatchObject({ thumbnail_width: 320 });
  });

  it('is 404 for a file without a readable picture, whose record has no URL afterwards', async () => {
    respond = () => null;
    const media = await recordFile();
    const response = await openThumbnail(media);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 404,
      body: { code: 'not_found', error: expect.stringContaining('no readable picture') },
    });
    expect(await listed(media)).toMatchObject({ thumbnail_url: null });
  });

  it('is 503 during an outage; requests use up no attempts, and the next one creates it', async () => {
    respond = () => {
      throw new AppError('unavailable', 'busy');
    };
    pod.respond = (_request, response) => void response.writeHead(200, { 'content-length': '5' }).end('small');
    const media = await recordFile();
    for (let count = 0; count < 8; count += 1) {
      const response = await openThumbnail(media);
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10']);
    }
    expect((await reload(media)).previewAttempts).toBe(1);
    respond = createdPreview;
    expect((await openThumbnail(media)).status).toBe(200);
  });

  it('is created by one of several processes', async () => {
    const media = await recordFile();
    await Promise.all([1, 2, 3].map(() => createMediaPreview(harness.deps, media)));
    expect(requestCount).toBe(1);
  });

  it('is null for a file without a readable picture, which is not read again', async () => {
    respond = () => null;
    const media = await recordFile();
    await createMediaPreview(harness.deps, media);
    await createDuePreviews(harness.deps);
    expect(requestCount).toBe(1);
    expect(await listed(media)).toMatchObject({ thumbnail_url: null, width: null });
  });

  it('is retried after an outage, and given up after some attempts', async () => {
    respond = () => {
      throw new AppError('unavailable', 'busy');
    };
    const media = await recordFile();
    await createMediaPreview(harness.deps, media);
    expect((await reload(media)).previewDueAt?.getTime()).toBeGreaterThan(Date.now());
    const files = harness.deps.database.collection<Media>('media');
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await files.updateOne(
        { _id: media._id, previewDueAt: { $gt: new Date(0) } },
        { $set: { previewDueAt: new Date(1) } },
      );
      await createDuePreviews(harness.deps);
    }
    expect(requestCount).toBe(6);
    expect((await reload(media)).previewDueAt).toBeNull();
  });

  it('is served with the URL of the file, and deleted with it', async () => {
    pod.respond = (_request, response) => void response.writeHead(200, { 'content-length': '5' }).end('small');
    const media = await recordFile();
    await createMediaPreview(harness.deps, media);
    const url = String((await listed(media))?.['thumbnail_url']).slice(harness.deps.config.PUBLIC_BASE_URL.length);
    const response = await fetch(harness.base + url);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(pod.requests.at(-1)?.url).toContain(thumbnailId);
    await removeMedia(harness.deps, await reload(media));
    expect(pod.removed).toEqual([media.file?.fileId, thumbnailId]);
  });

  it('is not created for sound', async () => {
    const media = await recordFile({ kind: 'audio' });
    await createMediaPreview(harness.deps, media);
    expect(requestCount).toBe(0);
  });
});
