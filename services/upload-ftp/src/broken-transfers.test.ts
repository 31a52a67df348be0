import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { RawControl } from './testing/raw-control.ts';
import { clipBytes, type GrantedUpload, sha256, UploadHarness } from './testing/upload-harness.ts';
import type { OpenFile } from './uploads/active-upload.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const total = 400_000;
const clip = clipBytes(total, 42);
/** Size at which a file finds the disk full, by the end of its name. */
let diskEnds = new Map<string, number>();

/** Simulates a disk that becomes full at a given size, even within one write. */
const openFile: OpenFile = async (path, isNew) => {
  const file = await open(path, isNew ? 'w' : 'r+');
  const name = [...diskEnds.keys()].find((end) => path.endsWith(end));
  if (name === undefined) return file;
  return {
    datasync: () => file.datasync(),
    close: () => file.close(),
    write: (buffer, offset, length, position) => {
      const room = (diskEnds.get(name) ?? Number.POSITIVE_INFINITY) - position;
      if (room <= 0) return Promise.reject(Object.assign(new Error(`ENOSPC: ${path}`), { code: 'ENOSPC' }));
      return file.write(buffer, offset, Math.min(length, room), position);
    },
  };
};

let harness: UploadHarness;
beforeAll(async () => {
  harness = await UploadHarness.start(
    {
      FTP_DATA_IDLE_MS: '2000',
      FTP_LOST_CONTROL_GRACE_MS: '300',
      // Long enough for a camera to reconnect on a busy machine.
      UPLOAD_UNCONFIRMED_MS: '4000',
      // Ends while the camera is repeatedly queried without a response.
      UPLOAD_SILENCE_MS: '5000',
    },
    { openFile },
  );
});
afterAll(() => harness.stop());
afterEach(async () => {
  diskEnds = new Map();
  await waitFor(() => harness.openFiles().length === 0);
});

interface Running {
  readonly upload: GrantedUpload;
  readonly control: RawControl;
  readonly data: Socket;
}

/** Starts a transfer and sends this share of its bytes. */
async function sent(share: number, name = 'a.mp4'): Promise<Running> {
  const upload = await harness.createGrantedUpload();
  const control = await harness.raw(upload);
  const data = await control.openPassive();
  await control.sendCommand(`STOR ${name}`, 150);
  data.write(clip.subarray(0, Math.trunc(total * share)));
  return { upload, control, data };
}

const received = ({ upload }: Running, share: number) =>
  harness.waitForRecord(upload.id, ({ filesize }) => filesize === Math.trunc(total * share));

/** The ways to interrupt a transfer, with the reply code that a connected camera receives. */
const breaks: [string, (running: Running) => Promise<void>, number | null][] = [
  ['the data connection is reset', async ({ data }) => void data.resetAndDestroy(), 426],
  ['the control connection is lost', async ({ control }) => void control.socket.destroy(), null],
  ['the control connection is reset', async ({ control }) => void control.socket.resetAndDestroy(), null],
  ['no more data arrives', async () => undefined, 426],
];

