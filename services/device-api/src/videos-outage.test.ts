import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { waitFor } from '../../../libs/service-kit/src/testing/server-process.ts';
import { control, remove, UploadWorld, uploading, uploadPath } from './testing/upload-world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(90_000);

let uploads: UploadWorld;
let api: Awaited<ReturnType<UploadWorld['service']>>;
beforeAll(async () => {
  uploads = await UploadWorld.open();
  api = await uploads.service();
});
afterAll(() => uploads.close());

const error = (status: number) => ({ status, body: { status, error: expect.any(String) } });

describe('an unavailable database', () => {
  it('is 503 for a request, and 500 if the interface lists no 503', async () => {
    const blind = await uploads.service({ MONGODB_URL: 'mongodb://127.0.0.1:1/none' });
    const camera = await uploads.camera();
    const id = '0123456789abcdef01234567';
    const answers = await Promise.all([
      blind.get(uploadPath(camera.imei)),
      blind.get(`/videos?video_id=${id}`),
      blind.get(`/videos/list?imei=${camera.imei}`),
      control(blind, id, 0),
      remove(blind, id),
    ]);
    for (const [index, answer] of answers.entries()) expect(answer).toMatchObject(error(index === 0 ? 503 : 500));
    expect(camera.frames).toEqual([]);
  });
});

describe('an unavailable Redis', () => {
  it('affects no upload: the camera is requested and controlled', async () => {
    const camera = await uploads.camera();
    await uploads.world.redisServer.kill();
    await waitFor(() => !uploads.world.redis.isReady);
    const id = await uploading(api, camera);
    expect(await control(api, id, 0)).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(await control(api, id, 2)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect((await remove(api, id)).status).toBe(200);
    await uploads.world.redisServer.start();
    await waitFor(() => uploads.world.redis.isReady);
  });
});

describe('an unavailable broker', () => {
  it('is 503 for a request, 500 for a control, 502 for a deletion with files, and does not affect reads', async () => {
    const camera = await uploads.camera();
    const id = await uploading(api, camera);
    const done = await uploading(api, await uploads.camera());
    await uploads.records.transition(done, ['uploading'], 'completed');
    await uploads.world.nats.kill();
    await waitFor(async () => (await fetch(`${api.base}/readyz`)).status === 503);
    const answers = await Promise.all([
      api.get(uploadPath(camera.imei, { clip: 2, channel: 2 })),
      control(api, id, 0),
      remove(api, done),
      api.get(`/videos?video_id=${id}`),
      api.get(`/videos/list?imei=${camera.imei}`),
    ]);
    await uploads.world.nats.start();
    expect(answers.slice(1, 3)).toMatchObject([error(500), error(502)]);
    // The busy state is known without the broker if the camera's clock is cached.
    expect([409, 503]).toContain(answers[0]?.status);
    expect(answers.slice(3).map(({ status }) => status)).toEqual([200, 200]);
    expect(await uploads.record(id)).toMatchObject({ status: 'uploading', control: null });
    expect(await uploads.record(done)).toMatchObject({ status: 'completed' });
    await waitFor(async () => (await control(api, id, 0)).status === 200);
  });
});
