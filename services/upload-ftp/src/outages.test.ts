import { Readable } from 'node:stream';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { clipBytes, sha256, UploadHarness } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const clip = clipBytes(500_000, 9);

describe('uploads during an outage of a backend', () => {
  let mongo: ServerProcess;
  let harness: UploadHarness;
  beforeAll(async () => {
    mongo = await (await ServerProcess.mongo()).start();
    harness = await UploadHarness.start({}, {}, mongo);
  });
  afterAll(async () => {
    await harness.stop();
    await mongo.remove();
  });
  afterEach(() => waitFor(() => harness.openFiles().length === 0));

  it('a transfer continues and completes without the database, and the record is updated later', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    data.write(clip.subarray(0, 100_000));
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 100_000);
    await mongo.kill();
    data.write(clip.subarray(100_000, 300_000));
    await waitFor(() => harness.read(upload, 'a.mp4').length === 300_000);
    data.end(clip.subarray(300_000));
    // The reply is sent once the time limit for the database has passed.
    await control.expectReply(226);
    expect(sha256(harness.read(upload, 'a.mp4'))).toBe(sha256(clip));
    await mongo.start();
    await harness.waitForRecord(
      upload.id,
      ({ files }) => files[0]?.state === 'whole' && files[0].bytes === clip.length,
    );
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    await harness.waitForRecord(upload.id, ({ status }) => status === 'completed');
  });

  it('a 0x1206 is applied once the database is back', async () => {
    const upload = await harness.createGrantedUpload();
    const camera = await harness.camera(upload);
    await camera.uploadFrom(Readable.from([clip]), 'a.mp4');
    await mongo.kill();
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    await mongo.start();
    expect((await harness.waitForRecord(upload.id, ({ status }) => status === 'completed')).filesize).toBe(clip.length);
  });

  it('a login without the database gets 421 instead of 530, and succeeds afterwards', async () => {
    const upload = await harness.createGrantedUpload();
    await mongo.kill();
    const control = await harness.raw();
    await control.sendCommand(`USER ${upload.username}`, 331);
    await control.sendCommand(`PASS ${upload.password}`, 421);
    await mongo.start();
    await waitFor(async () => (await harness.camera(upload).catch(() => undefined)) !== undefined);
    expect(control.output).not.toContain('530');
  });

  it('a transfer completes without the broker, and its later result is applied', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    await harness.nats.kill();
    data.end(clip);
    await control.expectReply(226);
    await harness.nats.start();
    await waitFor(() => harness.bus.isUp());
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    expect((await harness.waitForRecord(upload.id, ({ status }) => status === 'completed')).filesize).toBe(clip.length);
  });

  it('no upload fails by a timeout without Redis, which holds the connected devices', async () => {
    await harness.service.stop();
    await harness.startService({ UPLOAD_SILENCE_MS: '1' });
    await harness.redisServer.kill();
    const upload = await harness.createGrantedUpload();
    const camera = await harness.camera(upload);
    await camera.uploadFrom(Readable.from([clip]), 'a.mp4');
    expect((await harness.readRecord(upload.id)).status).toBe('uploading');
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    await harness.waitForRecord(upload.id, ({ status }) => status === 'completed');
    await harness.redisServer.start();
  });
});
