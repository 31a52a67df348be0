import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PayloadType } from '@fleet/jt1078';
import { type AccessUnit } from '@fleet/jt1078/testing';
import { saveTerminalAudio, saveTerminalModel } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createRawAac, createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, randomImei, requestStream, startHarness } from './testing/harness.ts';
import { countFfmpegChildren, decodeErrors, Player, probeStreams } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  harness = await startHarness();
});
afterAll(() => harness.stop());

async function talking(on: MediaHarness = harness) {
  const id = await on.requestStream();
  const camera = new TcpCamera(on.service.livePort);
  const feed = startStreaming(camera, new TestCamera(id), card, { sound: true });
  const close = (): void => {
    feed.stop();
    camera.close();
  };
  return { id, camera, close };
}

describe('G.711A audio', () => {
  it('is transcoded to AAC by one process, only while a viewer listens', async () => {
    const { id, close } = await talking();
    await waitFor(async () => (await harness.findStream(id))?.videoFrames, 'the camera');
    const silent = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    const copied = await Player.open(harness.streamUrl(id, { audio: 'copy' }));
    await waitFor(() => silent.video.length > 10 && copied.audio.length > 10, 'pictures');
    // Processes of the previous test file may take some time to exit.
    await waitFor(async () => (await countFfmpegChildren()) === 0, 'all processes to exit');

    const first = await Player.open(harness.streamUrl(id));
    await waitFor(() => first.audio.length > 10, 'audio');
    const second = await Player.open(harness.streamUrl(id));
    await waitFor(() => second.audio.length > 10, 'audio of the second viewer');
    await waitFor(async () => (await countFfmpegChildren()) === 1, 'one process');
    const streams = await probeStreams(first.flv);
    expect(streams.map((each) => each.codec_name).toSorted()).toEqual(['aac', 'h264']);
    expect(await decodeErrors(first.flv)).toBe('');
    expect(first.header).toEqual({ video: true, audio: true });

    for (const player of [first, second]) {
      const lastOf = (tags: readonly { timestampMs: number }[]): number => tags.at(-1)?.timestampMs ?? 0;
      // ffmpeg may be late on a busy machine, but misplaced audio would stay misplaced.
      await waitFor(() => Math.abs(lastOf(player.video) - lastOf(player.audio)) < 1_500, 'audio and video to align');
      const times = player.audio.map((tag) => tag.timestampMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      player.close();
    }
    await waitFor(async () => (await countFfmpegChildren()) === 0, 'the process to exit');
    for (const player of [silent, copied]) player.close();
    close();
  });

  it('is declared with its format before the first picture, which browsers require', async () => {
    const { id, close } = await talking();
    await waitFor(async () => (await harness.findStream(id))?.videoFrames, 'the camera');
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.audio.length > 2, 'audio');
    // Metadata, then both sequence headers, the audio's for AAC-LC with 16 kHz and one channel; then a key frame.
    const begin = player.tags.slice(0, 4);
    expect(begin.map(({ type }) => type)).toEqual([18, 9, 8, 9]);
    expect(begin[1]?.body[1]).toBe(0);
    expect(begin[2]?.body.toString('hex')).toBe('af001408');
    expect(begin[3]?.body.subarray(0, 2).toString('hex')).toBe('1701');
    // Frames follow, without a second header.
    expect(player.audio.map(({ body }) => body[1]).slice(0, 3)).toEqual([0, 1, 1]);
    player.close();
    close();
  });

  it('is copied with audio=copy and omitted with audio=none', async () => {
    const { id, close } = await talking();
    const copied = await Player.open(harness.streamUrl(id, { audio: 'copy' }));
    const silent = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    await waitFor(() => copied.audio.length > 10 && silent.video.length > 10, 'tags');
    expect(copied.audio[0]?.body[0]).toBe(0x72);
    expect((await probeStreams(copied.flv)).map((each) => each.codec_name).toSorted()).toEqual(['h264', 'pcm_alaw']);
    expect(silent.header).toEqual({ video: true, audio: false });
    expect(silent.audio).toEqual([]);
    for (const player of [copied, silent]) player.close();
    close();
  });

  it('continues after its transcoder was killed', async () => {
    const { id, close } = await talking();
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.audio.length > 5, 'audio');
    const pid = execFileSync('ps', ['--ppid', String(process.pid), '-o', 'pid=,comm='], { encoding: 'utf8' })
      .split('\n')
      .find((line) => line.trim().endsWith('ffmpeg'));
    process.kill(Number.parseInt(pid ?? '', 10), 'SIGKILL');
    const audioCount = player.audio.length;
    const videoCountBefore = player.video.length;
    await waitFor(() => player.audio.length > audioCount + 20, 'audio after the restart');
    expect(player.video.length).toBeGreaterThan(videoCountBefore + 20);
    const times = player.audio.map((tag) => tag.timestampMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    player.close();
    close();
  });

  it('is omitted and not declared in the FLV header without ffmpeg', async () => {
    const path = '/nowhere/ffmpeg';
    expect(existsSync(path)).toBe(false);
    const without = await startHarness({ MEDIA_MAX_TRANSCODERS: '0' });
    const { id, close } = await talking(without);
    const player = await Player.open(without.streamUrl(id));
    await waitFor(() => player.video.length > 20, 'pictures');
    expect(player.header).toEqual({ video: true, audio: false });
    expect(player.audio).toEqual([]);
    player.close();
    close();
    await without.stop();
  });
});

