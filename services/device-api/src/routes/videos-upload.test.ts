import { callUseCase, deviceApi, type Outcome } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomImei } from '../testing/harness.ts';
import { ftpServer, rejectWith, requestClip, UploadHarness, uploadPath } from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(90_000);

let uploads: UploadHarness;
let api: Awaited<ReturnType<UploadHarness['startService']>>;
let replica: typeof api;
beforeAll(async () => {
  uploads = await UploadHarness.open();
  [api, replica] = await Promise.all([uploads.startService(), uploads.startService()]);
});
afterAll(() => uploads.close());

const videoId = expect.stringMatching(/^[0-9a-f]{24}$/);
const success = { response_id: '0x9206', result: 'success', video_id: videoId };
const error = (status: number, text = '') => ({ status, body: { status, error: expect.stringContaining(text) } });

describe('the command to the camera', () => {
  const all = {
    kind: 'requestUpload',
    server: ftpServer.host,
    port: ftpServer.port,
    password: 'secret',
    path: '/',
    channel: 1,
    startTime: '260801090000',
    endTime: '260801100000',
    alarmFlags: '0',
    mediaType: 3,
    streamType: 0,
    storageType: 0,
    conditions: 7,
  };
  it.each([
    ['', {}],
    ['&resource_type=2&stream_type=1&memory_type=2', { mediaType: 2, streamType: 1, storageType: 2 }],
    ['&alarm=18446744073709551615', { alarmFlags: '18446744073709551615' }],
    ['&host=10.1.2.3', { server: '10.1.2.3' }],
    ['&port=21', { port: 21 }],
    ['&port=0', {}],
    ['&host=ftp.partner.example&port=65535', { server: 'ftp.partner.example', port: 65_535 }],
    ['&mobile_network=false', { conditions: 3 }],
    ['&wifi=false', { conditions: 6 }],
    ['&wifi=false&lan=false', { conditions: 4 }],
    ['&lan=false&mobile_network=false', { conditions: 1 }],
    ['&wifi=true&lan=true&mobile_network=true', { conditions: 7 }],
  ])('with %p', async (more, changed) => {
    const camera = await uploads.connectCamera();
    const { status, body } = await api.get(uploadPath(camera.imei, { more }));
    expect({ status, body }).toEqual({ status: 200, body: success });
    const id = (body as { video_id: string }).video_id;
    expect(camera.frames).toEqual([{ ...all, username: `u${id}`, ...changed }]);
    expect(await uploads.getRecord(id)).toMatchObject({
      status: 'uploading',
      commandSerialNo: 0x0101,
      mobileNetwork: !more.includes('mobile_network=false'),
    });
  });

  it("uses the camera's own clock, whose offset the upload stores", async () => {
    const camera = await uploads.connectCamera();
    uploads.harness.utcOffsets.set(camera.imei, '-03:30');
    const id = await requestClip(api, camera, { channel: 0 });
    expect(camera.frames).toMatchObject([{ startTime: '260731213000', endTime: '260731223000', channel: 0 }]);
    expect((await api.get(`/videos?video_id=${id}`)).body).toMatchObject({
      video_start_time: '2026-07-31T21:30:00-03:30',
      video_end_time: '2026-07-31T22:30:00-03:30',
    });
  });
});

describe('an upload to an external FTP server', () => {
  it.each([
    ['another host', '&host=ftp.partner.example', true],
    ['another port', '&port=21', true],
    ['our own address', `&host=${ftpServer.host.toUpperCase()}&port=${ftpServer.port}`, false],
    ['no address', '', false],
  ])('is marked as external: %s', async (_what, more, isExternal) => {
    const camera = await uploads.connectCamera();
    const { body } = await api.get(uploadPath(camera.imei, { more }));
    const id = (body as { video_id: string }).video_id;
    const mark = isExternal ? { external: true } : {};
    const upload = (await api.get(`/videos?video_id=${id}`)).body as Record<string, unknown>;
    expect('external' in upload ? { external: upload['external'] } : {}).toEqual(mark);
    expect((await api.get(`/videos/list?imei=${camera.imei}`)).body).toMatchObject({ videos: [mark] });
    expect(
      await callUseCase(uploads.harness.bus, deviceApi.findUpload, { videoId: id }, { timeoutMs: 10_000 }),
    ).toMatchObject(mark);
  });
});

