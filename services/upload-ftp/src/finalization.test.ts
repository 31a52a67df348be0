import { Readable } from 'node:stream';
import { DeviceCommandServer, type IncomingCommand, type Outcome, subscribe, uploadChanged } from '@fleet/bus';
import { encodeBody, resourceList } from '@fleet/jt808';
import type { UploadRecord } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { clipBytes, type GrantedUpload, UploadHarness } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

// Each is long enough for the work of a busy machine within it, and for the previous timeout to end first.
const unconfirmedMs = 2_500;
const silenceMs = 4_000;
const timeoutMs = 6_000;
const pausedMs = 4_000;

let harness: UploadHarness;
beforeAll(async () => {
  harness = await UploadHarness.start({
    UPLOAD_SILENCE_MS: String(silenceMs),
    UPLOAD_TIMEOUT_MS: String(timeoutMs),
    UPLOAD_PAUSED_MS: String(pausedMs),
    UPLOAD_UNCONFIRMED_MS: String(unconfirmedMs),
    UPLOAD_ORPHANS_MS: '300',
  });
});
afterAll(() => harness.stop());

const clip = clipBytes(5_000);

/** Creates an upload with whole files, sent one after another. The camera stays logged in. */
async function uploaded(files: Record<string, number>, more: Partial<UploadRecord> = {}): Promise<GrantedUpload> {
  const upload = await harness.createGrantedUpload(more);
  const camera = await harness.camera(upload);
  for (const [name, bytes] of Object.entries(files))
    await camera.uploadFrom(Readable.from([clip.subarray(0, bytes)]), name);
  return upload;
}

/** Sends a file that is interrupted after the given number of bytes. */
async function cutOff(upload: GrantedUpload, name: string, bytes: number): Promise<void> {
  const control = await harness.raw(upload);
  const data = await control.openPassive();
  await control.sendCommand(`STOR ${name}`, 150);
  data.write(clip.subarray(0, bytes));
  await harness.waitForRecord(upload.id, ({ files }) =>
    files.some((file) => file.path === name && file.bytes === bytes),
  );
  data.resetAndDestroy();
  await control.expectReply(426);
  await harness.waitForRecord(upload.id, ({ files }) =>
    files.some((file) => file.path === name && file.state === 'broken'),
  );
}

const ended = (upload: GrantedUpload) => harness.waitForRecord(upload.id, ({ status }) => status !== 'uploading');

