import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'basic-ftp';
import { until } from '../../../libs/service-kit/src/testing/server-process.ts';
import { clipBytes, sha256, World } from './testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world.stop());
// Nothing may stay open, whatever a test has done.
afterEach(() => until(() => world.openFiles().length === 0));

const stream = (bytes: Uint8Array): Readable => Readable.from([Buffer.from(bytes)], { objectMode: false });

describe('a grant', () => {
  it('gives a credential of letters and digits for one reservation, and stores its hash alone', async () => {
    const record = await world.reserve();
    const granted = await world.grant(record._id);
    expect(granted).toEqual({
      host: '127.0.0.1',
      port: world.service.ftpPort,
      username: `u${record._id}`,
      password: expect.stringMatching(/^[A-Za-z0-9]{22,}$/),
      path: '/',
    });
    const stored = await world.record(record._id);
    expect(stored.credential?.passwordSha256).toBe(sha256(Buffer.from(granted.password)));
    expect(stored.credential?.expiresAtMs).toBeGreaterThan(Date.now());
    expect(stored.server).toEqual({ podId: world.podId, httpUrl: `http://127.0.0.1:${world.service.httpPort}` });
    expect(JSON.stringify(stored)).not.toContain(granted.password);
  });

  it('is for reservations only', async () => {
    const upload = await world.granted();
    await expect(world.grant(upload.id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(world.grant('0'.repeat(24))).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a transfer', () => {
  // First, as ftp-srv holds on to an unused port for half a minute.
  it('does not suffer from a passive port that was asked for and not used', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    for (let i = 0; i < 5; i += 1) await control.says('PASV', 227);
    const unused = (await control.passive()).resume();
    const data = await control.passive();
    await until(() => unused.closed);
    await control.says('STOR a.mp4', 150);
    data.end('x');
    await control.hears(226);
    await control.says('NOOP', 200);
    expect(world.read(upload, 'a.mp4').toString()).toBe('x');
  });

  it('arrives byte for byte; the record follows, and the first bytes make an upload of a reservation', async () => {
    const reserved = await world.reserve();
    const { username, password } = await world.grant(reserved._id);
    const camera = await world.camera({ username, password });
    const clip = clipBytes(3_000_000);
    await camera.uploadFrom(stream(clip), 'CH1_1.mp4');
    const record = await world.record(reserved._id);
    expect(record).toMatchObject({
      status: 'uploading',
      commandSerialNo: null,
      filesize: clip.length,
      filename: 'CH1_1.mp4',
      files: [{ path: 'CH1_1.mp4', bytes: clip.length, state: 'whole' }],
      hasQuit: false,
    });
    expect(record.lastByteAtMs).toBeGreaterThan(reserved.createdAtMs);
    expect(sha256(world.read({ imei: reserved.clip.imei, id: reserved._id }, 'CH1_1.mp4'))).toBe(sha256(clip));
    expect(await camera.size('CH1_1.mp4')).toBe(clip.length);
  });

  it('shows its name when it begins and its bytes while it runs', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    await world.shows(upload.id, ({ filename, filesize }) => filename === 'a.mp4' && filesize === 0);
    data.write(clipBytes(1_000));
    await world.shows(upload.id, ({ filesize }) => filesize === 1_000);
    data.write(clipBytes(500));
    const running = await world.shows(upload.id, ({ filesize }) => filesize === 1_500);
    expect(running.files[0]?.state).toBe('receiving');
    data.end();
    await control.hears(226);
    expect((await world.record(upload.id)).files[0]?.state).toBe('whole');
  });

  it.each(['PORT', 'EPRT'] as const)('comes over a connection that the server dials (%s)', async (form) => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.active(form);
    await control.says('STOR active.mp4', 150);
    data.end(clipBytes(200_000));
    await control.hears(226);
    expect(sha256(world.read(upload, 'active.mp4'))).toBe(sha256(clipBytes(200_000)));
  });

  it('comes over EPSV, from commands cut into segments and glued together, with LF alone', async () => {
    const upload = await world.granted();
    const control = await world.raw();
    for (const part of ['US', `ER ${upload.username}\nPA`, `SS ${upload.password}\r`, '\nTYPE I\nEP', 'SV\r\n'])
      await control.send(part);
    await control.hears(331);
    await control.hears(230);
    await control.hears(200);
    const port = Number(/\|\|\|(\d+)\|/.exec(await control.hears(229))?.[1]);
    const { connect } = await import('node:net');
    const data = connect(port, '127.0.0.1');
    await once(data, 'connect');
    await control.says('STOR split.mp4', 150);
    data.end('whole');
    await control.hears(226);
    expect(world.read(upload, 'split.mp4').toString()).toBe('whole');
  });

  it('goes on where it ended by APPE, by REST, and begins again by STOR; the size follows down and up', async () => {
    const upload = await world.granted();
    const clip = clipBytes(900_000, 7);
    const camera = await world.camera(upload);
    await camera.uploadFrom(stream(clip.subarray(0, 300_000)), 'a.mp4');
    expect((await world.record(upload.id)).filesize).toBe(300_000);
    await camera.appendFrom(stream(clip.subarray(300_000, 600_000)), 'a.mp4');
    expect((await world.record(upload.id)).filesize).toBe(600_000);
    const control = await world.raw(upload);
    // A little is sent twice: what lies behind the place is written over.
    await control.says('REST 500000', 350);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    await world.shows(upload.id, ({ filesize }) => filesize === 500_000);
    data.end(clip.subarray(500_000));
    await control.hears(226);
    expect((await world.record(upload.id)).filesize).toBe(900_000);
    expect(sha256(world.read(upload, 'a.mp4'))).toBe(sha256(clip));
    const again = await control.passive();
    await control.says('STOR a.mp4', 150);
    await world.shows(upload.id, ({ filesize, filename }) => filesize === 0 && filename === 'a.mp4');
    again.end(clip.subarray(0, 10));
    await control.hears(226);
    expect(world.read(upload, 'a.mp4').length).toBe(10);
    expect((await world.record(upload.id)).filesize).toBe(10);
  });

  it('does not begin behind the end of what is there, and forgets the place after one transfer', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    await control.says('REST 5', 350);
    const data = await control.passive();
    await control.says('STOR gap.mp4', 554);
    data.destroy();
    const next = await control.passive();
    await control.says('STOR gap.mp4', 150);
    next.end('from zero');
    await control.hears(226);
    expect(world.read(upload, 'gap.mp4').toString()).toBe('from zero');
    for (const bad of ['-1', '1e3', 'x', '']) await control.says(`REST ${bad}`, 501);
  });

  it('may be one of several: size their sum, name the newest with bytes, order that of arrival', async () => {
    const upload = await world.granted();
    const camera = await world.camera(upload);
    await camera.uploadFrom(stream(clipBytes(10)), 'z.mp4');
    await camera.uploadFrom(stream(clipBytes(20)), 'a.mp4');
    await camera.uploadFrom(stream(Buffer.alloc(0)), 'empty.mp4');
    const record = await world.record(upload.id);
    expect(record.files.map(({ path, bytes }) => [path, bytes])).toEqual([
      ['z.mp4', 10],
      ['a.mp4', 20],
      ['empty.mp4', 0],
    ]);
    expect(record).toMatchObject({ filesize: 30, filename: 'a.mp4' });
  });

  it('takes directories as cameras make them, and a file under another name until it is whole', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    expect(await control.says('PWD', 257)).toContain('"/"');
    await control.says('CWD /2026', 550);
    expect(await control.says('MKD /2026', 257)).toContain('"/2026"');
    await control.says('MKD 2026', 257);
    await control.says('XMKD 2026/01', 257);
    expect(await control.says('CWD 2026/01', 250)).toContain('"/2026/01"');
    const data = await control.passive();
    await control.says('STOR clip.tmp', 150);
    data.end('video');
    await control.hears(226);
    await control.says('RNFR clip.tmp', 350);
    await control.says('RNTO ../clip.mp4', 250);
    await control.says('SIZE clip.tmp', 550);
    await control.says('CDUP', 250);
    expect(await control.says('SIZE clip.mp4', 213)).toBe('213 5');
    await control.says('SIZE /2026', 550);
    await control.says('RNFR /2026', 350);
    await control.says('RNTO /moved', 250);
    const record = await world.record(upload.id);
    expect(record).toMatchObject({
      filename: 'clip.mp4',
      filesize: 5,
      files: [{ path: 'moved/clip.mp4', bytes: 5, state: 'whole' }],
    });
    expect(world.read(upload, 'moved/clip.mp4').toString()).toBe('video');
  });

  it('waits for its data connection, and says so when none comes', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    await control.says('STOR a.mp4', 425);
    expect((await world.record(upload.id)).files).toEqual([]);
    const data = await control.passive();
    data.resetAndDestroy();
    await once(data, 'close');
    await control.says('STOR a.mp4', 150);
    await control.hears(426);
    await world.shows(upload.id, ({ files }) => files[0]?.state === 'broken');
  });

  it('is aborted by ABOR, and the connection goes on', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    data.write(clipBytes(1_000));
    await world.shows(upload.id, ({ filesize }) => filesize === 1_000);
    await control.send('ABOR\r\n');
    await control.hears(426);
    await control.hears(226);
    await world.shows(upload.id, ({ files }) => files[0]?.state === 'broken');
    await control.says('ABOR', 226);
    const next = await control.passive();
    await control.says('APPE a.mp4', 150);
    next.end('y');
    await control.hears(226);
    expect((await world.record(upload.id)).filesize).toBe(1_001);
  });

  it('of a camera that has come back ends the one that hangs on its old connection', async () => {
    const upload = await world.granted();
    const old = await world.raw(upload);
    const oldData = await old.passive();
    await old.says('STOR a.mp4', 150);
    oldData.write(clipBytes(5_000));
    await world.shows(upload.id, ({ filesize }) => filesize === 5_000);
    const camera = await world.camera(upload);
    const size = await camera.size('a.mp4');
    oldData.write(clipBytes(5_000));
    await camera.appendFrom(stream(clipBytes(10_000).subarray(size)), 'a.mp4');
    await old.until(() => old.isClosed);
    expect(sha256(world.read(upload, 'a.mp4'))).toBe(sha256(clipBytes(10_000)));
    expect(await world.record(upload.id)).toMatchObject({ filesize: 10_000, files: [{ state: 'whole' }] });
  });

  it('of many cameras at once keep apart, and a small range of ports is used to its last', async () => {
    const cameras = await Promise.all(
      Array.from({ length: 25 }, async (_, index) => {
        const upload = await world.granted();
        const camera = new Client(20_000);
        await camera.access({
          host: '127.0.0.1',
          port: world.service.ftpPort,
          user: upload.username,
          password: upload.password,
        });
        return { upload, camera, clip: clipBytes(150_000, index + 1) };
      }),
    );
    await Promise.all(cameras.map(({ camera, clip }) => camera.uploadFrom(stream(clip), 'a.mp4')));
    for (const { upload, camera, clip } of cameras) {
      expect(sha256(world.read(upload, 'a.mp4'))).toBe(sha256(clip));
      camera.close();
    }
  });
});

describe('what a camera asks', () => {
  it('is answered: features, system, lists without an entry', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const camera = await world.camera(upload);
    await camera.uploadFrom(stream(clipBytes(10)), 'a.mp4');
    expect(await camera.list()).toEqual([]);
    await camera.features();
    const fresh = await world.raw(upload);
    await fresh.send('FEAT\r\n');
    await fresh.hears(211);
    expect(fresh.said).toContain(' REST STREAM');
    expect(fresh.said).not.toContain('AUTH TLS');
    for (const command of ['LIST', 'NLST', 'MLSD', 'LIST a.mp4', 'NLST -a /']) {
      const data = await fresh.passive();
      const heard: Buffer[] = [];
      data.on('data', (bytes: Buffer) => heard.push(bytes));
      await fresh.says(command, 150);
      await fresh.hears(226);
      if (!data.closed) await once(data, 'close');
      expect(Buffer.concat(heard).toString()).toBe('');
    }
    await fresh.says('SYST', 215);
    await fresh.says('NOOP', 200);
    await fresh.says('ALLO 100', 202);
    await fresh.says('QUIT', 221);
    await control.until(() => control.isClosed);
  });
});
