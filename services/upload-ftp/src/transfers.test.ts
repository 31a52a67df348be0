import { once } from 'node:events';
import { Readable } from 'node:stream';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'basic-ftp';
import { clipBytes, sha256, UploadHarness } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: UploadHarness;
beforeAll(async () => {
  harness = await UploadHarness.start();
});
afterAll(() => harness.stop());
// No test may leave a file open.
afterEach(() => waitFor(() => harness.openFiles().length === 0));

const stream = (bytes: Uint8Array): Readable => Readable.from([Buffer.from(bytes)], { objectMode: false });

describe('grant of an upload', () => {
  it('returns a credential of letters and digits for one reservation and stores only its hash', async () => {
    const record = await harness.reserve();
    const granted = await harness.grantUpload(record._id);
    expect(granted).toEqual({
      host: '127.0.0.1',
      port: harness.service.ftpPort,
      username: `u${record._id}`,
      password: expect.stringMatching(/^[A-Za-z0-9]{22,}$/),
      path: '/',
    });
    const stored = await harness.readRecord(record._id);
    expect(stored.credential?.passwordSha256).toBe(sha256(Buffer.from(granted.password)));
    expect(stored.credential?.expiresAtMs).toBeGreaterThan(Date.now());
    expect(stored.server).toEqual({ podId: harness.podId, httpUrl: `http://127.0.0.1:${harness.service.httpPort}` });
    expect(JSON.stringify(stored)).not.toContain(granted.password);
  });

  it('is refused without a reservation', async () => {
    const upload = await harness.createGrantedUpload();
    await expect(harness.grantUpload(upload.id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(harness.grantUpload('0'.repeat(24))).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('transfer', () => {
  // Runs first, because ftp-srv holds an unused port for half a minute.
  it('succeeds after passive ports that were requested and not used', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    for (let i = 0; i < 5; i += 1) await control.sendCommand('PASV', 227);
    const unused = (await control.openPassive()).resume();
    const data = await control.openPassive();
    await waitFor(() => unused.closed);
    await control.sendCommand('STOR a.mp4', 150);
    data.end('x');
    await control.expectReply(226);
    await control.sendCommand('NOOP', 200);
    expect(harness.read(upload, 'a.mp4').toString()).toBe('x');
  });

  it('stores every byte, updates the record and turns a reservation into an upload', async () => {
    const reserved = await harness.reserve();
    const { username, password } = await harness.grantUpload(reserved._id);
    const camera = await harness.camera({ username, password });
    const clip = clipBytes(3_000_000);
    await camera.uploadFrom(stream(clip), 'CH1_1.mp4');
    const record = await harness.readRecord(reserved._id);
    expect(record).toMatchObject({
      status: 'uploading',
      commandSerialNo: null,
      filesize: clip.length,
      filename: 'CH1_1.mp4',
      files: [{ path: 'CH1_1.mp4', bytes: clip.length, state: 'whole' }],
      hasQuit: false,
    });
    expect(record.lastByteAtMs).toBeGreaterThan(reserved.createdAtMs);
    expect(sha256(harness.read({ imei: reserved.clip.imei, id: reserved._id }, 'CH1_1.mp4'))).toBe(sha256(clip));
    expect(await camera.size('CH1_1.mp4')).toBe(clip.length);
  });

  it('updates the record with its name at the start and its bytes while it runs', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    await harness.waitForRecord(upload.id, ({ filename, filesize }) => filename === 'a.mp4' && filesize === 0);
    data.write(clipBytes(1_000));
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 1_000);
    data.write(clipBytes(500));
    const running = await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 1_500);
    expect(running.files[0]?.state).toBe('receiving');
    data.end();
    await control.expectReply(226);
    expect((await harness.readRecord(upload.id)).files[0]?.state).toBe('whole');
  });

  it.each(['PORT', 'EPRT'] as const)('uses a data connection opened by the server (%s)', async (form) => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openActive(form);
    await control.sendCommand('STOR active.mp4', 150);
    data.end(clipBytes(200_000));
    await control.expectReply(226);
    expect(sha256(harness.read(upload, 'active.mp4'))).toBe(sha256(clipBytes(200_000)));
  });

  it('works over EPSV with commands split and joined across segments, ended by LF alone', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw();
    for (const part of ['US', `ER ${upload.username}\nPA`, `SS ${upload.password}\r`, '\nTYPE I\nEP', 'SV\r\n'])
      await control.write(part);
    await control.expectReply(331);
    await control.expectReply(230);
    await control.expectReply(200);
    const port = Number(/\|\|\|(\d+)\|/.exec(await control.expectReply(229))?.[1]);
    const { connect } = await import('node:net');
    const data = connect(port, '127.0.0.1');
    await once(data, 'connect');
    await control.sendCommand('STOR split.mp4', 150);
    data.end('whole');
    await control.expectReply(226);
    expect(harness.read(upload, 'split.mp4').toString()).toBe('whole');
  });

  it('resumes with APPE and REST and restarts with STOR, and the recorded size follows', async () => {
    const upload = await harness.createGrantedUpload();
    const clip = clipBytes(900_000, 7);
    const camera = await harness.camera(upload);
    await camera.uploadFrom(stream(clip.subarray(0, 300_000)), 'a.mp4');
    expect((await harness.readRecord(upload.id)).filesize).toBe(300_000);
    await camera.appendFrom(stream(clip.subarray(300_000, 600_000)), 'a.mp4');
    expect((await harness.readRecord(upload.id)).filesize).toBe(600_000);
    const control = await harness.raw(upload);
    // The last bytes are sent again: data after the offset is overwritten.
    await control.sendCommand('REST 500000', 350);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 500_000);
    data.end(clip.subarray(500_000));
    await control.expectReply(226);
    expect((await harness.readRecord(upload.id)).filesize).toBe(900_000);
    expect(sha256(harness.read(upload, 'a.mp4'))).toBe(sha256(clip));
    const again = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    await harness.waitForRecord(upload.id, ({ filesize, filename }) => filesize === 0 && filename === 'a.mp4');
    again.end(clip.subarray(0, 10));
    await control.expectReply(226);
    expect(harness.read(upload, 'a.mp4').length).toBe(10);
    expect((await harness.readRecord(upload.id)).filesize).toBe(10);
  });

  it('is refused at an offset after the end of the file; an offset applies to one transfer only', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    await control.sendCommand('REST 5', 350);
    const data = await control.openPassive();
    await control.sendCommand('STOR gap.mp4', 554);
    data.destroy();
    const next = await control.openPassive();
    await control.sendCommand('STOR gap.mp4', 150);
    next.end('from zero');
    await control.expectReply(226);
    expect(harness.read(upload, 'gap.mp4').toString()).toBe('from zero');
    for (const bad of ['-1', '1e3', 'x', '']) await control.sendCommand(`REST ${bad}`, 501);
  });

  it('adds a file to the upload: sums sizes, names the newest with data, lists in order of arrival', async () => {
    const upload = await harness.createGrantedUpload();
    const camera = await harness.camera(upload);
    await camera.uploadFrom(stream(clipBytes(10)), 'z.mp4');
    await camera.uploadFrom(stream(clipBytes(20)), 'a.mp4');
    await camera.uploadFrom(stream(Buffer.alloc(0)), 'empty.mp4');
    const record = await harness.readRecord(upload.id);
    expect(record.files.map(({ path, bytes }) => [path, bytes])).toEqual([
      ['z.mp4', 10],
      ['a.mp4', 20],
      ['empty.mp4', 0],
    ]);
    expect(record).toMatchObject({ filesize: 30, filename: 'a.mp4' });
  });

  it('creates the directories that cameras use and supports renaming a complete file', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    expect(await control.sendCommand('PWD', 257)).toContain('"/"');
    await control.sendCommand('CWD /2026', 550);
    expect(await control.sendCommand('MKD /2026', 257)).toContain('"/2026"');
    await control.sendCommand('MKD 2026', 257);
    await control.sendCommand('XMKD 2026/01', 257);
    expect(await control.sendCommand('CWD 2026/01', 250)).toContain('"/2026/01"');
    const data = await control.openPassive();
    await control.sendCommand('STOR clip.tmp', 150);
    data.end('video');
    await control.expectReply(226);
    await control.sendCommand('RNFR clip.tmp', 350);
    await control.sendCommand('RNTO ../clip.mp4', 250);
    await control.sendCommand('SIZE clip.tmp', 550);
    await control.sendCommand('CDUP', 250);
    expect(await control.sendCommand('SIZE clip.mp4', 213)).toBe('213 5');
    await control.sendCommand('SIZE /2026', 550);
    await control.sendCommand('RNFR /2026', 350);
    await control.sendCommand('RNTO /moved', 250);
    const record = await harness.readRecord(upload.id);
    expect(record).toMatchObject({
      filename: 'clip.mp4',
      filesize: 5,
      files: [{ path: 'moved/clip.mp4', bytes: 5, state: 'whole' }],
    });
    expect(harness.read(upload, 'moved/clip.mp4').toString()).toBe('video');
  });

  it('waits for its data connection and ends with 425 without one', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    await control.sendCommand('STOR a.mp4', 425);
    expect((await harness.readRecord(upload.id)).files).toEqual([]);
    const data = await control.openPassive();
    data.resetAndDestroy();
    await once(data, 'close');
    await control.sendCommand('STOR a.mp4', 150);
    await control.expectReply(426);
    await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state === 'broken');
  });

  it('is aborted by ABOR without closing the control connection', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    data.write(clipBytes(1_000));
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 1_000);
    await control.write('ABOR\r\n');
    await control.expectReply(426);
    await control.expectReply(226);
    await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state === 'broken');
    await control.sendCommand('ABOR', 226);
    const next = await control.openPassive();
    await control.sendCommand('APPE a.mp4', 150);
    next.end('y');
    await control.expectReply(226);
    expect((await harness.readRecord(upload.id)).filesize).toBe(1_001);
  });

  it('replaces the transfer on the old connection of a camera that has reconnected', async () => {
    const upload = await harness.createGrantedUpload();
    const old = await harness.raw(upload);
    const oldData = await old.openPassive();
    await old.sendCommand('STOR a.mp4', 150);
    oldData.write(clipBytes(5_000));
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 5_000);
    const camera = await harness.camera(upload);
    const size = await camera.size('a.mp4');
    oldData.write(clipBytes(5_000));
    await camera.appendFrom(stream(clipBytes(10_000).subarray(size)), 'a.mp4');
    await old.waitUntil(() => old.isClosed);
    expect(sha256(harness.read(upload, 'a.mp4'))).toBe(sha256(clipBytes(10_000)));
    expect(await harness.readRecord(upload.id)).toMatchObject({ filesize: 10_000, files: [{ state: 'whole' }] });
  });

  it('is isolated from concurrent transfers of other cameras in a small port range', async () => {
    const cameras = await Promise.all(
      Array.from({ length: 25 }, async (_, index) => {
        const upload = await harness.createGrantedUpload();
        const camera = new Client(20_000);
        await camera.access({
          host: '127.0.0.1',
          port: harness.service.ftpPort,
          user: upload.username,
          password: upload.password,
        });
        return { upload, camera, clip: clipBytes(150_000, index + 1) };
      }),
    );
    await Promise.all(cameras.map(({ camera, clip }) => camera.uploadFrom(stream(clip), 'a.mp4')));
    for (const { upload, camera, clip } of cameras) {
      expect(sha256(harness.read(upload, 'a.mp4'))).toBe(sha256(clip));
      camera.close();
    }
  });
});

describe('informational commands', () => {
  it('return features, system and empty lists', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const camera = await harness.camera(upload);
    await camera.uploadFrom(stream(clipBytes(10)), 'a.mp4');
    expect(await camera.list()).toEqual([]);
    await camera.features();
    const fresh = await harness.raw(upload);
    await fresh.write('FEAT\r\n');
    await fresh.expectReply(211);
    expect(fresh.output).toContain(' REST STREAM');
    expect(fresh.output).not.toContain('AUTH TLS');
    for (const command of ['LIST', 'NLST', 'MLSD', 'LIST a.mp4', 'NLST -a /']) {
      const data = await fresh.openPassive();
      const received: Buffer[] = [];
      data.on('data', (bytes: Buffer) => received.push(bytes));
      await fresh.sendCommand(command, 150);
      await fresh.expectReply(226);
      if (!data.closed) await once(data, 'close');
      expect(Buffer.concat(received).toString()).toBe('');
    }
    await fresh.sendCommand('SYST', 215);
    await fresh.sendCommand('NOOP', 200);
    await fresh.sendCommand('ALLO 100', 202);
    await fresh.sendCommand('QUIT', 221);
    await control.waitUntil(() => control.isClosed);
  });
});