describe('parameters', () => {
  const strictEnv = { DEVICE_HOST_ALLOWLIST: 'ftp.partner.example' };
  it.each([
    ['&wifi=false&lan=false&mobile_network=false', 'mobile_network'],
    ['&wifi=1', 'wifi'],
    ['&port=-1', 'port'],
    ['&port=65536', 'port'],
    ['&host=a%20b', 'host'],
    ['&resource_type=4', 'resource_type'],
    ['&stream_type=3', 'stream_type'],
    ['&memory_type=3', 'memory_type'],
    ['&alarm=18446744073709551616', 'alarm'],
    ['&channel=2', 'channel'],
  ])('%p is 400 and names %p', async (more, name) => {
    const camera = await uploads.connectCamera();
    expect(await api.get(uploadPath(camera.imei, { more }))).toMatchObject(error(400, name));
    expect(camera.frames).toEqual([]);
    expect(await uploads.findRecords(camera.imei)).toEqual([]);
  });

  it.each([
    ['end_time', 'start_time=2026-08-01T10:00:00Z'],
    ['start_time', 'start_time=2026-08-01T10:00:00Z&end_time=2026-08-01T18:00:00%2B08:00'],
    ['start_time', 'start_time=1999-12-31T15:59:59Z&end_time=2026-08-01T10:00:00Z'],
    ['end_time', 'start_time=2026-08-01T10:00:00Z&end_time=2099-12-31T16:00:00Z'],
    ['%2B', 'start_time=2026-08-01T10:00:00+08:00&end_time=2026-08-01T11:00:00+08:00'],
  ])('times: 400 says %p for %p', async (name, times) => {
    const camera = await uploads.connectCamera();
    expect(await api.get(`/videos/upload?imei=${camera.imei}&channel=1&${times}`)).toMatchObject(error(400, name));
    expect(camera.frames).toEqual([]);
  });

  it('is 400 for a host outside the allow-list', async () => {
    const strict = await uploads.startService(strictEnv);
    const camera = await uploads.connectCamera();
    expect(await strict.get(uploadPath(camera.imei, { more: '&host=other.example' }))).toMatchObject(
      error(400, 'host'),
    );
    expect((await strict.get(uploadPath(camera.imei, { more: '&host=FTP.partner.example' }))).status).toBe(200);
    expect(camera.frames).toMatchObject([{ server: 'FTP.partner.example' }]);
  });
});

describe('a clip with an upload', () => {
  it.each(['uploading', 'paused', 'completed', 'failed', 'cancelled'] as const)(
    'returns its status %s, and sends no command',
    async (status) => {
      const camera = await uploads.connectCamera();
      const id = await requestClip(api, camera);
      await uploads.records.transition(id, ['uploading'], status);
      const again = { status: 200, body: { response_id: '0x9206', result: status, video_id: id } };
      expect(await api.get(uploadPath(camera.imei))).toMatchObject(again);
      // Destination and network are not part of a clip's identity, nor are the forms of number and times.
      expect(await replica.get(uploadPath(camera.imei, { more: '&host=10.0.0.1&wifi=false' }))).toMatchObject(again);
      const other = uploadPath(`00000000${camera.imei}`).replace('01:00:00Z', '09:00:00.9%2B08:00');
      expect(await api.get(other)).toMatchObject(again);
      expect(camera.requests).toBe(1);
    },
  );

  it('is another clip in every other part', async () => {
    const camera = await uploads.connectCamera();
    const ids = new Set<string>();
    const parts = ['', '&resource_type=2', '&stream_type=1', '&memory_type=1', '&alarm=1'].map((more) => ({ more }));
    for (const options of [...parts, { clip: 2 }, { channel: 2 }]) {
      const id = await requestClip(api, camera, options);
      await uploads.records.transition(id, ['uploading'], 'completed');
      ids.add(id);
    }
    expect(ids.size).toBe(7);
    expect(camera.requests).toBe(7);
  });
});

describe('a camera that uploads another clip', () => {
  it('is 409 on any channel, and receives no command', async () => {
    const camera = await uploads.connectCamera();
    await requestClip(api, camera);
    for (const options of [{ clip: 2 }, { channel: 2 }, { channel: 0, clip: 3 }])
      expect(await replica.get(uploadPath(camera.imei, options))).toMatchObject(error(409, 'another clip'));
    expect(camera.requests).toBe(1);
    expect(await uploads.findRecords(camera.imei)).toHaveLength(1);
  });

  it.each(['paused', 'completed', 'failed', 'cancelled'] as const)('is free when that one is %s', async (status) => {
    const camera = await uploads.connectCamera();
    const id = await requestClip(api, camera);
    await uploads.records.transition(id, ['uploading'], status);
    expect(await api.get(uploadPath(camera.imei, { clip: 2 }))).toMatchObject({ status: 200, body: success });
  });
});

