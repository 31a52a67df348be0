import { Readable } from 'node:stream';
import { DeviceCommandServer, type IncomingCommand, listenFor, type Outcome, uploadChanged } from '@fleet/bus';
import { encodeBody, resourceList } from '@fleet/jt808';
import type { UploadRecord } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../libs/service-kit/src/testing/server-process.ts';
import { clipBytes, type GrantedUpload, World } from './testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

// Each long enough for what a busy machine has to do in it, and for the one before to end first.
const unconfirmedMs = 2_500;
const silenceMs = 4_000;
const patienceMs = 6_000;
const pausedMs = 4_000;

let world: World;
beforeAll(async () => {
  world = await World.start({
    UPLOAD_SILENCE_MS: String(silenceMs),
    UPLOAD_PATIENCE_MS: String(patienceMs),
    UPLOAD_PAUSED_MS: String(pausedMs),
    UPLOAD_UNCONFIRMED_MS: String(unconfirmedMs),
    UPLOAD_ORPHANS_MS: '300',
  });
});
afterAll(() => world.stop());

const clip = clipBytes(5_000);

/** An upload with files that came whole, one after another; the camera stays logged in. */
async function uploaded(files: Record<string, number>, more: Partial<UploadRecord> = {}): Promise<GrantedUpload> {
  const upload = await world.granted(more);
  const camera = await world.camera(upload);
  for (const [name, bytes] of Object.entries(files))
    await camera.uploadFrom(Readable.from([clip.subarray(0, bytes)]), name);
  return upload;
}

/** A file that is cut off after so many bytes. */
async function cutOff(upload: GrantedUpload, name: string, bytes: number): Promise<void> {
  const control = await world.raw(upload);
  const data = await control.passive();
  await control.says(`STOR ${name}`, 150);
  data.write(clip.subarray(0, bytes));
  await world.shows(upload.id, ({ files }) => files.some((file) => file.path === name && file.bytes === bytes));
  data.resetAndDestroy();
  await control.hears(426);
  await world.shows(upload.id, ({ files }) => files.some((file) => file.path === name && file.state === 'broken'));
}

const ended = (upload: GrantedUpload) => world.shows(upload.id, ({ status }) => status !== 'uploading');