describe.each([0.1, 0.5, 0.99])('transfer interrupted at %f of its bytes', (share) => {
  it.each(breaks)('retains its bytes and is not counted as whole when %s', async (_what, cut, code) => {
    const running = await sent(share);
    const { upload, control } = running;
    await received(running, share);
    await cut(running);
    if (code !== null) await control.expectReply(code);
    await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state === 'broken');
    await waitFor(() => harness.openFiles().length === 0);
    // A result that is wrong, or that belongs to another attempt.
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    const record = await harness.waitForRecord(upload.id, ({ result }) => result?.code === 0);
    expect(record).toMatchObject({ status: 'uploading', filesize: Math.trunc(total * share) });
    await resumeAndComplete(upload, 'append');
  });

  it('counts as whole after an early FIN, but fails without confirmation by the camera', async () => {
    const running = await sent(share);
    const { upload, control, data } = running;
    const disconnect = await harness.connectDevice(upload.imei);
    data.end();
    await control.expectReply(226);
    expect(await harness.readRecord(upload.id)).toMatchObject({ status: 'uploading', files: [{ state: 'whole' }] });
    control.socket.destroy();
    const record = await harness.waitForRecord(upload.id, ({ status }) => status !== 'uploading');
    // There is no QUIT and no 0x1206, and the device does not respond to the query of the file size.
    expect(record.status).toBe('failed');
    await disconnect();
  });

  it('ends with 452 on a full disk, retains its bytes and resumes once there is space', async () => {
    const full = Math.trunc(total * share);
    diskEnds.set('full.mp4', full);
    const running = await sent(1, 'full.mp4');
    const { upload, control } = running;
    const reply = await control.expectReply(452);
    expect(reply).not.toContain(harness.clipsDir);
    const record = await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state === 'broken');
    expect(record.filesize).toBe(full);
    await harness.publishUploadResult(upload.imei, upload.serial, 0);
    await harness.waitForRecord(upload.id, ({ result }) => result !== null);
    expect((await harness.readRecord(upload.id)).status).toBe('uploading');
    diskEnds.clear();
    await resumeAndComplete(upload, 'append', 'full.mp4');
  });

  it.each(['rest', 'zero'] as const)('is completed by a later upload: %s', async (how) => {
    const running = await sent(share);
    await received(running, share);
    running.data.resetAndDestroy();
    await running.control.expectReply(426);
    await resumeAndComplete(running.upload, how);
    expect(harness.openFiles()).toEqual([]);
  });
});

async function resumeAndComplete(upload: GrantedUpload, how: 'append' | 'rest' | 'zero', name = 'a.mp4') {
  const control = await harness.raw(upload);
  const size = how === 'zero' ? 0 : Number((await control.sendCommand(`SIZE ${name}`, 213)).slice(4));
  if (how === 'rest') await control.sendCommand(`REST ${size}`, 350);
  const data = await control.openPassive();
  await control.sendCommand(`${how === 'append' ? 'APPE' : 'STOR'} ${name}`, 150);
  data.end(clip.subarray(size));
  await control.expectReply(226);
  expect(sha256(harness.read(upload, name))).toBe(sha256(clip));
  await harness.publishUploadResult(upload.imei, upload.serial, 0);
  const record = await harness.waitForRecord(upload.id, ({ status }) => status === 'completed');
  expect(record).toMatchObject({ filesize: total, filename: name, files: [{ path: name, bytes: total }] });
}