describe('AAC without ADTS', () => {
  const audio = { codec: PayloadType.AAC, sampleRate: 44_100, channels: 2 };
  let frames: Buffer[];
  beforeAll(async () => {
    frames = await createRawAac(audio.sampleRate, audio.channels);
  });

  /** Streams a channel of a terminal with AAC audio and plays it until audio arrives. */
  async function watch(imei: string, channel: number, on: MediaHarness = harness): Promise<Player> {
    const id = { kind: 'live', imei, channel } as const;
    await requestStream(on.redis, id);
    const camera = new TcpCamera(on.service.livePort);
    const testCamera = new TestCamera(id);
    const feed = startStreaming(camera, testCamera, card);
    let sent = 0;
    const sound = setInterval(() => {
      const frame = frames[sent % frames.length];
      if (frame !== undefined) camera.socket.write(testCamera.createAudioPacket(frame, PayloadType.AAC));
      sent += 1;
    }, 23);
    const player = await Player.open(on.streamUrl(id));
    await waitFor(() => player.audio.length > 30, 'audio');
    clearInterval(sound);
    feed.stop();
    camera.close();
    player.close();
    return player;
  }

  const probeSound = async ({ flv }: Player) =>
    (await probeStreams(flv)).find(({ codec_type: type }) => type === 'audio');
  const stereo = { codec_name: 'aac', sample_rate: '44100', channels: 2 };

  it('uses the rate and channels reported by the terminal, which is queried once', async () => {
    const imei = randomImei();
    const gateway = fakeGateway(harness.bus, imei, async ({ command }) => {
      if (command.kind === 'queryAvAttributes') await saveTerminalAudio(harness.redis, imei, audio);
    });
    for (const channel of [1, 2]) {
      const player = await watch(imei, channel);
      expect(await probeSound(player)).toMatchObject(stereo);
      expect(await decodeErrors(player.flv)).toBe('');
    }
    const queries = gateway.commands.filter(({ command }) => command.kind === 'queryAvAttributes');
    expect(queries).toHaveLength(1);
    await gateway.stop();
  });

  it('uses the configured format of the model instead of the one reported by the terminal', async () => {
    const configured = await startHarness({ MEDIA_AAC_FORMATS: 'OTHER=8000/1,CAM-44=44100/2' });
    const imei = randomImei();
    await saveTerminalModel(configured.redis, imei, 'CAM-44');
    await saveTerminalAudio(configured.redis, imei, { codec: PayloadType.AAC, sampleRate: 8_000, channels: 1 });
    const player = await watch(imei, 1, configured);
    expect(await probeSound(player)).toMatchObject(stereo);
    expect(await decodeErrors(player.flv)).toBe('');
    await configured.stop();
  });

  it('queries the terminal with its next stream if it was not connected', async () => {
    const imei = randomImei();
    const before = await watch(imei, 1);
    expect(before.audio[0]?.body.toString('hex')).toBe('af001588');
    const gateway = fakeGateway(harness.bus, imei, async ({ command }) => {
      if (command.kind === 'queryAvAttributes') await saveTerminalAudio(harness.redis, imei, audio);
    });
    expect(await probeSound(await watch(imei, 2))).toMatchObject(stereo);
    await gateway.stop();
  });

  it('falls back to 8 kHz mono when the terminal does not respond, and does not query it again', async () => {
    const imei = randomImei();
    const gateway = fakeGateway(harness.bus, imei);
    for (const channel of [1, 2]) {
      const player = await watch(imei, channel);
      expect(player.audio[0]?.body.toString('hex')).toBe('af001588');
    }
    expect(gateway.commands.filter(({ command }) => command.kind === 'queryAvAttributes')).toHaveLength(1);
    await gateway.stop();
  });
});

describe('audio of an unknown codec', () => {
  it('is omitted without affecting the video', async () => {
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    const feed = startStreaming(camera, testCamera, card);
    const noise = setInterval(
      () => camera.socket.write(testCamera.createAudioPacket(Buffer.alloc(80, 7), PayloadType.WMA9STD)),
      50,
    );
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length > 30, 'pictures');
    expect(player.header).toEqual({ video: true, audio: false });
    clearInterval(noise);
    feed.stop();
    camera.close();
    player.close();
  });
});
