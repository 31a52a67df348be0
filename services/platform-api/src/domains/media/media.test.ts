import type { IncomingMessage, ServerResponse } from 'node:http';
import { signQuery, verifyFilePath } from '@fleet/service-kit';
import { createReservation, type UploadRecord } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type FakeMediaPod, openFakeMediaPod } from '../../testing/fake-media-pod.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { LiveClient } from '../../testing/live-client.ts';
import { newMedia } from '../../testing/media-records.ts';
import { recordTestNotification } from '../../testing/notifications.ts';
import { type Client, type Data, PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { queuedMp4, storeUpload } from '../../testing/uploads.ts';
import type { AuditEntry } from '../audit/schema.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleCollection } from '../vehicles/store.ts';
import { linkAndPublish, recordMedia } from './record.ts';
import type { Media } from './schema.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let api: Client;
let theirs: Client;
let pod: FakeMediaPod;
let vehicle: Vehicle;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  [api, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
  pod = await openFakeMediaPod(harness.bus, 'pod-a');
});
afterAll(async () => {
  await pod?.close();
  await harness?.close();
});
beforeEach(async () => {
  count += 1;
  const created = await api.post('/api/vehicles', { vehicle_no: `FILES${count}`, imei: newImei() });
  vehicle = (await vehicleCollection(harness.records).find(harness.ours, created.data.id)) as Vehicle;
  pod.requests.length = 0;
  pod.respond = (_request, response) => void response.writeHead(200, { 'content-length': '4' }).end('file');
});

const recordFile = (more: Partial<Media> = {}): Promise<Media> =>
  recordMedia(harness.deps, vehicle, newMedia(vehicle, pod.id, more));
const list = (query = '', client = api) => client.get(`/api/vehicles/${vehicle._id}/list-dashcam-media${query}`);
const urlOf = async ({ _id }: Media, client = api): Promise<string> => {
  const url = String((await list('', client)).items.find(({ id }) => id === _id)?.['url']);
  expect(url.startsWith(`${harness.deps.config.PUBLIC_BASE_URL}/api/dashcam-media/${_id}/file?`)).toBe(true);
  return harness.base + url.slice(harness.deps.config.PUBLIC_BASE_URL.length);
};
const share = async (user: TestUser, ...permissions: string[]): Promise<void> => {
  const body = { secondaryUser: user.id, vehicles: [vehicle._id], permissions };
  expect((await api.post('/api/vehicle/share-vehicles', body)).status).toBe(200);
};

describe('GET /api/vehicles/:vehicleId/list-dashcam-media', () => {
  it('lists the newest files first, by channel, kind and time', async () => {
    const at = (hour: number): Date => new Date(Date.UTC(2026, 0, 31, hour));
    const early = await recordFile({ takenAt: at(1), channelId: 1, receivedAt: at(9) });
    const late = await recordFile({ takenAt: at(5), channelId: 2, kind: 'video', receivedAt: at(6) });
    const middle = await recordFile({ takenAt: at(3), channelId: 2, receivedAt: at(4) });
    const idsOf = async (query: string): Promise<number[]> => (await list(query)).items.map(({ id }) => id);
    expect(await idsOf('')).toEqual([late._id, middle._id, early._id]);
    expect(await idsOf('?channelId=2')).toEqual([late._id, middle._id]);
    expect(await idsOf('?channel_id=1')).toEqual([early._id]);
    expect(await idsOf('?kind=video')).toEqual([late._id]);
    expect(await idsOf(`?from=${at(3).toISOString()}&to=${at(5).getTime()}`)).toEqual([middle._id]);
    const page = await list('?limit=1&offset=1');
    expect(page.items.map(({ id }) => id)).toEqual([middle._id]);
    expect(page.body).toMatchObject({ meta: { pagination: { total: 3, page: 2, pageSize: 1 } } });
    expect((await list('?offset=9')).items).toEqual([]);
  });

  it.each([
    'kind=photo',
    'channelId=x',
    'channelId=1&channel_id=2',
    'channelId=256',
    'from=never',
    'to=2026-13-01',
    'limit=0',
  ])('returns 400 for %s', async (query) => expect((await list(`?${query}`)).status).toBe(400));

  it('requires permission to see video', async () => {
    await recordFile();
    const viewer = await harness.user('viewer', harness.ours, { canViewVideo: true });
    const blind = await harness.user('viewer', harness.ours, { canViewVideo: false });
    const driver = await harness.user('driver');
    const stranger = harness.theirs.owner;
    expect((await list('', harness.as(viewer))).items).toHaveLength(1);
    expect((await list('', harness.as(blind))).status).toBe(403);
    expect((await list('', harness.as(driver))).status).toBe(404);
    expect((await list('', theirs)).status).toBe(404);
    await share(stranger, 'notifications', 'live_video');
    expect((await list('', theirs)).status).toBe(403);
    await share(stranger, 'history_video');
    expect((await list('', theirs)).items).toHaveLength(1);
    const narrow = await api.post('/api/api-keys', { name: 'narrow', scopes: ['read', 'write'] });
    const header = { 'x-api-key': String(narrow.data['key']), authorization: `Bearer ${harness.ours.owner.token}` };
    expect((await list('', harness.with(header))).status).toBe(403);
  });
});

