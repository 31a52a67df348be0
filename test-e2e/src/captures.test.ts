import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { joinSharedHarness, type ProductHarness, type TerminalSetup, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { probeMedia } from './testing/probe-media.ts';

jest.setTimeout(180_000);

let harness: ProductHarness;
let client: PlatformClient;
beforeAll(async () => {
  harness = await joinSharedHarness();
  client = await PlatformClient.logIn(harness);
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

async function createDashcam(setup: TerminalSetup = {}) {
  const imei = uniquePhone(setup.edition === '2019' ? 20 : 12);
  const { id } = await client.requestData('/vehicles', { vehicle_no: `C ${imei.slice(-6)}`, imei });
  return { vehicleId: Number(id), imei, terminal: await harness.startTerminal({ phone: imei, ...setup }) };
}

/** Requests a capture over the Platform API. */
const capture = (vehicleId: number, query = 'wait=60'): Promise<PlatformRecord> =>
  client.requestData(`/vehicles/${vehicleId}/dashcam-media-capture?${query}`, {});

/** Requests a capture over the video service. */
async function captureByVideoService(imei: string, body: object = {}) {
  const response = await fetch(`${harness.product.runtime.video_url}/${imei}/media-capture`, {
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
    const { vehicleId } = await createDashcam({ edition });
    const captured = await capture(vehicleId);
    expect(captured).toMatchObject({ vehicle_id: vehicleId, status: 'completed', method: 'terminal', error: null });
    const [file, ...others] = filesOf(captured);
    expect(others).toEqual([]);
    expect(file).toMatchObject({ capture_id: captured['capture_id'], kind: 'image', source: 'capture', channel_id: 1 });
    expect(await probeMedia(await download(file?.['url']))).toMatchObject({ video: { codec: 'mjpeg' } });
    expect(await client.requestData(`/dashcam-captures/${String(captured['capture_id'])}`)).toMatchObject({
      capture_id: captured['capture_id'],
      status: 'completed',
    });
  });

  it('is captured over the video service by the same implementation', async () => {
    const { vehicleId, imei } = await createDashcam();
    const { status, body } = await captureByVideoService(imei, { channel: 2, count: 2 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ vehicle_id: vehicleId, channel_id: 2, status: 'completed', method: 'terminal' });
    expect(filesOf(body)).toHaveLength(2);
    for (const file of filesOf(body)) expect((await download(file['url'])).length).toBe(file['size_bytes']);
  });
});

describe('a terminal that cannot take pictures', () => {
  it.each([
    ['refuses', { kind: 'refusing', result: 3 }],
    ['does not respond', { kind: 'silent' }],
  ] as const)('has a frame of live video captured if it %s', async (_name, behaviour) => {
    const { vehicleId, terminal } = await createDashcam();
    terminal.setBehaviour(behaviour, 0x8801);
    const captured = await capture(vehicleId, 'quality=low&wait=60');
    expect(captured).toMatchObject({ status: 'completed', method: 'stream' });
    const { video } = await probeMedia(await download(filesOf(captured)[0]?.['url']));
    expect(video).toMatchObject({ codec: 'mjpeg' });
    expect(video.width).toBeLessThanOrEqual(320);
    expect(video.height).toBeLessThanOrEqual(240);
  });
});

describe('a clip', () => {
  it.each(['h264', 'h265'] as const)('is recorded from %s live video with sound', async (codec) => {
    const { imei } = await createDashcam({ video: { codec }, camera: { video: codec, audio: 'g711a' } });
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
  });
});