describe('0x1206', () => {
  it('success completes an upload that is whole, closes its session, frees the camera and is told once for all to keep', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000, 'b.mp4': 500 });
    const told: unknown[] = [];
    const listener = listenFor(
      world.bus,
      uploadChanged,
      () => undefined,
      (body) => told.push(body),
      `upload.${upload.id}.*`,
    );
    const control = await world.raw(upload);
    await world.tells(upload.imei, upload.serial, 0);
    const record = await ended(upload);
    expect(record).toMatchObject({ status: 'completed', filesize: 1_500, filename: 'b.mp4', result: { code: 0 } });
    await control.until(() => control.isClosed);
    expect(control.said).toContain('421 ');
    await until(() => told.length > 0);
    listener.stop();
    expect(told.at(-1)).toMatchObject({ uploadId: upload.id, status: 'completed', filesize: 1_500 });
    const stream = await (await world.bus.jetstreamManager()).streams.getMessage('UPLOADS', {
      last_by_subj: `upload.${upload.id}.closed`,
    });
    expect(stream.json()).toMatchObject({ status: 'completed' });
    const next = await world.reserve({}, { imei: upload.imei, channel: 9 });
    expect(await world.records.takeCamera(upload.imei, next._id, next.reservedUntilMs)).toBe(true);
  });

  it('failure fails it, with what has come kept', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await world.tells(upload.imei, upload.serial, 1);
    expect(await ended(upload)).toMatchObject({ status: 'failed', filesize: 1_000, result: { code: 1 } });
    expect(world.read(upload, 'a.mp4').length).toBe(1_000);
  });

  it('from before the upload was asked for is about an earlier one of the same serial', async () => {
    const upload = await world.granted();
    await world.tells(upload.imei, upload.serial, 1, Date.now() - 60_000);
    // One that counts is read behind it.
    const other = await world.granted();
    await world.tells(other.imei, other.serial, 1);
    expect(await ended(other)).toMatchObject({ status: 'failed' });
    expect(await world.record(upload.id)).toMatchObject({ status: 'uploading', result: null });
  });

  it('of another serial is not about it; of a serial that was lost, it is the only one', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await world.tells(upload.imei, upload.serial + 1, 1);
    await until(async () => (await world.metric('upload_ftp_results_total')).includes('outcome="unmatched"'));
    expect((await world.record(upload.id)).status).toBe('uploading');
    await world.records.set(upload.id, ['uploading'], { commandSerialNo: null, reservedUntilMs: Date.now() - 1 });
    await world.tells(upload.imei, 12_345, 0);
    expect((await ended(upload)).status).toBe('completed');
  });

  it('that is faster than the record of its upload waits for it', async () => {
    const reserved = await world.reserve();
    const { username, password } = await world.grant(reserved._id);
    await world.tells(reserved.clip.imei, 77, 0);
    const camera = await world.camera({ username, password });
    await camera.uploadFrom(Readable.from([clip]), 'a.mp4');
    expect((await world.record(reserved._id)).result).toBeNull();
    await world.records.set(reserved._id, ['uploading'], { commandSerialNo: 77 });
    await world.shows(reserved._id, ({ status }) => status === 'completed');
  });

  it('success during a transfer waits for its end, and an older one says nothing of what came after it', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    data.write(clip.subarray(0, 100));
    await world.shows(upload.id, ({ filesize }) => filesize === 100);
    await world.tells(upload.imei, upload.serial, 1, Date.now() - 60_000);
    await world.tells(upload.imei, upload.serial, 0);
    await world.shows(upload.id, ({ result }) => result?.code === 0);
    expect((await world.record(upload.id)).status).toBe('uploading');
    data.end(clip.subarray(100));
    await control.hears(226);
    expect(await ended(upload)).toMatchObject({ status: 'completed', filesize: clip.length });
  });

  it('success of a camera that began again under another name completes with the whole file; the part goes', async () => {
    const upload = await world.granted();
    await cutOff(upload, 'a.mp4', 300);
    const camera = await world.camera(upload);
    await camera.uploadFrom(Readable.from([clip]), 'a(1).mp4');
    await world.tells(upload.imei, upload.serial, 0);
    expect(await ended(upload)).toMatchObject({
      status: 'completed',
      filesize: clip.length,
      files: [{ path: 'a(1).mp4' }],
    });
    await until(() => {
      try {
        world.read(upload, 'a.mp4');
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
        const camera = await world.camera(upload);
        await camera.uploadFrom(Readable.from([clip.subarray(0, 100)]), 'c.mp4');
      },
    ],
  ])('success completes nothing while %s: it fails after its time', async (_what, spoil) => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await spoil(upload);
    await world.tells(upload.imei, upload.serial, 0);
    const record = await ended(upload);
    expect(record.status).toBe('failed');
    expect(record.changedAtMs - (record.result?.atMs ?? 0)).toBeGreaterThanOrEqual(unconfirmedMs);
  });

  it('success without a byte fails after its time: a camera that was sent elsewhere', async () => {
    const upload = await world.granted({ mobileNetwork: false });
    await world.tells(upload.imei, upload.serial, 0);
    expect(await ended(upload)).toMatchObject({ status: 'failed', filesize: 0, filename: null });
  });

  it('failure of a paused camera is only its stop; success of one that was done all the same completes it', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    await world.records.transition(upload.id, ['uploading'], 'paused');
    await world.tells(upload.imei, upload.serial, 1);
    await until(async () => (await world.metric('upload_ftp_results_total')).includes('outcome="ignored"'));
    expect((await world.record(upload.id)).status).toBe('paused');
    await world.tells(upload.imei, upload.serial, 0);
    expect((await world.shows(upload.id, ({ status }) => status !== 'paused')).status).toBe('completed');
  });

  it('that can not be read costs nothing but itself', async () => {
    await world.bus.js.publish('event.1.1206', Buffer.from([1]));
    await until(async () => (await world.metric('upload_ftp_results_total')).includes('outcome="unreadable"'));
    const manager = await world.bus.jetstreamManager();
    await until(async () => (await manager.consumers.info('EVENTS', 'upload-ftp-results')).num_ack_pending === 0);
    expect(await world.metric('upload_ftp_results_total')).toContain('outcome="unreadable",service="upload-ftp"} 1');
  });
});

