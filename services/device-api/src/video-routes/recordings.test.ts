import type { Outcome } from '@fleet/bus';
import { type BodyOf, encodeBody, resourceList as resourceListMessage } from '@fleet/jt808';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { allRights, FakePlatform, noRights } from '../testing/fake-platform.ts';
import { createOutcome, randomImei } from '../testing/harness.ts';
import { type FakeCamera, UploadHarness } from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const maxUint64 = '18446744073709551615';
const span = { start_time: '2026-08-01T10:00:00+08:00', end_time: '2026-08-01T11:00:00+08:00' };
const clip = { channel: 1, ...span };
const recording = { ...clip, resource_type: 0, stream_type: 1, memory_type: 1 };

let uploads: UploadHarness;
let platform: FakePlatform;
let service: Awaited<ReturnType<UploadHarness['startService']>>;
let key: Record<string, string>;
beforeAll(async () => {
  uploads = await UploadHarness.open({ platform: false });
  platform = await FakePlatform.start(uploads.harness.bus);
  service = await uploads.startService({ DEVICE_API_AUTH: 'key' });
  key = { 'x-api-key': platform.newKey() };
});
afterAll(async () => {
  await platform.stop();
  await uploads.close();
});

const post = (path: string, body: unknown, headers: Record<string, string> = key) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return service.video.get(path, { method: 'POST', headers, body: text });
};

const responseIds: Readonly<Record<string, number>> = { startPlayback: 0x9201, controlPlayback: 0x9202 };
async function connectPlayer(): Promise<FakeCamera> {
  const camera = await uploads.connectCamera();
  camera.respond = (command) => createOutcome(responseIds[command.kind] ?? 0x9205);
  return camera;
}

const listedItem: BodyOf<typeof resourceListMessage>['items'][number] = {
  channel: 1,
  startTime: '2026-08-01T10:00:00',
  endTime: '2026-08-01T10:05:00',
  alarmFlags: BigInt(maxUint64),
  mediaType: 0,
  streamType: 1,
  storageType: 1,
  fileSize: 1000,
};
const listOutcome = (): Outcome => {
  const bytes = encodeBody(resourceListMessage, { replySerial: 1, total: 1, items: [listedItem] }, '2019');
  const message = { id: 0x1205, edition: '2019', bodyBase64: bytes.toString('base64') } as const;
  return { kind: 'answered', answer: { commandMessageId: 0x9205, commandSerialNo: 1, result: null, message } };
};

describe('POST /:imei/upload', () => {
  it('requests a clip, and records the user who wants it', async () => {
    const camera = await uploads.connectCamera();
    const user = platform.newUser();
    user.rights.set(camera.imei, allRights);
    const { status, body } = await post(`/${camera.imei}/upload`, { ...clip, mobile_network: false }, user.headers);
    expect({ status, body }).toEqual({
      status: 200,
      body: { response_id: '0x9206', result: 'success', video_id: expect.stringMatching(/^[0-9a-f]{24}$/) },
    });
    expect(camera.frames).toMatchObject([{ kind: 'requestUpload', channel: 1, conditions: 3, alarmFlags: '0' }]);
    const { video_id: id } = body as { video_id: string };
    expect(await uploads.getRecord(id)).toMatchObject({ requestedBy: user.caller.userId, status: 'uploading' });
  });

  it('records no user for a key, and every bit of the alarm flags', async () => {
    const camera = await uploads.connectCamera();
    const text = `${JSON.stringify(clip).slice(0, -1)},"alarm":${maxUint64}}`;
    const { status, body } = await post(`/${camera.imei}/upload`, text);
    expect([status, body]).toEqual([200, expect.objectContaining({ result: 'success' })]);
    expect(camera.frames).toMatchObject([{ alarmFlags: maxUint64 }]);
    expect(await uploads.getRecord((body as { video_id: string }).video_id)).toMatchObject({ requestedBy: null });
  });

  it('is 409 while the camera uploads another clip, and 502 if it refuses', async () => {
    const camera = await uploads.connectCamera();
    expect((await post(`/${camera.imei}/upload`, clip)).status).toBe(200);
    expect((await post(`/${camera.imei}/upload`, { ...clip, channel: 2 })).status).toBe(409);
    const refusing = await connectPlayer();
    refusing.respond = () => createOutcome(0x9206, 1);
    expect((await post(`/${refusing.imei}/upload`, clip)).status).toBe(502);
  });
});

