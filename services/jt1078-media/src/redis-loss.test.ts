import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccessUnit } from '@fleet/jt1078';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { freePort } from '../../../libs/service-kit/src/testing/server-process.ts';
import { CameraVoice, stream, TcpCamera, testCard } from './testing/camera.ts';
import { requiredEnv, startWorld, type World, waitFor } from './testing/harness.ts';
import { Player, statusOf } from './testing/player.ts';

jest.setTimeout(60_000);

/** A Redis server that keeps what it has acknowledged, unless its folder is emptied. */
class OwnRedis {
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'media-redis-'));
  #process: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  start(): void {
    const keeping = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always', '--dir', this.#folder];
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', ...keeping];
    this.#process = spawn(requiredEnv('REDIS_SERVER_BIN'), args, { stdio: 'ignore' });
  }

  async kill(): Promise<void> {
    const process = this.#process;
    if (process === undefined || process.exitCode !== null) return;
    process.kill('SIGKILL');
    await once(process, 'exit');
  }

  removeData(): void {
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder);
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

let server: OwnRedis;
let world: World;
let card: AccessUnit[];
beforeAll(async () => {
  card = await testCard();
  server = new OwnRedis(await freePort());
  server.start();
  world = await startWorld({ REDIS_URL: `redis://127.0.0.1:${server.port}` });
});
afterAll(async () => {
  await world.stop();
  await server.remove();
});

describe('Redis, killed and emptied', () => {
  it('does not end a stream; its claim is put back, and reconnects work meanwhile', async () => {
    const id = await world.ask({ dataType: 1 });
    const voice = new CameraVoice(id);
    const first = new TcpCamera(world.service.livePort);
    const before = stream(first, voice, card);
    const player = await Player.open(world.url(id));
    await waitFor('pictures', () => player.video.length > 10);
    const readyz = `http://127.0.0.1:${world.service.httpPort}/readyz`;
    expect((await fetch(readyz)).status).toBe(200);
    await server.kill();
    const seen = player.video.length;
    await waitFor('pictures without Redis', () => player.video.length > seen + 25);
    // Another viewer, and the camera's reconnect, need no Redis either.
    const late = await Player.open(world.url(id));
    await waitFor('its pictures', () => late.video.length > 5);
    before.stop();
    first.socket.destroy();
    const second = new TcpCamera(world.service.livePort);
    const after = stream(second, voice, card);
    const shown = player.video.length;
    await waitFor('pictures of the new connection', () => player.video.length > shown + 25);
    expect(await (await fetch(readyz)).json()).toMatchObject({
      ready: true,
      checks: { message_broker: true, state_store: false },
    });

    server.removeData();
    server.start();
    await waitFor(
      'the claim to be back',
      async () => world.redis.isReady && (await world.redis.exists(`stream:live:${id.imei}:1`)) === 1,
      20_000,
    );
    const claim = JSON.parse((await world.redis.get(`stream:live:${id.imei}:1`)) ?? '{}') as { podId: string };
    expect(claim.podId).toBe(world.podId);
    expect(player.ending).toBeNull();
    after.stop();
    second.close();
    for (const each of [player, late]) each.close();
  });

  it('away, a camera that lands is let in once Redis says that it was asked for', async () => {
    const id = await world.ask({ dataType: 1 });
    await server.kill();
    expect(await statusOf(world.url(id))).toMatchObject({ status: 502 });
    const camera = new TcpCamera(world.service.livePort);
    const feed = stream(camera, new CameraVoice(id), card);
    await waitFor('the camera to be connected', () => camera.socket.readyState === 'open');
    server.start();
    await waitFor('the stream', () => world.find(id), 20_000);
    const player = await Player.open(world.url(id));
    await waitFor('pictures', () => player.video.length > 25);
    expect(camera.isClosed).toBe(false);
    feed.stop();
    camera.close();
    player.close();
  });
});
