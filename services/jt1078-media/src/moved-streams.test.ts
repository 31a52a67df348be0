import { type AccessUnit } from '@fleet/jt1078/testing';
import type { StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { MediaService } from './service.ts';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, signStreamUrl, startHarness, startService } from './testing/harness.ts';
import { decodeErrors, fetchStatus, Player } from './testing/player.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const address = { server: 'media.example.com', tcpPort: 7078, udpPort: 0 };
const timeoutMs = 60_000;

let harness: MediaHarness;
let next: MediaService;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  [harness, next] = await Promise.all([startHarness(), startService({})]);
});
afterAll(async () => {
  await Promise.all([harness?.stop(), next?.stop()]);
});

function connectCamera(port: number, id: StreamId, timestampMs = 1_000_000) {
  const camera = new TcpCamera(port);
  const testCamera = new TestCamera(id);
  testCamera.timestampMs = timestampMs;
  const feed = startStreaming(camera, testCamera, card);
  const close = (): void => {
    feed.stop();
    camera.close();
  };
  return { camera, close };
}

async function readPlaylist(url: string): Promise<string> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.text();
}

const readNumber = (playlist: string, tag: string): number =>
  Number(new RegExp(`#EXT-X-${tag}:(\\d+)`).exec(playlist)?.[1]);
const readFiles = (playlist: string): string[] => playlist.split('\n').filter((line) => line.startsWith('segment-'));

describe('the stop of a pod', () => {
  it('moves a watched stream: the camera is requested once, and FLV and HLS continue on another pod', async () => {
    const id = await harness.requestStream({ dataType: 1, streamType: 1, address });
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const first = connectCamera(harness.service.livePort, id);
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    const before = await readPlaylist(signStreamUrl(harness.service, id, {}, '/index.m3u8'));
    await waitFor(() => player.video.length > 30, 'pictures', timeoutMs);
    const stopping = harness.service.stop();

    await waitFor(() => player.ending === 'complete', 'the end of the response', timeoutMs);
    expect(player.response.trailers).toMatchObject({ 'x-stop-reason': 'moved' });
    const resumeAt = Number(player.response.trailers['x-stream-position']);
    expect(resumeAt).toBe((player.video.at(-1)?.timestampMs ?? 0) + 40);
    await waitFor(() => gateway.commands.length > 0, 'the command', timeoutMs);
    expect(gateway.commands[0]?.command).toEqual({
      kind: 'startLive',
      ...address,
      channel: 1,
      dataType: 1,
      streamType: 1,
    });
    await waitFor(() => first.camera.isClosed, 'the end of the connection', timeoutMs);
    first.close();

    // The clock of the camera may begin again.
    const second = connectCamera(next.livePort, id, 5_000);
    await waitFor(async () => (await fetchStatus(signStreamUrl(next, id))).status === 200, 'the stream', timeoutMs);
    const continued = await fetch(signStreamUrl(next, id, { audio: 'none', resume_at: String(resumeAt) }));
    const joined = new FlvJoin(player.flv);
    await joined.readUntil(continued, 40);
    expect(await decodeErrors(joined.flv)).toBe('');

    const after = await readPlaylist(signStreamUrl(next, id, {}, '/index.m3u8'));
    const lastBefore = readNumber(before, 'MEDIA-SEQUENCE');
    expect(readNumber(after, 'MEDIA-SEQUENCE')).toBeGreaterThan(lastBefore);
    expect(readNumber(after, 'MEDIA-SEQUENCE')).toBeLessThan(lastBefore + 60);
    expect(after).toMatch(/#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-\d+.mp4"/);
    expect(after).not.toContain('ENDLIST');
    await stopping;
    expect(gateway.commands).toHaveLength(1);
    second.close();
    await gateway.stop();
  });

  it('serves the last segments until players have read them', async () => {
    const own = await startHarness();
    const id = await own.requestStream({ address });
    const gateway = fakeGateway(own.bus, id.imei);
    await own.bus.nc.flush();
    const { close } = connectCamera(own.service.livePort, id);
    const playlistUrl = signStreamUrl(own.service, id, {}, '/index.m3u8');
    const [file = ''] = readFiles(await readPlaylist(playlistUrl));
    const stopping = own.service.stop();
    await waitFor(() => gateway.commands.length > 0, 'the command', timeoutMs);
    expect((await fetch(signStreamUrl(own.service, id, {}, `/${file}`))).status).toBe(200);
    // The playlist is that of the next pod.
    expect((await fetch(playlistUrl)).status).toBe(404);
    await stopping;
    close();
    await gateway.stop();
    await own.redis.del(`stream-request:live:{${id.imei}}:1`);
    own.redis.destroy();
    await own.bus.close();
  });

  it('does not accept the camera of a moved stream again', async () => {
    const own = await startHarness();
    const id = await own.requestStream({ address });
    // The connection of `own` ends with its service.
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const { close } = connectCamera(own.service.livePort, id);
    await waitFor(() => own.findStream(id), 'the stream', timeoutMs);
    await own.stop();
    await waitFor(() => gateway.commands.length > 0, 'the command', timeoutMs);
    expect(await harness.redis.exists(`stream-request:live:{${id.imei}}:1`)).toBe(1);
    close();
    await gateway.stop();
  });
});

/** The bytes of two responses, read as one FLV. */
class FlvJoin {
  flv: Buffer;

  constructor(flv: Buffer) {
    this.flv = flv;
  }

  /** Appends a response until it has this many kilobytes. */
  async readUntil(response: Response, kilobytes: number): Promise<void> {
    const limit = this.flv.length + kilobytes * 1024;
    const reader = response.body?.getReader();
    while (this.flv.length < limit) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || value === undefined) throw new Error('The response has ended.');
      this.flv = Buffer.concat([this.flv, value]);
    }
    await reader?.cancel();
  }
}
