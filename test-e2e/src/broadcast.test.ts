import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getFfmpegPath, joinSamples, measureTone, runFfmpeg, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;
let dashcams: Dashcams;
let speechProvider: Server;
/** Texts that the provider has rendered. */
const renderedTexts: unknown[] = [];
beforeAll(async () => {
  const speech = await createAudioFile(['-f', 'wav']);
  speechProvider = createServer((request, response) => {
    void text(request).then((body) => {
      renderedTexts.push(JSON.parse(body));
      response.end(speech);
    });
  });
  await new Promise<void>((resolve) => speechProvider.listen(0, '127.0.0.1', resolve));
  const { port } = speechProvider.address() as AddressInfo;
  harness = await startHarness({ TTS_URL: `http://127.0.0.1:${port}/speak` });
  dashcams = await Dashcams.open(harness);
}, 180_000);
afterAll(async () => {
  await harness?.stop();
  speechProvider?.close();
}, 60_000);

const createAudioFile = (codec: readonly string[], seconds = 2): Promise<Buffer> =>
  runFfmpeg(getFfmpegPath(), ['-f', 'lavfi', '-i', `sine=frequency=700:duration=${seconds}`, ...codec, '-']);
const broadcast = (vehicleIds: number[], file: Buffer) =>
  dashcams.client.requestData('/dashcam-broadcasts', {
    vehicle_ids: vehicleIds,
    content_base64: file.toString('base64'),
  });
const findTalk = (terminal: SimulatedTerminal) => terminal.cameras.records.findLast(({ kind }) => kind === 'talk');

describe('a broadcast', () => {
  it('plays an audio file to the drivers of several vehicles, and names the ones that are offline', async () => {
    const [first, second, offline] = [await dashcams.create(), await dashcams.create(), await dashcams.create()];
    await offline.terminal.stop();
    const ids = [first, second, offline].map(({ vehicleId }) => vehicleId);
    const result = await broadcast(ids, await createAudioFile(['-c:a', 'libmp3lame', '-f', 'mp3']));
    expect(result['vehicles']).toMatchObject([
      { vehicle_id: first.vehicleId, is_played: true, error: null },
      { vehicle_id: second.vehicleId, is_played: true, error: null },
      { vehicle_id: offline.vehicleId, is_played: false, error: { code: 'device_not_connected' } },
    ]);
    for (const { terminal } of [first, second]) {
      const record = findTalk(terminal);
      const pcm = joinSamples(record?.receivedFrames.map((frame) => frame.pcm) ?? []);
      expect(pcm.length / 8_000).toBeGreaterThan(1.9);
      // The end is silence that completes the last frame.
      expect(measureTone(pcm.subarray(0, 12_000)).frequencyHz).toBe(700);
      await waitFor(() => record?.endReason === 'stopped', "the end of the camera's talk");
    }
  });

  it('plays a text in the voice of the provider', async () => {
    const { vehicleId, terminal } = await dashcams.create();
    const result = await dashcams.client.requestData('/dashcam-broadcasts', {
      vehicle_ids: [vehicleId],
      text: 'Return to the depot',
    });
    expect(result['vehicles']).toMatchObject([{ vehicle_id: vehicleId, is_played: true, error: null }]);
    expect(renderedTexts).toMatchObject([{ text: 'Return to the depot' }]);
    const pcm = joinSamples(findTalk(terminal)?.receivedFrames.map((frame) => frame.pcm) ?? []);
    expect(pcm.length / 8_000).toBeGreaterThan(1.9);
    expect(measureTone(pcm.subarray(0, 12_000)).frequencyHz).toBe(700);
  });

  it.each([
    ['a playlist that names another file', Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n')],
    ['a file without sound', Buffer.from('no audio')],
  ])('is 400 for %s', async (_name, file) => {
    const { vehicleId } = await dashcams.create();
    await expect(broadcast([vehicleId], file)).rejects.toThrow(/: 400 .*cannot be read/);
  });

  it('is 400 for a file that is longer than a minute', async () => {
    const { vehicleId } = await dashcams.create();
    const file = await createAudioFile(['-ar', '8000', '-f', 'wav'], 62);
    await expect(broadcast([vehicleId], file)).rejects.toThrow(/: 400 .*longer than 60 seconds/);
  });
});