describe('upload result (0x1206)', () => {
  it('completes a whole upload on success, closes its session, unlocks the camera and publishes one durable event', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000, 'b.mp4': 500 });
    const publishedEvents: unknown[] = [];
    const listener = subscribe(
      harness.bus,
      uploadChanged,
      () => undefined,
      (body) => publishedEvents.push(body),
      `upload.${upload.id}.*`,
    );
    const control = await harness.raw(upload);
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    const record = await ended(upload);
    expect(record).toMatchObject({ status: 'completed', filesize: 1_500, filename: 'b.mp4', result: { code: 0 } });
    await control.waitUntil(() => control.isClosed);
    expect(control.output).toContain('421 ');
    await waitFor(() => publishedEvents.length > 0);
    listener.stop();
    expect(publishedEvents.at(-1)).toMatchObject({ uploadId: upload.id, status: 'completed', filesize: 1_500 });
    const stream = await (await harness.bus.jetstreamManager()).streams.getMessage('UPLOADS', {
      last_by_subj: `upload.${upload.id}.closed`,
    });
    expect(stream.json()).toMatchObject({ status: 'completed' });
    const next = await harness.reserve({}, { imei: upload.imei, channel: 9 });
    expect(await harness.records.lockCamera(upload.imei, next._id, next.reservedUntilMs)).toBe(true);
  });

  it('fails the upload on failure and retains the received files', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await harness.publishUploadResult(upload.imei, upload.serial, 1);
    expect(await ended(upload)).toMatchObject({ status: 'failed', filesize: 1_000, result: { code: 1 } });
    expect(harness.read(upload, 'a.mp4').length).toBe(1_000);
  });

  it('ignores a result received before the upload was requested, with the same serial', async () => {
    const upload = await harness.createGrantedUpload();
    await harness.publishUploadResult(upload.imei, upload.serial, 1, Date.now() - 60_000);
    // A later result that counts proves that the first one has been read.
    const other = await harness.createGrantedUpload();
    await harness.publishUploadResult(other.imei, other.serial, 1);
    expect(await ended(other)).toMatchObject({ status: 'failed' });
    expect(await harness.readRecord(upload.id)).toMatchObject({ status: 'uploading', result: null });
  });

  it("ignores a result with another serial; accepts any serial if the upload's own is unknown", async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await harness.publishUploadResult(upload.imei, upload.serial + 1, 1);
    await waitFor(async () => (await harness.metric('upload_ftp_results_total')).includes('outcome="unmatched"'));
    expect((await harness.readRecord(upload.id)).status).toBe('uploading');
    await harness.records.set(upload.id, ['uploading'], { commandSerialNo: null, reservedUntilMs: Date.now() - 1 });
    await harness.publishUploadResult(upload.imei, 12_345, 0);
    expect((await ended(upload)).status).toBe('completed');
  });

  it('applies a result that arrived before the upload record', async () => {
    const reserved = await harness.reserve();
    const { username, password } = await harness.grantUpload(reserved._id);
    await harness.publishUploadResult(reserved.clip.imei, 77, 0);
    const camera = await harness.camera({ username, password });
    await camera.uploadFrom(Readable.from([clip]), 'a.mp4');
    expect((await harness.readRecord(reserved._id)).result).toBeNull();
    await harness.records.set(reserved._id, ['uploading'], { commandSerialNo: 77 });
    await harness.waitForRecord(reserved._id, ({ status }) => status === 'completed');
  });

  it('applies success after the running transfer and ignores a result older than the last data', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    data.write(clip.subarray(0, 100));
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 100);
    await harness.publishUploadResult(upload.imei, upload.serial, 1, Date.now() - 60_000);
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    await harness.waitForRecord(upload.id, ({ result }) => result?.code === 0);
    expect((await harness.readRecord(upload.id)).status).toBe('uploading');
    data.end(clip.subarray(100));
    await control.expectReply(226);
    expect(await ended(upload)).toMatchObject({ status: 'completed', filesize: clip.length });
  });

  it('completes with the whole file and removes the partial one after a restart under another name', async () => {
    const upload = await harness.createGrantedUpload();
    await cutOff(upload, 'a.mp4', 300);
    const camera = await harness.camera(upload);
    await camera.uploadFrom(Readable.from([clip]), 'a(1).mp4');
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    expect(await ended(upload)).toMatchObject({
      status: 'completed',
      filesize: clip.length,
      files: [{ path: 'a(1).mp4' }],
    });
    await waitFor(() => {
      try {
        harness.read(upload, 'a.mp4');
        return false;
      } catch {
        return true;
      }
    });
  });

  it.each<[string, (upload: GrantedUpload) => Promise<void>]>([
    ['the newest file is broken', async (upload) => cutOff(upload, 'b.mp4', 100)],
    [
      'a broken file is larger than the whole one after it',
      async (upload) => {
        await cutOff(upload, 'b.mp4', 2_000);
        const camera = await harness.camera(upload);
        await camera.uploadFrom(Readable.from([clip.subarray(0, 100)]), 'c.mp4');
      },
    ],
  ])('fails the upload after the timeout on success if %s', async (_what, spoil) => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await spoil(upload);
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    const record = await ended(upload);
    expect(record.status).toBe('failed');
    expect(record.changedAtMs - (record.result?.atMs ?? 0)).toBeGreaterThanOrEqual(unconfirmedMs);
  });

  it('fails the upload after the timeout on success without data, as for a camera that sent elsewhere', async () => {
    const upload = await harness.createGrantedUpload({ mobileNetwork: false });
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    expect(await ended(upload)).toMatchObject({ status: 'failed', filesize: 0, filename: null });
  });

  it('ignores the failure of a paused camera and completes the upload on a later success', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await harness.records.transition(upload.id, ['uploading'], 'paused');
    await harness.publishUploadResult(upload.imei, upload.serial, 1);
    await waitFor(async () => (await harness.metric('upload_ftp_results_total')).includes('outcome="ignored"'));
    expect((await harness.readRecord(upload.id)).status).toBe('paused');
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    expect((await harness.waitForRecord(upload.id, ({ status }) => status !== 'paused')).status).toBe('completed');
  });

  it('acknowledges an unreadable result without affecting others', async () => {
    await harness.bus.js.publish('event.1.1206', Buffer.from([1]));
    await waitFor(async () => (await harness.metric('upload_ftp_results_total')).includes('outcome="unreadable"'));
    const manager = await harness.bus.jetstreamManager();
    await waitFor(async () => (await manager.consumers.info('EVENTS', 'upload-ftp-results')).num_ack_pending === 0);
    expect(await harness.metric('upload_ftp_results_total')).toContain('outcome="unreadable",service="upload-ftp"} 1');
  });
});

