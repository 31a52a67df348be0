import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccessUnit } from '@fleet/jt1078/testing';
import { freePort, testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { type MediaHarness, startHarness } from './testing/harness.ts';
import { fetchStatus, Player } from './testing/player.ts';

jest.setTimeout(60_000);

/** Redis server that persists every acknowledged write, unless its folder is emptied. */
class TestRedis {
  readonly port: number;
  readonly #directory = mkdtempSync(join(tmpdir(), 'media-redis-'));
  #process: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  start(): void {
    const persistenceArgs = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always', '--dir', this.#directory];
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', ...persistenceArgs];
    this.#process = spawn(testEnv('REDIS_SERVER_BIN'), args, { stdio: 'ignore' });
  }

  async kill(): Promise<void> {
    const process = this.#process;
    if (process === undefined || process.exitCode !== null) return;
    process.kill('SIGKILL');
    await once(process, 'exit');
  }

  removeData(): void {
    rmSync(this.#directory, { recursive: true, force: true });
    mkdirSync(this.#directory);
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

let server: TestRedis;
let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  server = new TestRedis(await freePort());
  server.start();
  harness = await startHarness({ REDIS_URL: `redis://127.0.0.1:${server.port}` });
});
afterAll(async () => {
  await harness.stop();
  await server.remove();
});

describe('Redis outage', () => {
  it('does not end a stream: reconnects work, and the claim is restored after Redis was emptied', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const testCamera = new TestCamera(id);
    const first = new TcpCamera(harness.service.livePort);
    const before = startStreaming(first, testCamera, card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length > 10, 'pictures');
    const readyz = `http://127.0.0.1:${harness.service.adminPort}/readyz`;
    expect((await fetch(readyz)).status).toBe(200);
    await server.kill();
    const videoCountBefore = player.video.length;
    await waitFor(() => player.video.length > videoCountBefore + 25, 'pictures without Redis');
    // Neither another viewer nor the camera's reconnect needs Redis.
    const late = await Player.open(harness.streamUrl(id));
    await waitFor(() => late.video.length > 5, 'its pictures');
    before.stop();
    first.socket.destroy();
    const second = new TcpCamera(harness.service.livePort);
    const after = startStreaming(second, testCamera, card);
    const videoCountAfter = player.video.length;
    await waitFor(() => player.video.length > videoCountAfter + 25, 'pictures of the new connection');
    expect(await (await fetch(readyz)).json()).toMatchObject({
      ready: true,
      checks: { message_broker: true, state_store: false },
    });

    server.removeData();
    server.start();
    await waitFor(
      async () => harness.redis.isReady && (await harness.redis.exists(`stream:live:{${id.imei}}:1`)) === 1,
      'the claim to be restored',
    );
    const claim = JSON.parse((await harness.redis.get(`stream:live:{${id.imei}}:1`)) ?? '{}') as { podId: string };
    expect(claim.podId).toBe(harness.podId);
    expect(player.ending).toBeNull();
    after.stop();
    second.close();
    for (const each of [player, late]) each.close();
  });

  it('delays the admission of a requested camera until Redis is back', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    await server.kill();
    expect(await fetchStatus(harness.streamUrl(id))).toMatchObject({ status: 502 });
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    await waitFor(() => camera.socket.readyState === 'open', 'the camera to connect');
    server.start();
    await waitFor(() => harness.findStream(id), 'the stream');
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length > 25, 'pictures');
    expect(camera.isClosed).toBe(false);
    feed.stop();
    camera.close();
    player.close();
  });
});

describe('a slow Redis', () => {
  it('loses no frame of a recording that arrives before its claim', async () => {
    const heavy = await createTestCard({ seconds: 8, size: '640x360', kbps: 12_000 });
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const playing = Player.open(harness.streamUrl(id));
    await harness.redis.sendCommand(['CLIENT', 'PAUSE', '2000', 'ALL']);
    const camera = new TcpCamera(harness.service.historyPort);
    const testCamera = new TestCamera(id);
    for (const unit of heavy) {
      await camera.send(...testCamera.createVideoPackets(unit));
      testCamera.timestampMs += 40;
    }
    camera.close();
    const player = await playing;
    await waitFor(() => player.ending === 'complete', 'the end of the response', 30_000);
    expect(player.video).toHaveLength(heavy.length);
  });
});