describe('interrupted transfer', () => {
  it('is complete after three interruptions of different kinds', async () => {
    const upload = await harness.createGrantedUpload();
    for (const [index, [, cut]] of breaks.slice(0, 3).entries()) {
      const control = await harness.raw(upload);
      const from = Math.trunc((total / 4) * index);
      const data = await control.openPassive();
      await control.sendCommand('APPE a.mp4', 150);
      data.write(clip.subarray(from, Math.trunc((total / 4) * (index + 1))));
      await harness.waitForRecord(upload.id, ({ filesize }) => filesize === Math.trunc((total / 4) * (index + 1)));
      await cut({ upload, control, data });
      await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state === 'broken');
    }
    await resumeAndComplete(upload, 'append');
    expect(harness.openFiles()).toEqual([]);
  });

  it('is whole if the camera closes both connections while the last bytes are in transit', async () => {
    const { upload, control, data } = await sent(1);
    data.end();
    control.socket.end();
    const record = await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state !== 'receiving');
    expect(record.files).toMatchObject([{ state: 'whole', bytes: total }]);
  });

  it('continues after a QUIT that the camera sent during the transfer', async () => {
    const { upload, control, data } = await sent(0.5);
    await control.write('QUIT\r\n');
    control.socket.end();
    await control.waitUntil(() => control.isClosed);
    data.end(clip.subarray(total / 2));
    const record = await harness.waitForRecord(upload.id, ({ files }) => files[0]?.state !== 'receiving');
    expect(record.files).toMatchObject([{ state: 'whole', bytes: total }]);
    expect(sha256(harness.read(upload, 'a.mp4'))).toBe(sha256(clip));
  });

  it('ends with 552 beyond the size limit, and further transfers are refused', async () => {
    await harness.service.stop();
    await harness.startService({ MAX_CLIP_BYTES: '1000', MAX_CLIP_FILES: '3' });
    try {
      const upload = await harness.createGrantedUpload();
      const camera = await harness.camera(upload);
      const put = (bytes: Buffer, name: string) => camera.uploadFrom(Readable.from([bytes]), name);
      await put(clip.subarray(0, 400), 'one.mp4');
      await expect(put(clip.subarray(0, 700), 'two.mp4')).rejects.toMatchObject({ code: 552 });
      await harness.waitForRecord(upload.id, ({ files }) => files[1]?.state === 'broken');
      expect(await harness.readRecord(upload.id)).toMatchObject({
        filesize: 1_000,
        files: [{ bytes: 400 }, { bytes: 600 }],
      });
      await expect(put(clip.subarray(0, 1), 'three.mp4')).rejects.toMatchObject({ code: 552 });
      // Replaces the file that was too large.
      await put(clip.subarray(0, 600), 'two.mp4');
      const control = await harness.raw(upload);
      for (const name of ['d1', 'd1/d2', 'd3']) await control.sendCommand(`MKD ${name}`, 257);
      await control.sendCommand('MKD d4', 552);
      await control.sendCommand(`MKD ${'a/'.repeat(20)}`, 553);
      await control.sendCommand(`MKD ${'n'.repeat(300)}`, 553);
    } finally {
      await harness.service.stop();
      await harness.startService();
    }
  });
});

describe('process end', () => {
  it('lets transfers end within the grace period, refuses grants and aborts remaining transfers', async () => {
    await harness.service.stop();
    await harness.startService({ FTP_DATA_IDLE_MS: '30000', FTP_STOP_GRACE_MS: '4000' });
    const other = await sent(0.5);
    const slow = await sent(0.5);
    await Promise.all([received(other, 0.5), received(slow, 0.5)]);
    const stopping = harness.service.stop();
    const isGranted = async (): Promise<boolean> => {
      const record = await harness.reserve();
      return (await harness.grantUpload(record._id).catch(() => undefined)) !== undefined;
    };
    await waitFor(async () => !(await isGranted()));
    other.data.end(clip.subarray(total / 2));
    await other.control.expectReply(226);
    // Data keeps arriving, but not the end.
    const drip = setInterval(() => slow.data.write('x'), 100);
    await slow.control.waitUntil(() => slow.control.isClosed);
    clearInterval(drip);
    await stopping;
    expect(await harness.readRecord(other.upload.id)).toMatchObject({ filesize: total, files: [{ state: 'whole' }] });
    expect(await harness.readRecord(slow.upload.id)).toMatchObject({ files: [{ state: 'broken' }] });
    await harness.startService();
    await resumeAndComplete(other.upload, 'zero');
  });

  it('after a kill, the next start reads sizes from the disk, marks files as broken and retains credentials', async () => {
    const upload = await harness.createGrantedUpload();
    const camera = await harness.camera(upload);
    await camera.uploadFrom(Readable.from([clip.subarray(0, 1_000)]), 'a.mp4');
    camera.close();
    // The state after a kill: the recorded progress is up to a second old.
    await harness.service.stop();
    const record = await harness.readRecord(upload.id);
    const files = record.files.map((file) => ({ ...file, bytes: 900, state: 'receiving' as const }));
    await harness.records.set(upload.id, ['uploading'], { files, filesize: 900 });
    await harness.startService();
    await harness.waitForRecord(upload.id, ({ filesize }) => filesize === 1_000);
    expect((await harness.readRecord(upload.id)).files).toMatchObject([{ bytes: 1_000, state: 'broken' }]);
    await resumeAndComplete(upload, 'append');
  });
});