describe('upload result (0x1206) of an upload to another FTP server', () => {
  it('completes the upload by itself and unlocks the camera', async () => {
    const upload = await harness.createGrantedUpload({ external: true });
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    expect(await ended(upload)).toMatchObject({ status: 'completed', external: true, filesize: 0, filename: null });
    await waitFor(() => harness.records.lockCamera(upload.imei, 'f'.repeat(24), Date.now() + 60_000));
  });
});

describe('upload without a result (0x1206)', () => {
  it('completes after the timeout with a clean close and QUIT', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    const control = await harness.raw(upload);
    await control.sendCommand('QUIT', 221);
    expect((await harness.readRecord(upload.id)).hasQuit).toBe(true);
    const record = await ended(upload);
    expect(record.status).toBe('completed');
    expect(record.changedAtMs - (record.lastByteAtMs ?? 0)).toBeGreaterThanOrEqual(unconfirmedMs);
  });

  it('does not count QUIT after a broken transfer or before the last transfer', async () => {
    const upload = await harness.createGrantedUpload();
    await cutOff(upload, 'a.mp4', 10);
    const control = await harness.raw(upload);
    await control.sendCommand('QUIT', 221);
    expect((await harness.readRecord(upload.id)).hasQuit).toBe(false);
    const other = await uploaded({ 'a.mp4': 1_000 });
    await (await harness.raw(other)).sendCommand('QUIT', 221);
    await harness.waitForRecord(other.id, ({ hasQuit }) => hasQuit);
    await cutOff(other, 'a.mp4', 10);
    expect((await harness.readRecord(other.id)).hasQuit).toBe(false);
  });

  /** Starts a gateway that responds to 0x9205 with recordings of these sizes. */
  async function listing(imei: string, sizes: readonly number[]) {
    const receivedCommands: IncomingCommand['command'][] = [];
    const items = sizes.map((fileSize) => ({
      channel: 1,
      startTime: '2026-01-31T16:00:00',
      endTime: '2026-01-31T16:01:00',
      alarmFlags: 0n,
      mediaType: 0,
      streamType: 1,
      storageType: 1,
      fileSize,
    }));
    const body = encodeBody(resourceList, { replySerial: 5, items }, '2013');
    const response: Outcome = {
      kind: 'answered',
      answer: {
        commandMessageId: 0x9205,
        commandSerialNo: 5,
        result: null,
        message: { id: 0x1205, edition: '2013', bodyBase64: body.toString('base64') },
      },
    };
    const server = new DeviceCommandServer(harness.bus, {
      handler: async ({ command }) => {
        receivedCommands.push(command);
        return response;
      },
      onError: () => undefined,
    });
    server.subscribe(imei);
    const disconnect = await harness.connectDevice(imei);
    return { receivedCommands, stop: async () => Promise.all([server.stop(), disconnect()]) };
  }

  it.each([
    ['completes with as many bytes as the camera lists', [1_000], 'completed'],
    ['fails with fewer bytes than the camera lists', [1_001], 'failed'],
    ['fails with fewer bytes than the recordings have together', [600, 600], 'failed'],
    ['fails if the list does not contain the clip', [], 'failed'],
  ] as const)('without QUIT, %s', async (_what, sizes, status) => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    const gateway = await listing(upload.imei, sizes);
    expect((await ended(upload)).status).toBe(status);
    // In the camera's local time, eight hours ahead.
    expect(gateway.receivedCommands[0]).toMatchObject({
      kind: 'listRecordings',
      channel: 1,
      startTime: '260131160000',
      endTime: '260131160100',
    });
    await gateway.stop();
  });
});