describe('0x1206 of an upload to another FTP server', () => {
  it('alone completes it, and the next clip of the camera can be requested', async () => {
    const upload = await world.granted({ external: true });
    await world.tells(upload.imei, upload.serial, 0);
    expect(await ended(upload)).toMatchObject({ status: 'completed', external: true, filesize: 0, filename: null });
    await until(() => world.records.takeCamera(upload.imei, 'f'.repeat(24), Date.now() + 60_000));
  });
});

describe('without 0x1206', () => {
  it('a clean close and QUIT complete it after its time', async () => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    const control = await world.raw(upload);
    await control.says('QUIT', 221);
    expect((await world.record(upload.id)).hasQuit).toBe(true);
    const record = await ended(upload);
    expect(record.status).toBe('completed');
    expect(record.changedAtMs - (record.lastByteAtMs ?? 0)).toBeGreaterThanOrEqual(unconfirmedMs);
  });

  it('QUIT behind a broken transfer is no sign, nor is one before the last transfer', async () => {
    const upload = await world.granted();
    await cutOff(upload, 'a.mp4', 10);
    const control = await world.raw(upload);
    await control.says('QUIT', 221);
    expect((await world.record(upload.id)).hasQuit).toBe(false);
    const other = await uploaded({ 'a.mp4': 1_000 });
    await (await world.raw(other)).says('QUIT', 221);
    await world.shows(other.id, ({ hasQuit }) => hasQuit);
    await cutOff(other, 'a.mp4', 10);
    expect((await world.record(other.id)).hasQuit).toBe(false);
  });

  /** A gateway that answers 0x9205 with recordings of these sizes. */
  async function listing(imei: string, sizes: readonly number[]) {
    const asked: IncomingCommand['command'][] = [];
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
    const answer: Outcome = {
      kind: 'answered',
      answer: {
        commandMessageId: 0x9205,
        commandSerialNo: 5,
        result: null,
        message: { id: 0x1205, edition: '2013', bodyBase64: body.toString('base64') },
      },
    };
    const server = new DeviceCommandServer(world.bus, {
      handler: async ({ command }) => {
        asked.push(command);
        return answer;
      },
      onError: () => undefined,
    });
    server.open(imei);
    const disconnect = await world.connectDevice(imei);
    return { asked, stop: async () => Promise.all([server.stop(), disconnect()]) };
  }

  it.each([
    ['as many bytes as the camera lists complete it', [1_000], 'completed'],
    ['fewer bytes than it lists fail it', [1_001], 'failed'],
    ['fewer bytes than its recordings together fail it', [600, 600], 'failed'],
    ['a list without the clip fails it', [], 'failed'],
  ] as const)('and without QUIT, %s', async (_what, sizes, status) => {
    const upload = await uploaded({ 'a.mp4': 1_000 });
    const gateway = await listing(upload.imei, sizes);
    expect((await ended(upload)).status).toBe(status);
    // In the camera's own time, eight hours ahead.
    expect(gateway.asked[0]).toMatchObject({
      kind: 'listRecordings',
      channel: 1,
      startTime: '260131160000',
      endTime: '260131160100',
    });
    await gateway.stop();
  });
});