describe('PUT and DELETE /api/dashcam-media/:id', () => {
  it('protects a file, and removes it once it is not protected', async () => {
    const { _id: id, file } = await recordFile();
    const path = `/api/dashcam-media/${id}`;
    expect((await api.put(path, { protected: true }, { 'if-match': '"1"' })).data).toMatchObject({ protected: true });
    expect((await api.put(path, { protected: false }, { 'if-match': '"1"' })).status).toBe(412);
    expect((await api.delete(path)).body).toMatchObject({ status: 409, code: 'state_conflict' });
    expect((await api.put(path, {})).data).toMatchObject({ protected: true });
    expect((await api.put(path, { protected: false })).data).toMatchObject({ protected: false });
    expect((await api.delete(path)).data).toMatchObject({ id, size_bytes: 100 });
    expect(pod.removed).toContain(file?.fileId);
    for (const again of [await api.delete(path), await api.put(path, { protected: true })])
      expect(again.status).toBe(404);
    const entries = harness.deps.database.collection<AuditEntry>('audit_log').find({ target: { type: 'media', id } });
    expect((await entries.toArray()).map(({ action }) => action)).toEqual(
      expect.arrayContaining(['media.protect', 'media.delete']),
    );
  });

  it.each([{ protected: 'yes' }, { protected: null }, []])('returns 400 for %j', async (body) => {
    const { _id: id } = await recordFile();
    expect((await api.put(`/api/dashcam-media/${id}`, body)).status).toBe(400);
  });

  it('requires a manager of the account', async () => {
    const { _id: id } = await recordFile();
    const path = `/api/dashcam-media/${id}`;
    const attempts = async (client: Client): Promise<number[]> => [
      (await client.put(path, { protected: true })).status,
      (await client.delete(path)).status,
    ];
    expect(await attempts(harness.as(await harness.user('viewer')))).toEqual([403, 403]);
    expect(await attempts(theirs)).toEqual([404, 404]);
    await share(harness.theirs.owner, 'notifications');
    expect(await attempts(theirs)).toEqual([404, 404]);
    await share(harness.theirs.owner, 'history_video');
    expect(await attempts(theirs)).toEqual([403, 403]);
    expect((await harness.as(await harness.user('manager')).delete(path)).status).toBe(200);
    for (const odd of ['0', 'x', '1.5']) expect((await api.delete(`/api/dashcam-media/${odd}`)).status).toBe(404);
  });
});