describe('concurrent requests', () => {
  it.each<[string, Outcome | undefined, number, unknown]>([
    ['success', undefined, 200, success],
    ['refusal', { kind: 'unreadable', detail: 'x' }, 502, { status: 502, error: expect.any(String) }],
    ['silence', { kind: 'timedOut' }, 504, { status: 504, error: 'The device did not reply in time.' }],
    ['absence', { kind: 'notConnected' }, 404, { status: 404, error: 'The device is not connected.' }],
  ])(
    'for one clip: 50 of them over two replicas send one 0x9206 and share its %s',
    async (_what, outcome, ...expectedResponse) => {
      const camera = await uploads.connectCamera();
      const release = camera.hold();
      const requests = Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? api : replica).get(uploadPath(camera.imei)),
      );
      await uploads.waitUntilAdmitted(camera.imei, 50);
      await waitFor(() => camera.requests === 1, 'the request of the clip');
      release(outcome && (() => outcome));
      const [status, body] = expectedResponse;
      const responses = await Promise.all(requests);
      expect(responses.map((one) => [one.status, one.body])).toEqual(requests.map(() => [status, body]));
      expect(camera.requests).toBe(1);
      const records = await uploads.findRecords(camera.imei);
      expect(records.map((record) => record.status)).toEqual(status === 200 ? ['uploading'] : []);
      expect(new Set(responses.map((one) => (one.body as { video_id?: string }).video_id)).size).toBe(1);
    },
  );

  it('for clips of different channels: one is accepted, the other is 409', async () => {
    const camera = await uploads.connectCamera();
    const release = camera.hold();
    const requests = [1, 2, 3, 4].map((channel) =>
      (channel % 2 === 0 ? api : replica).get(uploadPath(camera.imei, { channel })),
    );
    await waitFor(() => camera.requests === 1);
    const refused = await Promise.race(requests);
    expect(refused).toMatchObject(error(409, 'another clip'));
    await uploads.waitUntilAdmitted(camera.imei, 4);
    release();
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 409)).toHaveLength(3);
    expect(statuses).toContain(200);
    expect(camera.requests).toBe(1);
    expect(await uploads.findRecords(camera.imei)).toHaveLength(1);
  });
});

describe('a camera that refuses the clip', () => {
  it.each<[string, Outcome | number, number]>([
    ['refuses', 1, 502],
    ['finds the command malformed', 2, 502],
    ['does not know the command', 3, 502],
    ['returns an unknown result', 9, 502],
    ['answers nonsense', { kind: 'unreadable', detail: 'x' }, 502],
    ['is gone', { kind: 'notConnected' }, 404],
    ['is silent', { kind: 'timedOut' }, 504],
    ['is busy', { kind: 'busy', detail: 'x' }, 429],
    ['cannot be told', { kind: 'refused', detail: 'x' }, 400],
  ])('leaves no state when it %s', async (_what, outcome, status) => {
    const camera = await uploads.connectCamera();
    camera.respond = typeof outcome === 'number' ? rejectWith(outcome) : () => outcome;
    expect(await api.get(uploadPath(camera.imei))).toMatchObject(error(status));
    expect(await uploads.findRecords(camera.imei)).toEqual([]);
    expect((await api.get(`/videos/list?imei=${camera.imei}`)).body).toEqual({ total: 0, videos: [] });
    await waitFor(() => uploads.revoked.some((id) => camera.frames[0] && `u${id}` === getUsername(camera.frames[0])));
    camera.respond = () => undefined;
    expect(await api.get(uploadPath(camera.imei, { channel: 2 }))).toMatchObject({ status: 200 });
    expect(camera.requests).toBe(2);
  });

  it('is 404 if it is not connected', async () => {
    expect(await api.get(uploadPath(randomImei()))).toMatchObject(error(404, 'not connected'));
  });

  it('is listed nowhere before its response', async () => {
    const camera = await uploads.connectCamera();
    const release = camera.hold();
    const request = api.get(uploadPath(camera.imei));
    await waitFor(() => camera.requests === 1);
    const [record] = await uploads.findRecords(camera.imei);
    expect(record?.status).toBe('reserved');
    expect((await api.get(`/videos/list?imei=${camera.imei}`)).body).toEqual({ total: 0, videos: [] });
    const path = `/videos?video_id=${record?._id}`;
    expect((await api.get(path)).status).toBe(404);
    expect((await api.get(path, { method: 'DELETE' })).status).toBe(404);
    expect((await api.get(`/videos/control?video_id=${record?._id}&action=2`)).status).toBe(404);
    release();
    expect((await request).status).toBe(200);
    expect((await api.get(path)).status).toBe(200);
  });
});

const getUsername = (frame: object): string => ('username' in frame ? String(frame.username) : '');

