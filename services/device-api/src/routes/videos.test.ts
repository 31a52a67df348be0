import type { UploadStatus } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomImei } from '../testing/harness.ts';
import {
  controlClip,
  deleteClip,
  type FakeCamera,
  requestClip,
  UploadHarness,
  uploadPath,
} from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(90_000);

let uploads: UploadHarness;
let api: Awaited<ReturnType<UploadHarness['startService']>>;
beforeAll(async () => {
  uploads = await UploadHarness.open();
  api = await uploads.startService();
});
afterAll(() => uploads.close());

const error = (status: number, text = '') => ({ status, body: { status, error: expect.stringContaining(text) } });
const statuses = ['uploading', 'paused', 'completed', 'failed', 'cancelled'] as const;
const unknownId = '0123456789abcdef01234567';

async function uploadIn(status: UploadStatus, camera: FakeCamera, options?: { clip?: number; channel?: number }) {
  const id = await requestClip(api, camera, options);
  if (status !== 'uploading') await uploads.records.transition(id, ['uploading'], status);
  return id;
}

describe('GET /videos', () => {
  it('returns an upload with a file name once the camera sends', async () => {
    const camera = await uploads.connectCamera();
    uploads.harness.utcOffsets.set(camera.imei, '+05:30');
    const id = await requestClip(api, camera, { channel: 3 });
    const before = {
      video_id: id,
      imei: camera.imei,
      channel: 3,
      video_start_time: '2026-08-01T06:30:00+05:30',
      video_end_time: '2026-08-01T07:30:00+05:30',
      filesize: 0,
      status: 'uploading',
    };
    expect((await api.get(`/videos?video_id=${id}`)).body).toEqual(before);
    // An upload keeps the offset of its request.
    uploads.harness.utcOffsets.set(camera.imei, '+01:00');
    await uploads.records.set(id, ['uploading'], { filesize: 5_000_000_000, filename: 'a.mp4' });
    const during = { ...before, filesize: 5_000_000_000, filename: 'a.mp4' };
    expect((await api.get(`/videos?video_id=${id}`)).body).toEqual(during);
    await uploads.records.transition(id, ['uploading'], 'completed');
    expect((await api.get(`/videos?video_id=${id.toUpperCase()}`)).body).toEqual({ ...during, status: 'completed' });
  });

  it.each(['GET', 'DELETE'])('%s is 400 for an invalid id, and 404 for a missing upload', async (method) => {
    for (const query of ['', '?video_id=', `?video_id=${unknownId}0`, `?video_id=${unknownId.replace('0', 'x')}`])
      expect(await api.get(`/videos${query}`, { method })).toMatchObject(error(400, 'video_id'));
    const twice = `/videos?video_id=${unknownId}&video_id=${unknownId}`;
    expect(await api.get(twice, { method })).toMatchObject(error(400, 'video_id'));
    expect(await api.get(`/videos?video_id=${unknownId}`, { method })).toMatchObject(error(404, 'no upload'));
  });
});

describe('GET /videos/list', () => {
  it('lists every upload of a device in any status, or of one channel', async () => {
    const camera = await uploads.connectCamera();
    const ids: string[] = [];
    for (const [index, status] of [...statuses.slice(1), 'uploading' as const].entries())
      ids.push(await uploadIn(status, camera, { clip: index, channel: index < 2 ? 1 : 2 }));
    await requestClip(api, await uploads.connectCamera());
    const list = async (more = '', imei = camera.imei) =>
      (await api.get(`/videos/list?imei=${imei}${more}`)).body as { total: number; videos: { video_id: string }[] };
    const all = await list();
    expect(all.total).toBe(5);
    expect(all.videos.map(({ video_id: id }) => id).toSorted()).toEqual(ids.toSorted());
    for (const video of all.videos) expect(video).toEqual((await api.get(`/videos?video_id=${video.video_id}`)).body);
    expect((await list('&channel=2')).videos.map(({ video_id: id }) => id).toSorted()).toEqual(ids.slice(2).toSorted());
    expect(await list('&channel=0')).toEqual({ total: 0, videos: [] });
    expect(await list('', `00000000${camera.imei}`)).toEqual(all);
    expect(await list('', randomImei())).toEqual({ total: 0, videos: [] });
  });

  it('lists the number as the terminal sends it; a single upload has that of the caller', async () => {
    const camera = await uploads.connectCamera();
    const { status, body } = await api.get(uploadPath(`00000000${camera.imei}`));
    expect(status).toBe(200);
    const { body: list } = await api.get(`/videos/list?imei=00000000${camera.imei}`);
    const { video_id: id } = body as { video_id: string };
    expect(list).toMatchObject({ videos: [{ imei: camera.imei, video_id: id }] });
    expect((await api.get(`/videos?video_id=${id}`)).body).toMatchObject({ imei: `00000000${camera.imei}` });
  });

  it.each([
    ['', 'imei'],
    ['?imei=1', 'imei'],
    ['?imei=123456789012&channel=256', 'channel'],
    ['?imei=123456789012&channel=-1', 'channel'],
    ['?imei=123456789012&channel=1e1', 'channel'],
  ])('%p is 400 and names %p', async (query, name) => {
    expect(await api.get(`/videos/list${query}`)).toMatchObject(error(400, name));
  });
});