describe('GET /api/dashcam-media/:id/file', () => {
  it('requests the file from its pod with a signed URL and forwards the response', async () => {
    const media = await recordFile({ takenAt: new Date('2026-01-31T02:00:00Z') });
    const url = await urlOf(media);
    pod.respond = (_request, response) =>
      void response
        .writeHead(200, { 'content-length': '4', etag: '"e"', 'accept-ranges': 'bytes', 'x-inner': 'a' })
        .end('file');
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([200, 'file']);
    const name = `image-${media._id}-channel-1-2026-01-31T02-00-00.jpg`;
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-disposition': `inline; filename="${name}"`,
      etag: '"e"',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
    });
    expect(response.headers.get('x-inner')).toBeNull();
    const requested = new URL(pod.requests[0]?.url ?? '', 'http://pod');
    const { imei = '', fileId = '' } = media.file ?? {};
    expect(requested.pathname).toBe(`/files/${imei}/${fileId}`);
    const secret = harness.deps.config.CLIPS_SIGNING_SECRET;
    expect(verifyFilePath(secret, { imei, fileId }, Object.fromEntries(requested.searchParams))).toBe('valid');
    const saved = await fetch(`${url}&download=1`);
    expect([saved.headers.get('content-disposition'), await saved.text()]).toEqual([
      `attachment; filename="${name}"`,
      'file',
    ]);
  });

  it('forwards ranges, HEAD and the errors of the pod', async () => {
    const url = await urlOf(await recordFile());
    pod.respond = (_request, response) =>
      void response.writeHead(206, { 'content-range': 'bytes 1-2/4', 'content-length': '2' }).end('il');
    const part = await fetch(url, { headers: { range: 'bytes=1-2', 'if-range': '"e"' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 1-2/4', 'il']);
    expect(pod.requests[0]?.headers).toMatchObject({ range: 'bytes=1-2', 'if-range': '"e"' });
    pod.respond = (_request, response) => void response.writeHead(200, { 'content-length': '4' }).end();
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), pod.requests[1]?.method]).toEqual([200, '4', 'HEAD']);
    const refusing =
      (status: number, headers = {}) =>
      (_request: IncomingMessage, response: ServerResponse) =>
        void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{"error":"No."}');
    pod.respond = refusing(416, { 'content-range': 'bytes */4' });
    const none = await fetch(url, { headers: { range: 'bytes=9-' } });
    expect([none.status, none.headers.get('content-range')]).toEqual([416, 'bytes */4']);
    expect(await none.json()).toMatchObject({ code: 'range_not_satisfiable', error: 'No.' });
    pod.respond = refusing(404);
    expect((await fetch(url)).status).toBe(404);
    pod.respond = refusing(500);
    expect(await (await fetch(url)).json()).toMatchObject({ status: 502, code: 'upstream_error' });
    const unavailableUrl = await urlOf(
      await recordFile({ file: { imei: '1', fileId: 'ab'.repeat(12), server: 'pod-away' } }),
    );
    expect((await fetch(unavailableUrl)).status).toBe(502);
  });

  it('opens only with its own signature and before it expires', async () => {
    const [media, other] = [await recordFile(), await recordFile()];
    const url = new URL(await urlOf(media));
    const changed = (change: (query: URLSearchParams) => void): string => {
      const copy = new URL(url);
      change(copy.searchParams);
      return copy.href;
    };
    const signature = url.searchParams.get('signature') ?? '';
    const forged = signature.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const expires = Number(url.searchParams.get('expires'));
    expect(Math.abs(expires * 1000 - Date.now() - 8 * 3_600_000)).toBeLessThan(300_000);
    const secret = harness.deps.config.CLIPS_SIGNING_SECRET;
    const old = signQuery(secret, `dashcam-media/${media._id}/${harness.ours.owner.id}`, -1000);
    const cases: [string, number][] = [
      [changed((query) => query.delete('signature')), 401],
      [changed((query) => query.delete('expires')), 401],
      [changed((query) => query.set('signature', forged)), 403],
      [changed((query) => query.set('signature', 'x')), 403],
      [changed((query) => query.set('expires', String(expires + 1))), 403],
      [changed((query) => query.set('user', String(harness.theirs.owner.id))), 403],
      [changed((query) => query.delete('user')), 403],
      [url.href.replace(`/${media._id}/`, `/${other._id}/`), 403],
      [changed((query) => query.set('expires', old.expires) ?? query.set('signature', old.signature)), 403],
      [changed((query) => query.set('download', 'yes')), 400],
    ];
    for (const [given, status] of cases) expect([given, (await fetch(given)).status]).toEqual([given, status]);
    expect(pod.requests).toEqual([]);
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  });

  it('rejects a URL once its user may no longer see the file', async () => {
    const media = await recordFile();
    const viewer = await harness.user('viewer', harness.ours, { canViewVideo: true });
    await share(harness.theirs.owner, 'history_video');
    const [own, shared] = [await urlOf(media, harness.as(viewer)), await urlOf(media, theirs)];
    for (const url of [own, shared]) expect((await fetch(url)).status).toBe(200);
    expect((await api.put(`/api/users/${viewer.id}`, { can_view_video: false })).status).toBe(200);
    await share(harness.theirs.owner, 'notifications');
    for (const url of [own, shared]) expect((await fetch(url)).status).toBe(403);
    expect((await api.delete(`/api/dashcam-media/${media._id}`)).status).toBe(200);
    expect((await fetch(own)).status).toBe(404);
  });

  it('audits several partial requests of a user as one view', async () => {
    const media = await recordFile({ channelId: 4 });
    const url = await urlOf(media);
    await fetch(url, { method: 'HEAD' });
    for (let part = 0; part < 3; part += 1) await (await fetch(url, { headers: { range: 'bytes=0-1' } })).text();
    const views = harness.deps.database
      .collection<AuditEntry>('audit_log')
      .find({ action: 'media.view', 'target.id': media._id });
    expect(await views.toArray()).toEqual([
      expect.objectContaining({
        accountId: harness.ours.accountId,
        userId: harness.ours.owner.id,
        detail: { vehicle_id: vehicle._id, channel_id: 4, kind: 'image' },
      }),
    ]);
  });

  it('serves the clip of an upload in its original format or as MP4', async () => {
    const clip = {
      imei: vehicle.imei ?? '',
      channel: 1,
      startMs: 1,
      endMs: 2,
      mediaType: 0,
      streamType: 0,
      storageType: 0,
      alarmFlags: '0',
    };
    const reservation = {
      shownImei: '1',
      askedImei: '1',
      cameraUtcOffset: '+08:00',
      reservedUntilMs: 0,
      mobileNetwork: false,
    };
    const server = { podId: pod.id, httpUrl: 'http://127.0.0.1:1' };
    const upload: UploadRecord = { ...createReservation(clip, reservation), status: 'completed', server };
    const uploads = harness.deps.database.collection<UploadRecord>('uploads');
    await uploads.insertOne(upload);
    const media = await recordFile({
      mediaKey: `clip:${upload._id}`,
      source: 'upload',
      file: null,
      clip: { uploadId: upload._id },
    });
    const url = await urlOf(media);
    const disposition = 'attachment; filename="a.h264"';
    pod.respond = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'video/h264', 'content-disposition': disposition }).end('clip');
    const response = await fetch(url);
    expect([response.headers.get('content-type'), response.headers.get('content-disposition')]).toEqual([
      'video/h264',
      'inline',
    ]);
    expect((await fetch(`${url}&download=1&format=mp4`)).headers.get('content-disposition')).toBe(disposition);
    expect(pod.requests.map((request) => request.url?.split('?')[0])).toEqual([
      `/clips/${upload._id}/original`,
      `/clips/${upload._id}/mp4`,
    ]);
    await uploads.updateOne({ _id: upload._id }, { $set: { status: 'failed' } });
    expect((await fetch(url)).status).toBe(404);
  });

  it('converts a clip to MP4 only for those who may command the camera, and serves an existing MP4 to others', async () => {
    const server = { podId: pod.id, httpUrl: 'http://127.0.0.1:1' };
    const upload = await storeUpload(harness, vehicle, { status: 'completed', server });
    const media = await recordFile({
      mediaKey: `clip:${upload._id}`,
      source: 'upload',
      file: null,
      clip: { uploadId: upload._id },
    });
    const viewer = harness.as(await harness.user('viewer', harness.ours, { canViewVideo: true }));
    await share(harness.theirs.owner, 'history_video');
    const statusOf = async (client: Client): Promise<number> =>
      (await fetch(`${await urlOf(media, client)}&format=mp4`)).status;
    expect([await statusOf(api), await statusOf(viewer), await statusOf(theirs)]).toEqual([200, 403, 403]);
    await share(harness.theirs.owner, 'history_video', 'commands');
    expect(await statusOf(theirs)).toBe(200);
    const mp4 = { ...queuedMp4, status: 'completed', percent: 100, sizeBytes: 4 };
    const uploads = harness.deps.database.collection<UploadRecord>('uploads');
    await uploads.updateOne({ _id: upload._id }, { $set: { mp4 } } as object);
    expect(await statusOf(viewer)).toBe(200);
  });

  it('removes a file for only one of several concurrent requests', async () => {
    const path = `/api/dashcam-media/${(await recordFile())._id}`;
    const responses = await Promise.all([api.delete(path), api.delete(path), api.delete(path)]);
    expect(responses.map(({ status }) => status).sort((x, y) => x - y)).toEqual([200, 404, 404]);
  });

  it.each([
    ['video/x-msvideo', 'avi'],
    ['video/x-ms-wmv', 'wmv'],
    ['video/x-flv', 'flv'],
    ['audio/mpeg', 'mp3'],
    ['application/octet-stream', 'bin'],
  ])('names a file of type %s with the extension .%s', async (mimeType, extension) => {
    const response = await fetch(`${await urlOf(await recordFile({ mimeType }))}&download=1`);
    await response.body?.cancel();
    expect(response.headers.get('content-disposition')).toMatch(
      new RegExp(`^attachment; filename=".+\\.${extension}"$`),
    );
  });

  it('serves files that browsers should not display as attachments', async () => {
    for (const mimeType of ['text/html', 'image/svg+xml', 'application/octet-stream']) {
      const response = await fetch(await urlOf(await recordFile({ mimeType, kind: 'other' })));
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="other-[\w.-]+"$/);
    }
  });
});

