import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { openAbortingClient } from './testing/aborting-client.ts';
import { anyAuditEvent, captureAuditEvents } from './testing/capture-audit-events.ts';
import { FakePlatform } from './testing/fake-platform.ts';
import type { ApiClient } from './testing/harness.ts';
import { controlClip, deleteClip, requestClip, UploadHarness, uploadPath } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let keys: { own: string; other: string; reader: string };

let uploads: UploadHarness;
let platform: FakePlatform;
let service: Awaited<ReturnType<UploadHarness['startService']>>;
beforeAll(async () => {
  uploads = await UploadHarness.open({ platform: false });
  platform = await FakePlatform.start(uploads.harness.bus);
  keys = {
    own: platform.newKey({ accountId: 1, scopes: ['command'] }),
    other: platform.newKey({ accountId: 2, scopes: ['video'] }),
    reader: platform.newKey({ accountId: 1, scopes: ['read'] }),
  };
  service = await uploads.startService({ DEVICE_API_AUTH: 'key' });
});
afterAll(async () => {
  await platform.stop();
  await uploads.close();
});

/** The API as the holder of a key uses it. */
const as = (key: string): ApiClient => ({
  base: service.base,
  get: (path, init) => service.get(path, { ...init, headers: { 'x-api-key': key } }),
});