describe('POST /:imei/history/start', () => {
  it('starts playback, and returns a URL that is signed for recordings', async () => {
    const camera = await connectPlayer();
    const { status, body } = await post(`/${camera.imei}/history/start`, recording);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        response_id: '0x9201',
        result: 'success',
        stream_url: expect.stringMatching(
          `^${service.video.base}/${camera.imei}/1/stream\\.flv\\?kind=history&token=[\\w.-]+$`,
        ),
        ws_flv_url: expect.stringContaining(`/${camera.imei}/1/stream.flv?kind=history&token=`),
        hls_url: expect.stringContaining(`/${camera.imei}/1/index.m3u8?kind=history&token=`),
        token_expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
    expect(camera.frames).toMatchObject([
      { kind: 'startPlayback', channel: 1, startTime: '260801100000', mediaType: 0, streamType: 1, storageType: 1 },
    ]);
    const token = new URL((body as { stream_url: string }).stream_url).searchParams.get('token') ?? '';
    const statusOf = async (query: string): Promise<number> => {
      const response = await fetch(`${service.video.base}/${camera.imei}/1/stream.flv?${query}token=${token}`);
      await response.body?.cancel();
      return response.status;
    };
    // The camera has accepted and does not connect.
    expect([await statusOf('kind=history&'), await statusOf('')]).toEqual([502, 403]);
  });
});

describe('POST /:imei/history/control', () => {
  it('pauses, and seeks to a position', async () => {
    const camera = await connectPlayer();
    const control = (body: object) => post(`/${camera.imei}/history/control`, { channel: 1, ...body });
    expect(await control({ playback_control: 1 })).toMatchObject({ status: 200, body: { response_id: '0x9202' } });
    expect(await control({ playback_control: 5 })).toMatchObject({ status: 400 });
    const position = { playback_control: 5, drag_playback_time: '2026-08-01T10:30:00+08:00' };
    expect(await control(position)).toMatchObject({ status: 200, body: { result: 'success' } });
    expect(camera.frames).toMatchObject([
      { kind: 'controlPlayback', control: 1 },
      { control: 5, seekTime: '260801103000' },
    ]);
  });
});

describe('POST /:imei/resource-list', () => {
  it('lists recordings with every bit of their alarm flags', async () => {
    const camera = await uploads.connectCamera();
    camera.respond = () => listOutcome();
    const response = await fetch(`${service.video.base}/${camera.imei}/resource-list`, {
      method: 'POST',
      headers: key,
      body: JSON.stringify(clip),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(`"alarm":${maxUint64}`)]);
    expect(camera.frames).toMatchObject([{ kind: 'listRecordings', channel: 1, mediaType: 3, alarmFlags: '0' }]);
  });
});

describe('the permissions', () => {
  it.each([
    ['live', { ...noRights, live: true }, [403, 403, 403, 403, 403]],
    ['history', { ...noRights, history: true }, [403, 200, 403, 200, 200]],
    ['command', { ...noRights, command: true }, [200, 403, 200, 403, 403]],
  ])('of a person with the right %s', async (_name, rights, expected) => {
    const camera = await uploads.connectCamera();
    camera.respond = ({ kind }) => {
      if (kind === 'listRecordings') return listOutcome();
      return createOutcome(responseIds[kind] ?? 0x9206);
    };
    const { headers, rights: all } = platform.newUser();
    all.set(camera.imei, rights);
    const statuses: number[] = [];
    for (const [path, body] of [
      ['upload', clip],
      ['history/start', recording],
      ['history/start', { ...recording, channel: 2, host: '10.0.0.1' }],
      ['history/control', { channel: 1, playback_control: 0 }],
      ['resource-list', clip],
    ] as const)
      statuses.push((await post(`/${camera.imei}/${path}`, body, headers)).status);
    expect(statuses).toEqual(expected);
  });
});

describe.each([
  ['upload', clip],
  ['resource-list', clip],
  ['history/start', recording],
  ['history/control', { channel: 1, playback_control: 0 }],
])('POST /:imei/%s', (path, body) => {
  it('is 401 without a credential, and 403 for a key without the scope video', async () => {
    const imei = randomImei();
    expect((await post(`/${imei}/${path}`, body, {})).status).toBe(401);
    const unscoped = { 'x-api-key': platform.newKey({ scopes: ['command'] }) };
    expect((await post(`/${imei}/${path}`, body, unscoped)).status).toBe(403);
  });

  it('is 404 for a device of another account and for one that is not connected', async () => {
    const camera = await uploads.connectCamera();
    platform.moveDevice(camera.imei, 8);
    const missing = { status: 404, body: { status: 404, error: 'The device is not connected.' } };
    expect(await post(`/${camera.imei}/${path}`, body)).toMatchObject(missing);
    expect(await post(`/${randomImei()}/${path}`, body)).toMatchObject(missing);
    expect(camera.frames).toEqual([]);
  });

  it.each([
    [undefined, 'A JSON body is required.'],
    [{ ...body, channel: '1' }, 'The body field channel must be integer.'],
    [{ ...body, channel: undefined }, 'The body field channel is missing.'],
    [[], 'The body must be object.'],
  ])('is 400 for %j', async (invalid, message) => {
    const response = await post(`/${randomImei()}/${path}`, invalid ?? '');
    expect(response).toMatchObject({ status: 400, body: { error: message } });
  });
});
