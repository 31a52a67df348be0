import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { controlClip, deleteClip, requestClip, UploadHarness, uploadPath } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(90_000);

let uploads: UploadHarness;
let api: Awaited<ReturnType<UploadHarness['startService']>>;
beforeAll(async () => {
  uploads = await UploadHarness.open();
  api = await uploads.startService();
});
afterAll(() => uploads.close());

const error = (status: number) => ({ status, body: { status, error: expect.any(String) } });

describe('an unavailable database', () => {
  it('is 503 for a request, and 500 if the interface lists no 503', async () => {
    const blind = await uploads.startService({ MONGODB_URL: 'mongodb://127.0.0.1:1/none' });
    const camera = await uploads.connectCamera();
    const id = '0123456789abcdef01234567';
    const responses = await Promise.all([
      blind.get(uploadPath(camera.imei)),
      blind.get(`/videos?video_id=${id}`),
      blind.get(`/videos/list?imei=${camera.imei}`),
      controlClip(blind, id, 0),
      deleteClip(blind, id),
    ]);
    for (const [index, response] of responses.entries()) expect(response).toMatchObject(error(index === 0 ? 503 : 500));
    expect(camera.frames).toEqual([]);
  });
});

describe('an unavailable Redis', () => {
  it('affects no upload: the camera is requested and controlled', async () => {
    const camera = await uploads.connectCamera();
    await uploads.harness.redisServer.kill();
    await waitFor(() => !uploads.harness.redis.isReady);
    const id = await requestClip(api, camera);
    expect(await controlClip(api, id, 0)).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(await controlClip(api, id, 2)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect((await deleteClip(api, id)).status).toBe(200);
    await uploads.harness.redisServer.start();
    await waitFor(() => uploads.harness.redis.isReady);
  });
});

describe('an unavailable broker', () => {
  it('is 503 for a request, 500 for a control, 502 for a deletion with files, and does not affect reads', async () => {
    const camera = await uploads.connectCamera();
    const id = await requestClip(api, camera);
    const done = await requestClip(api, await uploads.connectCamera());
    await uploads.records.transition(done, ['uploading'], 'completed');
    await uploads.harness.nats.kill();
    await waitFor(async () => (await fetch(`${api.adminBase}/readyz`)).status === 503);
    const responses = await Promise.all([
      api.get(uploadPath(camera.imei, { clip: 2, channel: 2 })),
      controlClip(api, id, 0),
      deleteClip(api, done),
      api.get(`/videos?video_id=${id}`),
      api.get(`/videos/list?imei=${camera.imei}`),
    ]);
    await uploads.harness.nats.start();
    expect(responses.slice(1, 3)).toMatchObject([error(500), error(502)]);
    // The busy state is known without the broker if the camera's clock is cached.
    expect([409, 503]).toContain(responses[0]?.status);
    expect(responses.slice(3).map(({ status }) => status)).toEqual([200, 200]);
    expect(await uploads.getRecord(id)).toMatchObject({ status: 'uploading', control: null });
    expect(await uploads.getRecord(done)).toMatchObject({ status: 'completed' });
    await waitFor(async () => (await controlClip(api, id, 0)).status === 200);
  });
});
