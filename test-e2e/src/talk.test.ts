import { PayloadType } from '@fleet/jt1078';
import { type AudioCodec, joinSamples, measureTone, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { getJson, joinSharedHarness, type ProductHarness } from './testing/harness.ts';
import { Talker } from './testing/talker.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;
beforeAll(async () => {
  harness = await joinSharedHarness();
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

const oneSecond = 8_000;
const talkUrl = (terminal: SimulatedTerminal, channel = 1): string =>
  `${harness.product.runtime.video_url.replace(/^http/, 'ws')}/${terminal.phone}/${channel}/talk`;
const findTalk = (terminal: SimulatedTerminal) => terminal.cameras.records.findLast(({ kind }) => kind === 'talk');
const decodeReceived = (terminal: SimulatedTerminal): Int16Array =>
  joinSamples(findTalk(terminal)?.receivedFrames.map(({ pcm }) => pcm) ?? []);

async function openDashcam() {
  const dashcams = await Dashcams.open(harness);
  return { ...(await dashcams.create()), client: dashcams.client };
}

describe('talk with a driver', () => {
  it.each<[AudioCodec, number, boolean]>([
    ['g711a', PayloadType.G711A, false],
    ['g711u', PayloadType.G711U, false],
    ['g726', PayloadType.G726, false],
    ['adpcm', PayloadType.ADPCMA, true],
    ['g711a', PayloadType.G711A, true],
  ])('carries voice both ways in %s (payload type %d, Hisilicon header %s)', async (audio, payloadType, hasHeader) => {
    const terminal = await harness.startTerminal({
      camera: { video: 'h264', audio },
      voice: { toneHz: 600, hisiliconHeader: hasHeader },
    });
    const talker = await Talker.open(talkUrl(terminal));
    await waitFor(
      () => talker.samples.length >= oneSecond && decodeReceived(terminal).length >= oneSecond,
      'a second of voice',
    );
    for (const [samples, frequencyHz] of [
      [talker.samples, 600],
      [decodeReceived(terminal), 900],
    ] as const) {
      const tone = measureTone(samples);
      expect(tone).toMatchObject({ frequencyHz });
      expect(tone.share).toBeGreaterThan(0.8);
      expect(tone.amplitude).toBeGreaterThan(6_000);
      expect(tone.amplitude).toBeLessThan(10_000);
    }
    expect(findTalk(terminal)?.receivedFrames.slice(-5)).toMatchObject(
      Array.from({ length: 5 }, () => ({ payloadType, channel: 1, hasHisiliconHeader: hasHeader })),
    );
    talker.close();
    await waitFor(() => findTalk(terminal)?.state === 'ended', 'the end of the talk');
    expect(findTalk(terminal)?.endReason).toBe('stopped');
  });

  it('opens with the talk_url of a start, beside live video of the same channel', async () => {
    const terminal = await harness.startTerminal();
    const { status, body } = await getJson(`${harness.product.runtime.video_url}/${terminal.phone}/start`, {
      method: 'POST',
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { talk_url: expect.stringContaining('/1/talk?token=') },
    });
    const talker = await Talker.open((body as { talk_url: string }).talk_url);
    await waitFor(() => decodeReceived(terminal).length > 0 && talker.received.length > 0, 'voice');
    const findLive = () => terminal.cameras.records.find(({ kind }) => kind === 'live');
    await waitFor(() => findLive()?.state === 'streaming', 'the live stream');
    talker.close();
    await waitFor(() => findTalk(terminal)?.state === 'ended', 'the end of the talk');
    expect(findLive()?.state).toBe('streaming');
  });

  it('opens with the talk_url of the Platform API, and is in the audit log', async () => {
    const { client, terminal, vehicleId } = await openDashcam();
    const stream = await client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    const talker = await Talker.open(String(stream['talk_url']));
    await waitFor(() => decodeReceived(terminal).length > 0 && talker.received.length > 0, 'voice');
    talker.close();
    const findEntry = async (wanted: string) =>
      (await client.listAll('/audit-log')).find(
        ({ action, target }) => action === wanted && (target as { id: unknown }).id === vehicleId,
      );
    expect(await waitFor(() => findEntry('video.talk'), 'the audit entry')).toMatchObject({
      target: { type: 'vehicles', id: vehicleId },
      detail: { operation: 'talk', channel_id: 1 },
    });
    expect(await waitFor(() => findEntry('video.talk_end'), 'the end in the audit log')).toMatchObject({
      target: { type: 'vehicles', id: vehicleId },
      detail: { operation: 'talk', channel_id: 1, seconds: expect.any(Number) },
    });
  });
});