describe('files of a notification', () => {
  const filesOf = (notification: Data | Readonly<Record<string, unknown>> | undefined) =>
    notification?.['media'] as { id: number; kind: string; url: string }[];

  async function withFile(): Promise<{ media: Media; id: number }> {
    const { _id: id } = await recordTestNotification(harness.deps, harness.ours.accountId, { vehicleId: vehicle._id });
    const media = await recordFile({ notificationId: id });
    await linkAndPublish(harness.deps, media, id);
    return { media, id };
  }
  const readAs = async (client: Client, id: number) => {
    const path = `/api/notifications/vehicle-notifications/${vehicle._id}`;
    const [listed, all] = [await client.get(path), await client.get(`/api/notifications?vehicle_id=${vehicle._id}`)];
    expect(listed.items.map((each) => filesOf(each).length)).toEqual(all.items.map((each) => filesOf(each).length));
    return filesOf(listed.items.find((each) => each.id === id));
  };

  it('returns URLs to users who may see the files, and hides the files from others', async () => {
    const { media, id } = await withFile();
    const [file] = await readAs(api, id);
    expect(file).toMatchObject({ id: media._id, kind: 'image' });
    const { PUBLIC_BASE_URL: base } = harness.deps.config;
    expect((await fetch(harness.base + (file?.url ?? '').slice(base.length))).status).toBe(200);
    const blind = await harness.user('viewer', harness.ours, { canViewVideo: false });
    expect(await readAs(harness.as(blind), id)).toEqual([]);
    await share(harness.theirs.owner, 'notifications');
    expect(await readAs(theirs, id)).toEqual([]);
    await share(harness.theirs.owner, 'notifications', 'history_video');
    expect(await readAs(theirs, id)).toMatchObject([
      { id: media._id, url: expect.stringContaining(`user=${harness.theirs.owner.id}`) },
    ]);
    const acknowledged = await api.post(`/api/notifications/${id}/acknowledge`);
    expect(filesOf(acknowledged.data)).toMatchObject([{ id: media._id }]);
  });

  it('sends the files to websockets under the same rules, live and after a resume', async () => {
    const blind = await harness.user('viewer', harness.ours, { canViewVideo: false });
    await share(harness.theirs.owner, 'notifications');
    const open = async (user: TestUser): Promise<LiveClient> => {
      const { body } = await harness.as(user).get('/api/user/generate-websocket-token');
      const client = await LiveClient.ready(harness.base, `?token=${(body as { token: string }).token}`);
      client.send({ type: 'subscribe', vehicles: 'all', events: ['media', 'notification'] });
      await client.next('subscribed');
      return client;
    };
    const [owner, viewer, shared] = [
      await open(harness.ours.owner),
      await open(blind),
      await open(harness.theirs.owner),
    ];
    const { media, id } = await withFile();
    const receivedFiles = async (client: LiveClient) => {
      await client.next('notification');
      return filesOf(client.of('notification').at(-1)?.data);
    };
    expect(await receivedFiles(owner)).toMatchObject([
      { id: media._id, kind: 'image', url: expect.stringContaining(`user=${harness.ours.owner.id}`) },
    ]);
    await owner.next('media');
    expect(owner.of('media')[0]?.data).toEqual({
      ...(await list()).items.find((each) => each.id === media._id),
      url: expect.stringContaining(`/api/dashcam-media/${media._id}/file?`),
    });
    for (const client of [viewer, shared]) {
      expect(await receivedFiles(client)).toEqual([]);
      expect(client.of('media').filter(({ data }) => data['url'] !== null || data['thumbnail_url'] !== null)).toEqual(
        [],
      );
    }
    owner.ws.terminate();
    const again = await open(harness.ours.owner);
    again.send({ type: 'resume', since: id - 1 });
    await waitFor(() => again.of('notification').some(({ data }) => data['id'] === id && filesOf(data).length === 1));
    for (const { ws } of [viewer, shared, again]) ws.terminate();
  });
});