describe('silent upload', () => {
  it('fails after its first byte while the device is connected; time without the device does not count', async () => {
    const upload = await harness.createGrantedUpload({ mobileNetwork: false });
    await cutOff(upload, 'a.mp4', 100);
    await waitFor(async () => Date.now() - ((await harness.readRecord(upload.id)).lastByteAtMs ?? 0) > silenceMs + 500);
    expect(await harness.readRecord(upload.id)).toMatchObject({ status: 'uploading', silentMs: 0 });
    const disconnect = await harness.connectDevice(upload.imei);
    const record = await ended(upload);
    expect(record.status).toBe('failed');
    expect(record.silentMs).toBeGreaterThanOrEqual(silenceMs);
    await disconnect();
  });

  it('fails before the first byte only with mobile network allowed; otherwise waits for the first-byte timeout', async () => {
    const [mobile, other] = await Promise.all([
      harness.createGrantedUpload(),
      harness.createGrantedUpload({ mobileNetwork: false }),
    ]);
    const ends = await Promise.all([harness.connectDevice(mobile.imei), harness.connectDevice(other.imei)]);
    expect((await ended(mobile)).status).toBe('failed');
    const record = await ended(other);
    expect(record.status).toBe('failed');
    expect(record.changedAtMs - record.createdAtMs).toBeGreaterThanOrEqual(timeoutMs);
    await Promise.all(ends.map((end) => end()));
  });

  it('is no longer silent after a byte, even from a slow camera', async () => {
    const upload = await harness.createGrantedUpload();
    const disconnect = await harness.connectDevice(upload.imei);
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR slow.mp4', 150);
    const drip = setInterval(() => data.write('x'), 200);
    await harness.waitForRecord(
      upload.id,
      ({ filesize, createdAtMs }) => filesize > 20 && Date.now() - createdAtMs > 1.5 * silenceMs,
    );
    expect((await harness.readRecord(upload.id)).status).toBe('uploading');
    clearInterval(drip);
    data.destroy();
    await disconnect();
  });

  it('does not fail while paused, until the pause timeout', async () => {
    const upload = await harness.createGrantedUpload();
    const disconnect = await harness.connectDevice(upload.imei);
    await cutOff(upload, 'a.mp4', 100);
    await harness.records.transition(upload.id, ['uploading'], 'paused');
    const paused = await harness.readRecord(upload.id);
    const record = await harness.waitForRecord(upload.id, ({ status }) => status !== 'paused');
    expect(record.status).toBe('failed');
    expect(record.changedAtMs - paused.changedAtMs).toBeGreaterThanOrEqual(pausedMs);
    await disconnect();
  });

  it('fails without waiting if its credential is lost', async () => {
    const upload = await harness.createGrantedUpload({ mobileNetwork: false });
    await harness.records.set(upload.id, ['uploading'], { credential: null });
    expect((await ended(upload)).status).toBe('failed');
  });
});

describe('cleanup after a crash', () => {
  it('deletes expired reservations, locks, and files of cancelled or deleted uploads', async () => {
    const late = await harness.reserve({ reservedUntilMs: Date.now() - 1 });
    const cancelled = await uploaded({ 'a.mp4': 10 });
    const deletedUpload = await uploaded({ 'a.mp4': 10 });
    const retainedUpload = await uploaded({ 'a.mp4': 10 });
    await harness.records.transition(cancelled.id, ['uploading'], 'cancelled');
    await harness.records.remove(deletedUpload.id, ['uploading']);
    await waitFor(async () => (await harness.records.find(late._id)) === null);
    await waitFor(() => !harness.hasDirectory(cancelled) && !harness.hasDirectory(deletedUpload));
    expect(harness.hasDirectory(retainedUpload)).toBe(true);
  });

  it('marks a file as broken that a dead pod was receiving', async () => {
    const startedAtMs = Date.now() - 3_600_000;
    const upload = await harness.createGrantedUpload({
      files: [{ path: 'a.mp4', bytes: 5, state: 'receiving', startedAtMs }],
      filesize: 5,
      filename: 'a.mp4',
      lastByteAtMs: startedAtMs,
    });
    await harness.records.set(upload.id, ['uploading'], {
      server: { podId: 'dead-pod', httpUrl: 'http://127.0.0.1:1' },
      changedAtMs: startedAtMs,
    });
    const record = await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state === 'broken');
    expect(record.status).toBe('uploading');
  });
});

describe('file removal over the bus', () => {
  it('ends transfers, removes the whole directory and succeeds if nothing exists', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw(upload);
    const data = await control.openPassive();
    await control.sendCommand('STOR a.mp4', 150);
    data.write(clip);
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === clip.length);
    expect(await harness.removeFiles(upload.id)).toEqual({});
    await control.expectReply(426);
    expect(harness.hasDirectory(upload)).toBe(false);
    expect(harness.openFiles()).toEqual([]);
    await control.sendCommand('MKD again', 550);
    expect(harness.hasDirectory(upload)).toBe(false);
    expect(await harness.removeFiles(upload.id)).toEqual({});
    expect(await harness.removeFiles('0'.repeat(24))).toEqual({});
  });
});