describe('silence', () => {
  it('of a connected device fails an upload after its first byte; time without the device does not count', async () => {
    const upload = await world.granted({ mobileNetwork: false });
    await cutOff(upload, 'a.mp4', 100);
    await until(async () => Date.now() - ((await world.record(upload.id)).lastByteAtMs ?? 0) > silenceMs + 500);
    expect(await world.record(upload.id)).toMatchObject({ status: 'uploading', silentMs: 0 });
    const disconnect = await world.connectDevice(upload.imei);
    const record = await ended(upload);
    expect(record.status).toBe('failed');
    expect(record.silentMs).toBeGreaterThanOrEqual(silenceMs);
    await disconnect();
  });

  it('before the first byte counts only where the mobile network is allowed; else the wait is the long one', async () => {
    const [mobile, other] = await Promise.all([world.granted(), world.granted({ mobileNetwork: false })]);
    const ends = await Promise.all([world.connectDevice(mobile.imei), world.connectDevice(other.imei)]);
    expect((await ended(mobile)).status).toBe('failed');
    const record = await ended(other);
    expect(record.status).toBe('failed');
    expect(record.changedAtMs - record.createdAtMs).toBeGreaterThanOrEqual(patienceMs);
    await Promise.all(ends.map((end) => end()));
  });

  it('ends with a byte: a slow camera is not a silent one', async () => {
    const upload = await world.granted();
    const disconnect = await world.connectDevice(upload.imei);
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR slow.mp4', 150);
    const drip = setInterval(() => data.write('x'), 200);
    await world.shows(
      upload.id,
      ({ filesize, createdAtMs }) => filesize > 20 && Date.now() - createdAtMs > 1.5 * silenceMs,
    );
    expect((await world.record(upload.id)).status).toBe('uploading');
    clearInterval(drip);
    data.destroy();
    await disconnect();
  });

  it('is no matter while paused, until that takes too long', async () => {
    const upload = await world.granted();
    const disconnect = await world.connectDevice(upload.imei);
    await cutOff(upload, 'a.mp4', 100);
    await world.records.transition(upload.id, ['uploading'], 'paused');
    const paused = await world.record(upload.id);
    const record = await world.shows(upload.id, ({ status }) => status !== 'paused');
    expect(record.status).toBe('failed');
    expect(record.changedAtMs - paused.changedAtMs).toBeGreaterThanOrEqual(pausedMs);
    await disconnect();
  });

  it('is not needed where the credential is lost: nobody could log in any more', async () => {
    const upload = await world.granted({ mobileNetwork: false });
    await world.records.set(upload.id, ['uploading'], { credential: null });
    expect((await ended(upload)).status).toBe('failed');
  });
});

describe('what a crash leaves', () => {
  it('is removed: reservations that nobody waits for, locks, files of uploads that are cancelled or gone', async () => {
    const late = await world.reserve({ reservedUntilMs: Date.now() - 1 });
    const cancelled = await uploaded({ 'a.mp4': 10 });
    const gone = await uploaded({ 'a.mp4': 10 });
    const kept = await uploaded({ 'a.mp4': 10 });
    await world.records.transition(cancelled.id, ['uploading'], 'cancelled');
    await world.records.remove(gone.id, ['uploading']);
    await until(async () => (await world.records.find(late._id)) === null);
    await until(() => !world.hasDirectory(cancelled) && !world.hasDirectory(gone));
    expect(world.hasDirectory(kept)).toBe(true);
  });

  it('is mended: a file that a dead pod was receiving is broken', async () => {
    const startedAtMs = Date.now() - 3_600_000;
    const upload = await world.granted({
      files: [{ path: 'a.mp4', bytes: 5, state: 'receiving', startedAtMs }],
      filesize: 5,
      filename: 'a.mp4',
      lastByteAtMs: startedAtMs,
    });
    await world.records.set(upload.id, ['uploading'], {
      server: { podId: 'dead-pod', httpUrl: 'http://127.0.0.1:1' },
      changedAtMs: startedAtMs,
    });
    const record = await world.shows(upload.id, ({ files }) => files[0]?.state === 'broken');
    expect(record.status).toBe('uploading');
  });
});

describe('removal over the bus', () => {
  it('ends what runs, takes the whole directory, and succeeds where there is nothing', async () => {
    const upload = await world.granted();
    const control = await world.raw(upload);
    const data = await control.passive();
    await control.says('STOR a.mp4', 150);
    data.write(clip);
    await world.shows(upload.id, ({ filesize }) => filesize === clip.length);
    expect(await world.removeFiles(upload.id)).toEqual({});
    await control.hears(426);
    expect(world.hasDirectory(upload)).toBe(false);
    expect(world.openFiles()).toEqual([]);
    await control.says('MKD again', 550);
    expect(world.hasDirectory(upload)).toBe(false);
    expect(await world.removeFiles(upload.id)).toEqual({});
    expect(await world.removeFiles('0'.repeat(24))).toEqual({});
  });
});