describe('a camera whose first bytes precede its response', () => {
  const receiveBytes = async (imei: string): Promise<string> => {
    const [record] = await uploads.findRecords(imei);
    const id = record?._id ?? '';
    await uploads.records.transition(id, ['reserved'], 'uploading', { filesize: 1000, filename: 'a.mp4' });
    return id;
  };

  it('uploads, and its response contains the serial', async () => {
    const camera = await uploads.connectCamera();
    const release = camera.hold();
    const request = api.get(uploadPath(camera.imei));
    await waitFor(() => camera.requests === 1);
    const id = await receiveBytes(camera.imei);
    release();
    expect(await request).toMatchObject({ status: 200, body: { result: 'success', video_id: id } });
    expect(await uploads.getRecord(id)).toMatchObject({ status: 'uploading', filesize: 1000, commandSerialNo: 0x0200 });
  });

  it('uploads although its response never arrives', async () => {
    const camera = await uploads.connectCamera();
    const release = camera.hold();
    const request = api.get(uploadPath(camera.imei));
    await waitFor(() => camera.requests === 1);
    const id = await receiveBytes(camera.imei);
    release(() => ({ kind: 'timedOut' }));
    expect(await request).toMatchObject({ status: 200, body: { result: 'success', video_id: id } });
    expect(await uploads.getRecord(id)).toMatchObject({ status: 'uploading', commandSerialNo: null });
    expect(await api.get(uploadPath(camera.imei, { clip: 2 }))).toMatchObject(error(409));
  });
});

describe('a reservation of a dead process', () => {
  it('is waited for until it expires; then the camera is requested', async () => {
    const camera = await uploads.connectCamera();
    const dead = await uploads.startService();
    camera.hold();
    void dead.get(uploadPath(camera.imei)).catch(() => undefined);
    await waitFor(() => camera.requests === 1);
    const [left] = await uploads.findRecords(camera.imei);
    camera.respond = () => undefined;
    const request = api.get(uploadPath(camera.imei));
    await uploads.records.set(left?._id ?? '', ['reserved'], { reservedUntilMs: Date.now() - 1 });
    const { status, body } = await request;
    expect({ status, body }).toEqual({ status: 200, body: success });
    expect(body).not.toMatchObject({ video_id: left?._id });
    expect(camera.requests).toBe(2);
    expect(await uploads.findRecords(camera.imei)).toHaveLength(1);
  });

  it('is 504 after the time-out of a waiting caller', async () => {
    const quick = await uploads.startService({ DEVICE_REPLY_TIMEOUT_MS: '700' });
    const camera = await uploads.connectCamera();
    const release = camera.hold();
    const first = api.get(uploadPath(camera.imei));
    await waitFor(() => camera.requests === 1);
    expect(await quick.get(uploadPath(camera.imei))).toMatchObject(error(504));
    release();
    expect((await first).status).toBe(200);
    // Requests over the bus reach any replica.
    await quick.stop();
  });
});

describe('an unavailable upload server', () => {
  it('is 503, sends no command and leaves no state', async () => {
    const camera = await uploads.connectCamera();
    uploads.isGranting = false;
    const expectedResponse = await api.get(uploadPath(camera.imei));
    uploads.isGranting = true;
    expect(expectedResponse).toMatchObject(error(503));
    expect(camera.frames).toEqual([]);
    expect(await uploads.findRecords(camera.imei)).toEqual([]);
    expect((await api.get(uploadPath(camera.imei))).status).toBe(200);
  });
});

describe('over the bus', () => {
  it('has the same effect, and errors keep their status', async () => {
    const camera = await uploads.connectCamera();
    const options = { timeoutMs: 20_000 };
    const { bus } = uploads.harness;
    const startMs = Date.parse('2026-08-01T01:00:00Z');
    const clip = { imei: camera.imei, channel: 1, startMs, endMs: startMs + 3_600_000, alarmFlags: '0', conditions: 7 };
    const request = { ...clip, mediaType: 3, streamType: 0, storageType: 0 };
    const { videoId: id } = await callUseCase(bus, deviceApi.requestUpload, request, options);
    expect(await api.get(uploadPath(camera.imei))).toMatchObject({ body: { result: 'uploading', video_id: id } });
    const upload = await callUseCase(bus, deviceApi.controlUpload, { videoId: id, action: 0 }, options);
    expect(upload).toMatchObject({ videoId: id, status: 'paused', filesize: 0, filename: null, startMs });
    expect(await callUseCase(bus, deviceApi.findUpload, { videoId: id }, options)).toEqual(upload);
    const { videos } = await callUseCase(bus, deviceApi.listUploads, { imei: camera.imei }, options);
    expect(videos).toEqual([upload]);
    expect(await callUseCase(bus, deviceApi.requestUpload, request, options)).toMatchObject({ result: 'paused' });
    await expect(callUseCase(bus, deviceApi.controlUpload, { videoId: id, action: 0 }, options)).rejects.toMatchObject({
      status: 409,
    });
    await expect(callUseCase(bus, deviceApi.findUpload, { videoId: '0'.repeat(24) }, options)).rejects.toMatchObject({
      status: 404,
    });
  });
});