describe('with keys', () => {
  it('hides uploads of a device from other accounts', async () => {
    const camera = await uploads.connectCamera();
    platform.moveDevice(camera.imei, 1);
    const [own, other] = [as(keys.own), as(keys.other)];
    expect((await other.get(uploadPath(camera.imei))).status).toBe(404);
    const id = await requestClip(own, camera);
    expect((await other.get(`/videos?video_id=${id}`)).status).toBe(404);
    expect((await controlClip(other, id, 2)).status).toBe(404);
    expect((await deleteClip(other, id)).status).toBe(404);
    expect(await other.get(uploadPath(camera.imei))).toMatchObject({ status: 404 });
    expect(await other.get(`/videos/list?imei=${camera.imei}`)).toMatchObject({
      status: 200,
      body: { total: 0, videos: [] },
    });
    expect(camera.frames).toHaveLength(1);
    const missing = await other.get(`/videos?video_id=${'0'.repeat(24)}`);
    expect((await other.get(`/videos?video_id=${id}`)).body).toEqual(missing.body);

    expect((await own.get(`/videos?video_id=${id}`)).status).toBe(200);
    expect((await own.get(`/videos/list?imei=${camera.imei}`)).body).toMatchObject({ total: 1 });
    expect((await controlClip(own, id, 2)).status).toBe(200);
    expect((await deleteClip(own, id)).status).toBe(200);
  });

  it('keeps an upload in the account that requested it after the device moved', async () => {
    const camera = await uploads.connectCamera();
    platform.moveDevice(camera.imei, 1);
    const [own, other] = [as(keys.own), as(keys.other)];
    const id = await requestClip(own, camera);
    expect(await uploads.getRecord(id)).toMatchObject({ accountId: 1 });
    const refusals = async (): Promise<unknown[]> => [
      (await other.get(`/videos?video_id=${id}`)).status,
      (await other.get(`/videos/file?video_id=${id}`)).status,
      (await controlClip(other, id, 2)).status,
      (await deleteClip(other, id)).status,
      (await other.get(`/videos/list?imei=${camera.imei}`)).body,
    ];
    const refused = [404, 404, 404, 404, { total: 0, videos: [] }];
    // The vehicle is deleted, and then registered by another account.
    platform.moveDevice(camera.imei, null);
    expect(await refusals()).toEqual(refused);
    platform.moveDevice(camera.imei, 2);
    expect(await refusals()).toEqual(refused);
    expect((await own.get(`/videos/list?imei=${camera.imei}`)).body).toMatchObject({ total: 1 });
    // The first account may not command its camera any more, once the change was published.
    await waitFor(async () => (await own.get(`/wakeup?imei=${camera.imei}`)).status === 404);
    expect((await controlClip(own, id, 2)).status).toBe(404);
    expect(camera.actions).toEqual([]);

    // The same clip is separate in the other account, and reveals nothing about the first.
    await uploads.records.transition(id, ['uploading'], 'completed');
    const theirs = await requestClip(other, camera);
    expect(theirs).not.toBe(id);
    expect(camera.requests).toBe(2);
    expect((await other.get(`/videos/list?imei=${camera.imei}`)).body).toMatchObject({
      total: 1,
      videos: [{ video_id: theirs }],
    });
    expect((await own.get(`/videos?video_id=${theirs}`)).status).toBe(404);
    expect((await deleteClip(own, id)).status).toBe(200);
  });

  it('assigns an older upload without an account to the owner of its device', async () => {
    const camera = await uploads.connectCamera();
    const [own, other] = [as(keys.own), as(keys.other)];
    const id = await requestClip(own, camera);
    platform.moveDevice(camera.imei, 2);
    expect((await own.get(`/videos?video_id=${id}`)).status).toBe(404);
    expect((await own.get(`/videos/list?imei=${camera.imei}`)).body).toMatchObject({ total: 0 });
    expect((await other.get(`/videos?video_id=${id}`)).status).toBe(200);
    expect(await requestClip(other, camera)).toBe(id);
  });

  it('permits every key to use a device without an account', async () => {
    const camera = await uploads.connectCamera();
    const id = await requestClip(as(keys.own), camera);
    expect((await as(keys.other).get(`/videos?video_id=${id}`)).status).toBe(200);
  });

  it('returns 401 without a key, and 403 for a key without the scope', async () => {
    const camera = await uploads.connectCamera();
    const id = await requestClip(as(keys.own), camera);
    const requests: [string, string][] = [
      ['GET', uploadPath(camera.imei)],
      ['GET', `/videos?video_id=${id}`],
      ['DELETE', `/videos?video_id=${id}`],
      ['GET', `/videos/control?video_id=${id}&action=2`],
      ['GET', `/videos/list?imei=${camera.imei}`],
    ];
    for (const [method, path] of requests) {
      expect((await service.get(path, { method })).status).toBe(401);
      expect((await as(keys.reader).get(path, { method })).status).toBe(403);
    }
    expect(await uploads.getRecord(id)).toMatchObject({ status: 'uploading' });
  });

  it('publishes an audit event of a deletion after it, whether or not the caller waited', async () => {
    const capture = captureAuditEvents(uploads.harness.bus);
    const deletions = () => capture.events.filter(({ kind }) => kind === 'deletion');
    const clips: { imei: string; id: string }[] = [];
    for (const _clip of [1, 2]) {
      const camera = await uploads.connectCamera();
      const id = await requestClip(as(keys.own), camera);
      await uploads.records.transition(id, ['uploading'], 'completed');
      clips.push({ imei: camera.imei, id });
    }
    let isRequested = false;
    const removeAndLeave = async (id: string, isRemoving: boolean): Promise<void> => {
      isRequested = false;
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      uploads.isRemoving = isRemoving;
      uploads.beforeRemoval = (): Promise<void> => {
        isRequested = true;
        return released;
      };
      const client = await openAbortingClient(`${service.base}/api/v1/videos?video_id=${id}`, keys.own, 'DELETE');
      await waitFor(() => isRequested);
      await client.disconnect();
      release();
    };
    const [failed, deletedId] = clips;
    try {
      await removeAndLeave(failed?.id ?? '', false);
      await removeAndLeave(deletedId?.id ?? '', true);
      await waitFor(() => deletions().length > 0);
      const use = { ...anyAuditEvent, keyId: platform.keyIdOf(keys.own), accountId: 1 };
      expect(deletions()).toEqual([{ ...use, imei: deletedId?.imei, kind: 'deletion', operation: 'deleteUpload' }]);
      expect(await uploads.records.find(deletedId?.id ?? '')).toBeNull();
      expect(await uploads.getRecord(failed?.id ?? '')).toMatchObject({ status: 'completed' });
    } finally {
      capture.stop();
      uploads.isRemoving = true;
      uploads.beforeRemoval = async () => undefined;
    }
  });
});
