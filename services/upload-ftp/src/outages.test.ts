import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ServerProcess, until } from '../../../libs/service-kit/src/testing/server-process.ts';
import { clipBytes, sha256, World } from './testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const clip = clipBytes(500_000, 9);

describe('while a backend is away', () => {
  let mongo: ServerProcess;
  let world: World;
  beforeAll(async () => {
    mongo = await (await ServerProcess.mongo()).start();
    world = await World.start({}, {}, mongo);
  });
  afterAll(async () => {
    await world.stop();
    await mongo.remove();
  });
  afterEach(() => until(() => world.openFiles().length === 0));

  it('a transfer goes on without the database, ends whole, and its record follows', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    data.write(clip.subarray(0, 100_000));
    await world.shows(upload.id, ({ filesize }) => filesize === 100_000);
    await mongo.kill();
    data.write(clip.subarray(100_000, 300_000));
    await until(() => world.read(upload, 'a.mp4').length === 300_000);
    data.end(clip.subarray(300_000));
    // After the database had its time: the camera is not kept waiting for it.
    await control.hears(226);
    expect(sha256(world.read(upload, 'a.mp4'))).toBe(sha256(clip));
    await mongo.start();
    await world.shows(upload.id, ({ files }) => files[0]?.state === 'whole' && files[0].bytes === clip.length);
    await world.tells(upload.imei, upload.serial, 0);
    await world.shows(upload.id, ({ status }) => status === 'completed');
  });

  it('a 0x1206 waits for the database', async () => {
    const upload = await world.granted();
    const camera = await world.camera(upload);
    await camera.uploadFrom(Readable.from([clip]), 'a.mp4');
    await mongo.kill();
    await world.tells(upload.imei, upload.serial, 0);
    await mongo.start();
    expect((await world.shows(upload.id, ({ status }) => status === 'completed')).filesize).toBe(clip.length);
  });

  it('a login says that it is not the password; it works again afterwards', async () => {
    const upload = await world.granted();
    await mongo.kill();
    const control = await world.raw();
    await control.says(`USER ${upload.username}`, 331);
    await control.says(`PASS ${upload.password}`, 421);
    await mongo.start();
    await until(async () => (await world.camera(upload).catch(() => undefined)) !== undefined);
    expect(control.said).not.toContain('530');
  });

  it('a transfer and its end survive the broker, and what was told meanwhile counts', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    await world.nats.kill();
    data.end(clip);
    await control.hears(226);
    await world.nats.start();
    await until(() => world.bus.isUp());
    await world.tells(upload.imei, upload.serial, 0);
    expect((await world.shows(upload.id, ({ status }) => status === 'completed')).filesize).toBe(clip.length);
  });

  it('nothing is failed by time without Redis, which knows who is connected', async () => {
    await world.service.stop();
    await world.startService({ UPLOAD_SILENCE_MS: '1' });
    await world.redisServer.kill();
    const upload = await world.granted();
    const camera = await world.camera(upload);
    await camera.uploadFrom(Readable.from([clip]), 'a.mp4');
    expect((await world.record(upload.id)).status).toBe('uploading');
    await world.tells(upload.imei, upload.serial, 0);
    await world.shows(upload.id, ({ status }) => status === 'completed');
    await world.redisServer.start();
  });
});
