import { encodeBody, multimediaData } from '@fleet/jt808';
import { createGeneralResponse, sendPictures } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { findError, type PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { probeMedia } from './testing/probe-media.ts';

jest.setTimeout(180_000);

let harness: ProductHarness;
let client: PlatformClient;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await joinSharedHarness();
  dashcams = await Dashcams.open(harness);
  client = dashcams.client;
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

/** Requests a capture over the Platform API. */
const capture = (vehicleId: number, query = 'wait=60'): Promise<PlatformRecord> =>
  client.requestData(`/vehicles/${vehicleId}/dashcam-media-capture?${query}`, {});

/** Requests a capture over the Platform API; returns the status and `Location` too. */
async function requestCapture(vehicleId: number, query: string) {
  const { status, headers, body } = await client.send(`/vehicles/${vehicleId}/dashcam-media-capture?${query}`, {});
  return { status, location: headers.get('location'), data: body['data'] as PlatformRecord };
}

/** Requests a capture over the video service. */
async function captureByVideoService(imei: string, body: object = {}, url = harness.product.runtime.video_url) {
  const response = await fetch(`${url}/${imei}/media-capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': harness.product.runtime.demo.api_key },
    body: JSON.stringify({ wait: 60, ...body }),
  });
  return { status: response.status, body: (await response.json()) as PlatformRecord };
}

const filesOf = (record: PlatformRecord) => record['media'] as readonly PlatformRecord[];

/** Downloads a file by the URL of its record. */
async function download(url: unknown): Promise<Buffer> {
  const response = await fetch(String(url));
  if (response.status !== 200) throw new Error(`${String(url)}: ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

describe('a picture of a terminal', () => {
  it.each(['2011', '2013', '2019'] as const)('is captured from a terminal of the edition %s', async (edition) => {
    const { vehicleId } = await dashcams.create({}, { edition });
    const captured = await capture(vehicleId);
    expect(captured).toMatchObject({ vehicle_id: vehicleId, status: 'completed', method: 'terminal', error: null });
    const [file, ...others] = filesOf(captured);
    expect(others).toEqual([]);
    expect(file).toMatchObject({ capture_id: captured['capture_id'], kind: 'image', source: 'capture', channel_id: 1 });
    expect(await probeMedia(await download(file?.['url']))).toMatchObject({ video: { codec: 'mjpeg' } });
    const { video: thumbnail } = await probeMedia(await download(file?.['thumbnail_url']));
    expect([thumbnail.width, thumbnail.height]).toEqual([file?.['thumbnail_width'], file?.['thumbnail_height']]);
    expect(thumbnail.width).toBeLessThanOrEqual(320);
    expect(await client.requestData(`/dashcam-captures/${String(captured['capture_id'])}`)).toMatchObject({
      capture_id: captured['capture_id'],
      status: 'completed',
    });
  });

  it('is captured over the video service by the same implementation', async () => {
    const { vehicleId, imei } = await dashcams.create();
    const { status, body } = await captureByVideoService(imei, { channel: 2, count: 2 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ vehicle_id: vehicleId, channel_id: 2, status: 'completed', method: 'terminal' });
    expect(filesOf(body)).toHaveLength(2);
    for (const file of filesOf(body)) expect((await download(file['url'])).length).toBe(file['size_bytes']);
  });
});

describe('pictures of several captures', () => {
  it.each(['withoutIds', 'general'] as const)(
    'belong to one capture each, if the terminal responds %s',
    async (pictureResponse) => {
      const { vehicleId } = await dashcams.create({}, { pictureResponse });
      const captures = await Promise.all([1, 2, 3].map(() => capture(vehicleId)));
      expect(captures.map(({ status, method }) => [status, method])).toEqual(
        captures.map(() => ['completed', 'terminal']),
      );
      const ids = captures.flatMap((each) => filesOf(each).map(({ id }) => id));
      expect(new Set(ids).size).toBe(3);
    },
  );

  it('are complete when 20 are requested at once from two replicas', async () => {
    const replica = await DeviceApiReplica.start(harness);
    try {
      const vehicles = await Promise.all(Array.from({ length: 5 }, () => dashcams.create()));
      const urls = [harness.product.runtime.video_url, replica.videoUrl];
      const responses = await Promise.all(
        vehicles.flatMap(({ imei }) => [0, 1, 2, 3].map((no) => captureByVideoService(imei, {}, urls[no % 2]))),
      );
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      const files = responses.flatMap(({ body }) => filesOf(body));
      expect(files).toHaveLength(20);
      expect(new Set(files.map(({ id }) => id)).size).toBe(20);
      for (const { body } of responses)
        expect(filesOf(body).map((file) => file['capture_id'])).toEqual([body['capture_id']]);
    } finally {
      await replica.stop();
    }
  });
});

describe('a capture', () => {
  it('is 202 while its picture has not arrived, and completed by a picture that arrives later', async () => {
    // Accepts the command; the picture follows when the test sends it.
    const { vehicleId, terminal } = await dashcams.create(
      {},
      {
        respond: (message) => (message.messageId === 0x8801 ? [createGeneralResponse(message, 0)] : undefined),
      },
    );
    const { status, location, data } = await requestCapture(vehicleId, 'wait=0');
    expect([status, data['status'], filesOf(data)]).toEqual([202, 'pending', []]);
    expect(location).toBe(`/api/dashcam-captures/${String(data['capture_id'])}`);
    await sendPictures(terminal.createHandlerContext(), 1, [4_711], 0);
    const completed = await waitFor(async () => {
      const found = await client.requestData(String(location).replace('/api', ''));
      return found['status'] === 'completed' && found;
    }, 'the picture');
    expect(completed).toMatchObject({ method: 'terminal', media: [{ capture_id: data['capture_id'] }] });
  });

  it('is completed by the picture that a terminal sends again after it lost its connection', async () => {
    const { vehicleId, terminal } = await dashcams.create({}, { picturePartsBeforeDrop: 1 });
    const { data } = await requestCapture(vehicleId, 'wait=0&quality=max');
    const path = `/dashcam-captures/${String(data['capture_id'])}`;
    await waitFor(() => !terminal.isOnline, 'the lost connection');
    terminal.options.picturePartsBeforeDrop = undefined;
    await terminal.waitUntilOnline(60_000);
    expect(await client.requestData(path)).toMatchObject({ status: 'pending', media: [] });
    await sendPictures(terminal.createHandlerContext(), 1, [1], 0);
    await waitFor(async () => (await client.requestData(path))['status'] === 'completed', 'the picture');
  });

  it('wakes a sleeping terminal first', async () => {
    const { vehicleId, terminal } = await dashcams.create();
    terminal.setBehaviour({ kind: 'sleeping', wakeAfterTries: 1 });
    expect(await capture(vehicleId)).toMatchObject({ status: 'completed', method: 'terminal' });
  });

  it.each([
    ['of a terminal that is offline', '404 device_not_connected'],
    ['of a channel without a camera', '502 upstream_error'],
  ])('%s fails', async (name, error) => {
    const { vehicleId, terminal } = await dashcams.create();
    const isOffline = name.includes('offline');
    if (isOffline) await terminal.stop();
    expect(await findError(capture(vehicleId, isOffline ? 'wait=0' : 'channelId=9'))).toBe(error);
  });

  it('of an unknown vehicle, and of a device without a vehicle, is 404', async () => {
    expect(await findError(capture(999_999_999))).toBe('404 vehicle_not_found');
    expect(await findError(client.request('/dashcam-captures/0123456789abcdef01234567'))).toBe('404 not_found');
    const imei = uniquePhone();
    await harness.startTerminal({ phone: imei });
    expect((await captureByVideoService(imei)).status).toBe(404);
  });
});

describe('a picture that cannot be decoded', () => {
  it('has no thumbnail', async () => {
    const { vehicleId, terminal } = await dashcams.create();
    const data = Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), Buffer.alloc(3_000, 0x5a)]);
    const location = terminal.createHandlerContext().vehicle.location();
    const body = { multimediaId: 9, type: 0, format: 0, eventCode: 1, channel: 1, location, data };
    terminal.send({ messageId: multimediaData.id, body: encodeBody(multimediaData, body, terminal.options.edition) });
    const listFiles = () => client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`);
    await waitFor(async () => (await listFiles()).length === 1, 'the damaged picture');
    const [readable] = filesOf(await capture(vehicleId));
    expect(readable?.['thumbnail_url']).not.toBeNull();
    const damaged = await waitFor(async () => {
      const found = (await listFiles()).find(({ id }) => id !== readable?.['id']);
      return found?.['thumbnail_url'] === null && found;
    }, 'the attempt to read the damaged picture');
    expect(damaged).toMatchObject({ thumbnail_url: null, width: null, capture_id: null });
  });
});

describe('a terminal that cannot take pictures', () => {
  it.each([
    ['refuses', { kind: 'refusing', result: 3 }],
    ['does not respond', { kind: 'silent' }],
  ] as const)('has a frame of live video captured if it %s', async (_name, behaviour) => {
    const { vehicleId, terminal } = await dashcams.create();
    terminal.setBehaviour(behaviour, 0x8801);
    const captured = await capture(vehicleId, 'quality=low&wait=60');
    expect(captured).toMatchObject({ status: 'completed', method: 'stream' });
    const { video } = await probeMedia(await download(filesOf(captured)[0]?.['url']));
    expect(video).toMatchObject({ codec: 'mjpeg' });
    expect(video.width).toBeLessThanOrEqual(320);
    expect(video.height).toBeLessThanOrEqual(240);
  });
});

describe('live video of a capture', () => {
  const streamPath = (vehicleId: number) => `/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1&autoStart=false`;

  it('is stopped afterwards, also with H.265', async () => {
    const camera = { video: 'h265', audio: 'g711a' } as const;
    const { vehicleId, terminal } = await dashcams.create({}, { video: { codec: 'h265' }, camera });
    terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x8801);
    const captured = await capture(vehicleId, 'quality=max&wait=60');
    expect(captured).toMatchObject({ status: 'completed', method: 'stream' });
    const { video } = await probeMedia(await download(filesOf(captured)[0]?.['url']));
    expect(video).toMatchObject({ codec: 'mjpeg', width: filesOf(captured)[0]?.['width'] });
    await waitFor(
      async () => (await findError(client.request(streamPath(vehicleId)))) === '404 not_streaming',
      'the end of the stream',
      20_000,
    );
  });

  it('continues if it was running', async () => {
    const { vehicleId, terminal } = await dashcams.create();
    terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x8801);
    await client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    expect(await capture(vehicleId)).toMatchObject({ status: 'completed', method: 'stream' });
    expect(await client.requestData(streamPath(vehicleId))).toMatchObject({ status: 'streaming' });
  });
});

describe('a clip', () => {
  it.each(['h264', 'h265'] as const)('is recorded from %s live video with sound', async (codec) => {
    const { imei } = await dashcams.create({}, { video: { codec }, camera: { video: codec, audio: 'g711a' } });
    const { status, body } = await captureByVideoService(imei, { kind: 'clip', duration_seconds: 3 });
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'completed', method: 'stream' } });
    const [file] = filesOf(body);
    expect(file).toMatchObject({ kind: 'video', mime_type: 'video/mp4', capture_id: body['capture_id'] });
    const { durationSeconds, video, audio } = await probeMedia(await download(file?.['url']));
    expect(video.codec).toBe(codec === 'h264' ? 'h264' : 'hevc');
    expect(video.tag).toBe(codec === 'h264' ? 'avc1' : 'hvc1');
    expect(audio?.codec).toBe('aac');
    expect(durationSeconds).toBeGreaterThan(2.5);
    expect(durationSeconds).toBeLessThan(3.6);
    expect(file?.['duration_seconds']).toBeCloseTo(durationSeconds, 1);
    expect([file?.['width'], file?.['height']]).toEqual([video.width, video.height]);
    expect(await probeMedia(await download(file?.['thumbnail_url']))).toMatchObject({ video: { codec: 'mjpeg' } });
  });
});
