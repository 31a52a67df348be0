import { randomBytes } from 'node:crypto';
import { deviceApi, type Outcome, recordLive, serveUseCase } from '@fleet/bus';
import { cameraShootResponse, encodeBody } from '@fleet/jt808';
import { AppError, type Running } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { openFakeMediaPod } from '../../testing/fake-media-pod.ts';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { LiveClient } from '../../testing/live-client.ts';
import { publishMediaStored, storedPicture } from '../../testing/media-files.ts';
import { newCapture } from '../../testing/media-records.ts';
import { type ApiResponse, type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { resumeCaptures } from './resume-captures.ts';
import type { Capture } from './schema.ts';
import { captureCollection, findCapture } from './store.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let api: Client;
let theirs: Client;
let terminals: FakeTerminals;
let served: Running[];
let recordingError: AppError | null;
let recordings: { captureId: string; imei: string; kind: string; box: unknown }[];
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open({
    PLATFORM_ROLES: 'api,websocket,telemetry',
    RATE_LIMIT_CAPTURE_PER_MINUTE: '6',
  });
  [api, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
  terminals = new FakeTerminals(harness.deps);
  const pod = await openFakeMediaPod(harness.bus, 'pod-a');
  const options = { queue: 'test', onError: () => undefined };
  const accepted = { responseId: '0x9101', result: 'success' } as const;
  served = [
    { stop: () => pod.close() },
    serveUseCase(harness.bus, deviceApi.startLive, options, async () => accepted),
    serveUseCase(harness.bus, recordLive, options, async (request) => {
      if (recordingError !== null) throw recordingError;
      recordings.push(request);
      const { captureId, imei, channel } = request;
      const file = { multimediaId: null, captureId, channel, receivedAtMs: Date.now() };
      await publishMediaStored(harness, storedPicture(imei, pod.id, file));
      return {};
    }),
  ];
  await harness.bus.nc.flush();
});
afterAll(async () => {
  await Promise.all(served?.map((each) => each.stop()) ?? []);
  await terminals?.close();
  await harness?.close();
});
beforeEach(() => {
  [recordingError, recordings] = [null, []];
  terminals.respond = async () => generalResponse(0, 0x8801);
});

async function newVehicle(more: object = {}): Promise<{ id: number; imei: string }> {
  count += 1;
  const imei = newImei();
  const { data } = await api.post('/api/vehicles', { vehicle_no: `CAPTURE${count}`, imei, ...more });
  await terminals.connect(imei);
  return { id: data.id, imei };
}

const capture = (vehicleId: number, query = 'wait=30', client = api): Promise<ApiResponse> =>
  client.post(`/api/vehicles/${vehicleId}/dashcam-media-capture?wake=false&${query}`);

/** Returns the outcome of a 0x0805. */
const shootOutcome = (result: number, multimediaIds?: number[]): Outcome => ({
  kind: 'answered',
  answer: {
    commandMessageId: 0x8801,
    commandSerialNo: 7,
    result: null,
    message: {
      id: cameraShootResponse.id,
      edition: '2013',
      bodyBase64: encodeBody(
        cameraShootResponse,
        { replySerial: 7, result, ...(multimediaIds === undefined ? {} : { multimediaIds }) },
        '2013',
      ).toString('base64'),
    },
  },
});

const sendPicture = (imei: string, multimediaId: number, more: object = {}): Promise<void> =>
  publishMediaStored(harness, storedPicture(imei, 'pod-a', { channel: 1, multimediaId, ...more }));
const read = async ({ data }: ApiResponse): Promise<ApiResponse['data']> =>
  (await api.get(`/api/dashcam-captures/${String(data['capture_id'])}`)).data;
const mediaOf = ({ data }: Pick<ApiResponse, 'data'>) => data['media'] as { id: number; capture_id: string }[];
const waitUntil = (response: ApiResponse, status: string): Promise<true> =>
  waitFor(async () => (await read(response))['status'] === status, status, 30_000);

