import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { accessChanged, publish } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { FakePlatform } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';
import { readUntilClosed } from '../testing/read-until-closed.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let platform: FakePlatform;
let pod: FakeMediaPod;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
let headers: Record<string, string>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  pod = await startFakeMediaPod(respondWithStream());
  service = await harness.startService({ DEVICE_API_AUTH: 'key' });
  headers = { 'x-api-key': platform.newKey() };
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await harness.close();
});

/** Connects a device with a silent camera on channel 1 and a disabled one on channel 2. */
async function device(): Promise<string> {
  const imei = await harness.connectDevice(() => createOutcome(0x9101));
  platform.cameras.set(imei, [
    { channelId: 1, enabled: true, hasAudio: false },
    { channelId: 2, enabled: false, hasAudio: true },
  ]);
  return imei;
}
const post = (path: string, body: object) =>
  service.video.get(path, { method: 'POST', headers, body: JSON.stringify(body) });

/** Returns the status of a refused websocket. */
async function readRefusal(path: string): Promise<number | undefined> {
  const websocket = new WebSocket(service.video.base.replace(/^http/, 'ws') + path, { headers });
  websocket.on('error', () => undefined);
  const [request, response] = (await once(websocket, 'unexpected-response')) as [{ destroy(): void }, IncomingMessage];
  request.destroy();
  return response.statusCode;
}

const disabled = { status: 404, body: { status: 404, error: 'Camera 2 is disabled.' } };

describe('a disabled camera', () => {
  it('plays neither live nor recorded video', async () => {
    const imei = await device();
    expect(await post(`/${imei}/start`, { channel: 2 })).toMatchObject(disabled);
    const span = { start_time: '2026-08-01T10:00:00Z', end_time: '2026-08-01T11:00:00Z' };
    const recording = { channel: 2, ...span, resource_type: 0, stream_type: 1, memory_type: 1 };
    expect(await post(`/${imei}/history/start`, recording)).toMatchObject(disabled);
    expect(harness.findCommands(imei)).toEqual([]);
    await harness.connectStream(imei, 2, pod.url);
    for (const query of ['', '?kind=history'])
      expect(await service.video.get(`/${imei}/2/stream.flv${query}`, { headers })).toMatchObject(disabled);
    expect(await service.video.get(`/${imei}/2/index.m3u8`, { headers })).toMatchObject(disabled);
    expect(await readRefusal(`/${imei}/2/stream.flv`)).toBe(404);
  });

  it('uploads no clips', async () => {
    const imei = await device();
    const clip = { channel: 2, start_time: '2026-08-01T10:00:00Z', end_time: '2026-08-01T10:05:00Z' };
    expect(await post(`/${imei}/upload`, clip)).toMatchObject(disabled);
    const query = new URLSearchParams({ imei, ...clip, channel: '2' });
    expect(await service.get(`/videos/upload?${query}`, { headers })).toMatchObject(disabled);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('opens neither talk nor listening', async () => {
    const imei = await device();
    for (const dataType of [2, 3])
      expect(await post(`/${imei}/start`, { channel: 2, data_type: dataType })).toMatchObject(disabled);
    expect(await readRefusal(`/${imei}/2/talk`)).toBe(404);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('is started by no path of the Device API, and can be stopped', async () => {
    const imei = await device();
    const device2 = `imei=${imei}&channel=2`;
    expect(await service.get(`/realtime/start-stream?${device2}`, { headers })).toMatchObject(disabled);
    const span =
      'start_time=2026-08-01T02:00:00Z&end_time=2026-08-01T03:00:00Z&resource_type=0&stream_type=1&memory_type=1';
    expect(await service.get(`/history/start-stream?${device2}&${span}`, { headers })).toMatchObject({ status: 404 });
    expect(harness.findCommands(imei)).toEqual([]);
    const stop = await service.get(`/realtime/control-stream?${device2}&ctrl_instruction=0`, { headers });
    expect(stop.status).toBe(200);
  });

  it('ends the streams that are being watched', async () => {
    const imei = await device();
    await harness.connectStream(imei, 1, pod.url);
    const reader = await readUntilClosed(await fetch(`${service.video.base}/${imei}/1/stream.flv`, { headers }));
    platform.cameras.set(imei, [{ channelId: 1, enabled: false, hasAudio: true }]);
    publish(harness.bus, accessChanged, {});
    await waitFor(() => reader.isClosed());
    expect((await service.video.get(`/${imei}/1/stream.flv`, { headers })).status).toBe(404);
    await reader.end();
  });
});

describe('the data type of a start', () => {
  it.each([
    ['video only for a camera without a microphone', 1, {}, 1],
    ['audio and video for a camera that the vehicle does not list', 3, {}, 0],
    ['what the caller requests otherwise', 1, { data_type: 3 }, 3],
  ])('is %s', async (_name, channel, more, dataType) => {
    const imei = await device();
    expect((await post(`/${imei}/start`, { channel, ...more })).status).toBe(200);
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({ kind: 'startLive', channel, dataType });
  });

  it.each([
    ['video only for a camera without a microphone', 1, 1],
    ['audio and video for a camera that the vehicle does not list', 3, 0],
  ])('of the Device API is %s', async (_name, channel, dataType) => {
    const imei = await device();
    const start = await service.get(`/realtime/start-stream?imei=${imei}&channel=${channel}`, { headers });
    expect(start.status).toBe(200);
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({ kind: 'startLive', channel, dataType });
  });
});
