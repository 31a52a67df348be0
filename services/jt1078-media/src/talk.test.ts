import { hasHisiliconHeader, PayloadType } from '@fleet/jt1078';
import { claimDevice, heartbeatGateway, type StreamId, saveTerminalAudio } from '@fleet/storage';
import { joinSamples, measureTone } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fakeGateway, type MediaHarness, signStreamUrl, startHarness } from './testing/harness.ts';
import { TalkingCamera, TestTalker } from './testing/talk.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const oneSecond = 8_000;
const countSamples = (parts: readonly Int16Array[]): number => parts.reduce((sum, { length }) => sum + length, 0);
const urlOf = (id: StreamId): string => signStreamUrl(harness.service, id, {}, '');

/** Requests talk; the terminal reports a codec, as after an earlier 0x1003. */
async function requestTalk(codec: number | null = PayloadType.G711A): Promise<StreamId> {
  const id = await harness.requestStream({ kind: 'talk', dataType: 2 });
  if (codec !== null) await saveTerminalAudio(harness.redis, id.imei, { codec, sampleRate: 8000, channels: 1 });
  return id;
}

describe('talk', () => {
  it.each([
    ['G.711 A-law', PayloadType.G711A, false],
    ['G.711 mu-law', PayloadType.G711U, false],
    ['G.726', PayloadType.G726, false],
    ['ADPCM', PayloadType.ADPCMA, true],
    ['G.711 A-law with a Hisilicon header', PayloadType.G711A, true],
  ])('carries voice both ways in %s', async (_name, codec, hasHeader) => {
    const id = await requestTalk(codec);
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec, hasHisiliconHeader: hasHeader });
    const talker = await TestTalker.open(urlOf(id));
    await waitFor(() => countSamples(talker.received) >= oneSecond && camera.decode().length >= oneSecond);
    expect(measureTone(joinSamples(talker.received))).toMatchObject({ frequencyHz: 600 });
    const received = measureTone(camera.decode());
    expect(received.frequencyHz).toBe(900);
    expect(received.share).toBeGreaterThan(0.9);
    expect(received.amplitude).toBeGreaterThan(6_500);
    expect(received.amplitude).toBeLessThan(9_500);
    expect(camera.received.every(({ payloadType }) => payloadType === codec)).toBe(true);
    expect(camera.received.every(({ body }) => hasHisiliconHeader(body) === hasHeader)).toBe(true);
    talker.close();
    await waitFor(() => camera.isClosed);
    camera.close();
  });

  it.each([12, 20] as const)('addresses the packets to the camera, with a SIM of %d digits', async (simDigits) => {
    const id = await requestTalk();
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec: PayloadType.G711A, simDigits });
    const talker = await TestTalker.open(urlOf(id));
    await waitFor(() => camera.received.length >= 10);
    expect(camera.received.slice(0, 10)).toMatchObject(
      Array.from({ length: 10 }, (_unused, sequence) => ({
        sequence,
        sim: id.imei.padStart(simDigits, '0'),
        channel: id.channel,
        dataType: 3,
        subpackage: 0,
      })),
    );
    const timestamps = camera.received.map(({ timestampLow }) => timestampLow);
    expect(timestamps).toEqual(timestamps.toSorted((a, b) => a - b));
    expect(new Set(timestamps).size).toBe(timestamps.length);
    talker.close();
    camera.close();
  });

  it('encodes G.711 A-law for a terminal that does not report its codec', async () => {
    const id = await requestTalk(null);
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec: PayloadType.G711U });
    const talker = await TestTalker.open(urlOf(id));
    await waitFor(() => camera.received.length > 0 && talker.received.length > 0);
    expect(camera.received[0]?.payloadType).toBe(PayloadType.G711A);
    talker.close();
    camera.close();
  });

  it('ends the talk of the camera when the talker leaves', async () => {
    const id = await requestTalk();
    const gateway = fakeGateway(harness.bus, id.imei);
    await heartbeatGateway(harness.redis, 'test-gateway');
    await claimDevice(harness.redis, id.imei, {
      sessionId: id.imei,
      podId: 'test-gateway',
      phone: id.imei,
      edition: '2019',
      onlineSinceMs: Date.now(),
      lastSeenMs: Date.now(),
      remoteAddress: '127.0.0.1',
    });
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec: PayloadType.G711A });
    const talker = await TestTalker.open(urlOf(id));
    talker.close();
    await waitFor(() => gateway.commands.length > 0 && camera.isClosed);
    expect(gateway.commands.map(({ command }) => command)).toEqual([
      { kind: 'controlLive', channel: 1, control: 4, closeType: 0, streamType: 0 },
    ]);
    expect(await harness.findStream(id)).toBeUndefined();
    camera.close();
    await gateway.stop();
  });

  it('closes the websocket when the camera ends the talk', async () => {
    const id = await requestTalk();
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec: PayloadType.G711A });
    const talker = await TestTalker.open(urlOf(id));
    camera.close();
    await waitFor(() => talker.closeCode !== null);
    expect(talker.closeCode).toBe(4404);
  });

  it('rejects a second talker, a forged URL, and a camera whose codec it cannot encode', async () => {
    const id = await requestTalk();
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec: PayloadType.G711A });
    const talker = await TestTalker.open(urlOf(id));
    await expect(TestTalker.open(urlOf(id))).rejects.toThrow('status 409');
    await expect(TestTalker.open(urlOf(id).replace(/.$/, 'x'))).rejects.toThrow('status 403');
    talker.close();
    camera.close();
    const other = await requestTalk(PayloadType.AAC);
    const otherCamera = new TalkingCamera(other, harness.service.talkPort, { codec: PayloadType.G711A });
    await expect(TestTalker.open(urlOf(other))).rejects.toThrow('status 502');
    otherCamera.close();
  });

  it('drops voice that a client sends faster than it is spoken', async () => {
    const id = await requestTalk();
    const camera = new TalkingCamera(id, harness.service.talkPort, { codec: PayloadType.G711A });
    const talker = await TestTalker.open(urlOf(id));
    for (let second = 0; second < 10; second += 1) talker.websocket.send(Buffer.alloc(2 * oneSecond));
    await waitFor(() => countSamples(talker.received) >= oneSecond);
    expect(camera.decode().length).toBeLessThan(5 * oneSecond);
    talker.websocket.send(Buffer.alloc(3));
    await waitFor(() => talker.closeCode !== null);
    expect(talker.closeCode).toBe(1007);
    camera.close();
  });
});