describe('a capture', () => {
  it('records a clip of live video for the wanted seconds', async () => {
    const { id, imei } = await newVehicle();
    const { status, data } = await capture(id, 'kind=clip&duration_seconds=7&wait=30');
    expect([status, data['kind'], data['method']]).toEqual([200, 'clip', 'stream']);
    expect(recordings).toMatchObject([{ imei, kind: 'video', durationSeconds: 7 }]);
    expect((await capture(id, 'kind=clip&duration_seconds=31')).status).toBe(400);
  });

  it('sends the quality and the number of pictures to the terminal', async () => {
    const { id, imei } = await newVehicle();
    await capture(id, 'quality=high&count=3&channelId=2&wait=0');
    const sent = terminals.seen.find((each) => each.imei === imei);
    expect(sent?.command).toMatchObject({
      kind: 'takePictures',
      channel: 2,
      count: 3,
      isStored: false,
      resolution: 4,
      quality: 2,
    });
  });

  it('is completed by the pictures that its response listed, and by no others', async () => {
    const { id, imei } = await newVehicle();
    terminals.respond = async () => shootOutcome(0, [41, 42]);
    const pending = await capture(id, 'count=2&wait=0');
    expect(pending.status).toBe(202);
    await sendPicture(imei, 40);
    await sendPicture(imei, 42);
    await waitFor(async () => ((await read(pending))['media'] as object[]).length === 1);
    await sendPicture(imei, 41);
    await waitUntil(pending, 'completed');
    const data = await read(pending);
    expect(mediaOf({ data }).map((file) => file.capture_id)).toEqual([data['capture_id'], data['capture_id']]);
    const { items } = await api.get(`/api/vehicles/${id}/list-dashcam-media`);
    expect(items.filter((file) => file['capture_id'] === null)).toHaveLength(1);
  });

  it('is completed by its last picture although another one has been deleted', async () => {
    const { id, imei } = await newVehicle();
    terminals.respond = async () => shootOutcome(0, [51, 52]);
    const pending = await capture(id, 'count=2&wait=0');
    await sendPicture(imei, 51);
    await waitFor(async () => mediaOf({ data: await read(pending) }).length === 1);
    const [first] = mediaOf({ data: await read(pending) });
    expect((await api.delete(`/api/dashcam-media/${first?.id}`)).status).toBe(200);
    await sendPicture(imei, 52);
    await waitUntil(pending, 'completed');
    expect(mediaOf({ data: await read(pending) })).toHaveLength(1);
  });

  it('is named by the media events of the websocket', async () => {
    const { id, imei } = await newVehicle();
    const { body } = await api.get('/api/user/generate-websocket-token');
    const client = await LiveClient.ready(harness.base, `?token=${(body as { token: string }).token}`);
    client.send({ type: 'subscribe', vehicles: [id], events: ['media'] });
    await client.next('subscribed');
    const pending = await capture(id, 'wait=0');
    await sendPicture(imei, 8);
    await client.next('media');
    expect(client.of('media')[0]?.data).toMatchObject({ capture_id: pending.data['capture_id'], vehicle_id: id });
    client.ws.terminate();
  });

  it('has one picture each, if many arrive at once and each is reported twice', async () => {
    const { id, imei } = await newVehicle();
    const captures = await Promise.all(Array.from({ length: 5 }, () => capture(id, 'wait=0')));
    expect(captures.map(({ status }) => status)).toEqual(captures.map(() => 202));
    const stored = captures.map((_, no) => storedPicture(imei, 'pod-a', { channel: 1, multimediaId: no + 1 }));
    await Promise.all([...stored, ...stored].map((each) => publishMediaStored(harness, each, { again: true })));
    for (const each of captures) await waitUntil(each, 'completed');
    const found = await Promise.all(captures.map(async (each) => mediaOf({ data: await read(each) })));
    expect(found.map((files) => files.length)).toEqual(captures.map(() => 1));
    expect(new Set(found.flat().map((file) => file.id)).size).toBe(5);
  });

  it.each([
    ['0x0805 with a failure', async () => shootOutcome(1)],
    ['0x0001 with a failure', async () => generalResponse(1, 0x8801)],
    ['0x0001 with "not supported"', async () => generalResponse(3, 0x8801)],
  ])('records a frame of live video after %s', async (_name, respond) => {
    const { id, imei } = await newVehicle();
    terminals.respond = respond;
    const { status, data } = await capture(id, 'quality=low');
    expect([status, data['status'], data['method'], mediaOf({ data }).length]).toEqual([200, 'completed', 'stream', 1]);
    expect(recordings).toMatchObject([{ imei, kind: 'image', box: { width: 320, height: 240 } }]);
  });

  it('is 502 for a channel that the terminal does not have, without live video', async () => {
    const { id } = await newVehicle();
    terminals.respond = async () => shootOutcome(2);
    expect((await capture(id)).status).toBe(502);
    expect(recordings).toEqual([]);
  });

  it('is 502 with the reason if live video fails too', async () => {
    const { id } = await newVehicle();
    terminals.respond = async () => generalResponse(1, 0x8801);
    recordingError = new AppError('upstream_error', 'The camera sent no picture. Retry.');
    const { status, body } = await capture(id);
    expect([status, body]).toMatchObject([502, { error: 'The camera sent no picture. Retry.' }]);
  });

  it('is 404 for a vehicle of another account, an unknown capture, a disabled camera and a missing terminal', async () => {
    const { id } = await newVehicle({ channels: [{ channel_id: 3, enabled: false }] });
    const pending = await capture(id, 'wait=0');
    expect((await capture(id, 'wait=0', theirs)).status).toBe(404);
    expect((await theirs.get(`/api/dashcam-captures/${String(pending.data['capture_id'])}`)).status).toBe(404);
    expect((await api.get(`/api/dashcam-captures/${'0'.repeat(24)}`)).status).toBe(404);
    expect((await capture(id, 'channelId=3')).status).toBe(404);
    const { data } = await api.post('/api/vehicles', { vehicle_no: `CAPTURE${count} B` });
    expect((await capture(data.id)).status).toBe(404);
  });

  it('needs the permission commands, and shows files with history_video only', async () => {
    const { id, imei } = await newVehicle();
    const share = (...permissions: string[]) =>
      api.post('/api/vehicle/share-vehicles', {
        secondaryUser: harness.theirs.owner.id,
        vehicles: [id],
        permissions,
      });
    await share('live_video');
    expect((await capture(id, 'wait=0', theirs)).status).toBe(403);
    await share('commands');
    const pending = await capture(id, 'wait=0', theirs);
    expect(pending.status).toBe(202);
    await sendPicture(imei, 5);
    await waitUntil(pending, 'completed');
    const path = `/api/dashcam-captures/${String(pending.data['capture_id'])}`;
    expect((await theirs.get(path)).data).toMatchObject({ status: 'completed', media: [] });
    await share('history_video');
    expect((await theirs.get(path)).data['media']).toHaveLength(1);
  });

  it('is replayed for the same Idempotency-Key, and 429 above the limit of the vehicle', async () => {
    const { id } = await newVehicle();
    const key = randomBytes(8).toString('hex');
    const post = () =>
      api.post(`/api/vehicles/${id}/dashcam-media-capture?wake=false&wait=0`, {}, { 'Idempotency-Key': key });
    const [first, second] = [await post(), await post()];
    expect(second.data['capture_id']).toBe(first.data['capture_id']);
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await capture(id, 'wait=0')).status));
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    const refused = await capture(id, 'wait=0');
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
  });
});