describe('DELETE /videos', () => {
  it.each(['completed', 'failed', 'cancelled'] as const)(
    'deletes an upload that is %s with its files, returns it, and is 404 then',
    async (status) => {
      const camera = await uploads.connectCamera();
      const id = await uploadIn(status, camera);
      await uploads.records.set(id, [status], { filesize: 7, filename: 'a.mp4' });
      const { body } = await api.get(`/videos?video_id=${id}`);
      expect(await deleteClip(api, id)).toMatchObject({ status: 200, body });
      expect(body).toMatchObject({ status, filesize: 7, filename: 'a.mp4' });
      expect(uploads.removed).toContain(id);
      await waitFor(() => uploads.revoked.includes(id));
      expect(await uploads.records.find(id)).toBeNull();
      expect(await deleteClip(api, id)).toMatchObject(error(404));
      expect((await api.get(`/videos?video_id=${id}`)).status).toBe(404);
      expect((await api.get(`/videos/list?imei=${camera.imei}`)).body).toEqual({ total: 0, videos: [] });
      // The clip can be requested again.
      expect(await api.get(uploadPath(camera.imei))).toMatchObject({ status: 200, body: { result: 'success' } });
    },
  );

  it.each(['uploading', 'paused'] as const)('is 403 for one that is %s, and deletes nothing', async (status) => {
    const id = await uploadIn(status, await uploads.connectCamera());
    expect(await deleteClip(api, id)).toMatchObject(error(403, 'cancel'));
    expect(uploads.removed).not.toContain(id);
    expect(await uploads.getRecord(id)).toMatchObject({ status });
  });

  it('is 502 while the files cannot be deleted, deletes nothing, and works afterwards', async () => {
    const id = await uploadIn('completed', await uploads.connectCamera());
    uploads.isRemoving = false;
    const refused = await deleteClip(api, id);
    uploads.isRemoving = true;
    expect(refused).toMatchObject(error(502, 'Nothing was removed'));
    expect(await uploads.getRecord(id)).toMatchObject({ status: 'completed' });
    expect((await deleteClip(api, id)).status).toBe(200);
  });

  it('is 502 if the pod that stores the files is unavailable', async () => {
    const id = await uploadIn('completed', await uploads.connectCamera());
    await uploads.records.set(id, ['completed'], { server: { podId: 'gone', httpUrl: 'http://127.0.0.1:1' } });
    expect(await deleteClip(api, id)).toMatchObject(error(502));
    expect((await api.get(`/videos?video_id=${id}`)).status).toBe(200);
  });

  it('needs no pod for an upload without files, such as a cancelled one', async () => {
    const camera = await uploads.connectCamera();
    const id = await requestClip(api, camera);
    await controlClip(api, id, 2);
    uploads.isRemoving = false;
    const response = await deleteClip(api, id);
    uploads.isRemoving = true;
    expect(response).toMatchObject({ status: 200, body: { status: 'cancelled', filesize: 0 } });
  });

  it('succeeds once for concurrent callers', async () => {
    const id = await uploadIn('completed', await uploads.connectCamera());
    const statuses = await Promise.all(Array.from({ length: 8 }, () => deleteClip(api, id)));
    expect(statuses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(statuses.filter(({ status }) => status === 404)).toHaveLength(7);
  });
});

describe('methods', () => {
  it('treats HEAD as GET where that only reads, and as 405 otherwise', async () => {
    const camera = await uploads.connectCamera();
    const id = await requestClip(api, camera);
    const head = async (path: string) => (await fetch(`${api.base}/api/v1${path}`, { method: 'HEAD' })).status;
    expect(await head(`/videos?video_id=${id}`)).toBe(200);
    expect(await head(`/videos/list?imei=${camera.imei}`)).toBe(200);
    expect(await head(uploadPath(camera.imei, { clip: 5 }))).toBe(405);
    expect(await head(`/videos/control?video_id=${id}&action=2`)).toBe(405);
    const posted = await api.get(`/videos?video_id=${id}`, { method: 'POST' });
    expect(posted).toMatchObject(error(405));
    expect(posted.headers.get('allow')).toContain('DELETE');
    expect(camera.frames).toHaveLength(1);
  });
});

describe('limits', () => {
  it('count a request and a control by device, in any form of its number', async () => {
    const few = await uploads.startService({ RATE_LIMIT_COMMANDS_BURST: '3' });
    const camera = await uploads.connectCamera();
    const id = await requestClip(few, camera);
    expect((await controlClip(few, id, 0)).status).toBe(200);
    expect((await few.get(uploadPath(`00000000${camera.imei}`))).status).toBe(200);
    for (const response of [await controlClip(few, id, 1), await few.get(uploadPath(camera.imei))]) {
      expect(response).toMatchObject(error(429));
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await few.get(`/videos?video_id=${id}`)).status).toBe(200);
    expect((await requestClip(few, await uploads.connectCamera())).length).toBe(24);
  });

  it('count reads by address', async () => {
    const few = await uploads.startService({ RATE_LIMIT_READS_BURST: '3', RATE_LIMIT_READS_PER_SECOND: '1' });
    const paths = [`/videos?video_id=${unknownId}`, '/videos/list?imei=123456789012', `/videos?video_id=${unknownId}`];
    const requestAll = async () => {
      const statuses = [];
      for (const path of [...paths, ...paths, ...paths]) statuses.push((await few.get(path)).status);
      return statuses;
    };
    await uploads.harness.redis.del(await uploads.harness.redis.keys('rate-limit:reads:*'));
    const statuses = await requestAll();
    expect(statuses.slice(0, 3)).toEqual([404, 200, 404]);
    expect(statuses).toContain(429);
    await uploads.harness.redis.del(await uploads.harness.redis.keys('rate-limit:reads:*'));
    expect((await few.get(`/videos?video_id=${unknownId}`, { method: 'DELETE' })).status).toBe(404);
  });
});