describe('a capture whose process died', () => {
  const insert = async (more: Partial<Capture>): Promise<Capture> => {
    const { id, imei } = await newVehicle();
    const { accountId } = harness.ours;
    const vehicle = { accountId, _id: id, imei };
    return captureCollection(harness.records).insert({ accountId }, newCapture(vehicle, more));
  };
  const reload = async ({ captureId }: Capture) => (await findCapture(harness.records, captureId)) as Capture;

  it('continues with the same command', async () => {
    const died = await insert({ step: 'shooting', leasedUntil: new Date(0) });
    await Promise.all([resumeCaptures(harness.deps), resumeCaptures(harness.deps)]);
    await waitFor(async () => (await reload(died)).step === 'arriving');
    const sent = terminals.seen.filter(({ imei }) => imei === died.imei);
    expect(sent.map(({ commandId, isRetry }) => [commandId, isRetry])).toEqual([[died.commandId, true]]);
  });

  it('does not record live video again', async () => {
    const files = [{ mediaKey: 'file:recorded', multimediaId: null }];
    const died = await insert({ step: 'recording', leasedUntil: new Date(0), files });
    await resumeCaptures(harness.deps);
    await waitFor(async () => (await reload(died)).step === 'arriving');
    expect(recordings).toEqual([]);
  });

  it('expires 10 minutes after the request, and is completed by a late picture', async () => {
    const died = await insert({ expiresAt: new Date(0), leasedUntil: new Date(0) });
    await resumeCaptures(harness.deps);
    expect((await reload(died)).status).toBe('expired');
    await sendPicture(died.imei, 3, { receivedAtMs: Date.now() + 3_600_000 });
    await waitFor(async () => (await reload(died)).status === 'completed');
  });

  it('is not taken from a process that works on it', async () => {
    const alive = await insert({ step: 'shooting', leasedUntil: new Date(Date.now() + 60_000) });
    await resumeCaptures(harness.deps);
    expect(terminals.seen.filter(({ imei }) => imei === alive.imei)).toEqual([]);
    expect((await reload(alive)).version).toBe(1);
  });
});
