import { existsSync } from 'node:fs';
import { decodeBody, type Edition, fileUploadControl, fileUploadRequest } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  leaseHarness,
  type ProductHarness,
  shortWaitSettings,
  type TerminalSetup,
  uniquePhone,
} from './testing/harness.ts';
import { findDefects, sha256, UploadCamera, uploadAction } from './testing/upload-camera.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;

beforeAll(async () => {
  harness = await leaseHarness(shortWaitSettings);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

/** Leaves some seconds for actions in the middle of a file. */
const slowly = { uploadBytesPerSecond: 60_000 };
const accepted = (videoId: string, result = 'success') => ({
  status: 200,
  body: { response_id: '0x9206', result, video_id: videoId },
});
const refusal = (status: number, text = '') => ({ status, body: { status, error: expect.stringContaining(text) } });

const decodeRequests = ({ terminal }: UploadCamera) =>
  terminal.receivedFrames(0x9206).map(({ body }) => decodeBody(fileUploadRequest, body, terminal.options.edition));
const decodeControls = ({ terminal }: UploadCamera) =>
  terminal.receivedFrames(0x9207).map(({ body }) => decodeBody(fileUploadControl, body, terminal.options.edition));

const editions: [string, Edition, 12 | 20][] = [
  ['2011', '2011', 12],
  ['2013', '2013', 12],
  ['2019 with 12 digits', '2019', 12],
  ['2019 with 20 digits', '2019', 20],
];

describe.each(editions)('a terminal of %s', (_name, edition, digits) => {
  const start = (setup: TerminalSetup = {}): Promise<UploadCamera> =>
    UploadCamera.start(harness, { edition, phone: uniquePhone(digits), ...setup });

  it('uploads a clip once, byte for byte; it is listed, downloaded and deleted', async () => {
    const camera = await start();
    const clip = camera.getClip(1);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);

    const upload = await camera.getUpload(videoId);
    const time = (ms: number): string => `${new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`;
    const [file] = await camera.readFiles(clip);
    expect(upload).toEqual({
      video_id: videoId,
      imei: camera.terminal.phone,
      channel: 1,
      video_start_time: time(clip.startMs),
      video_end_time: time(clip.endMs),
      filesize: file?.content.length,
      status: 'completed',
      filename: file?.path,
    });
    expect(await camera.requestClip(clip)).toMatchObject(accepted(videoId, 'completed'));
    expect(decodeRequests(camera)).toHaveLength(1);
    // Lists return the number as sent: terminals of 2019 send twenty digits, whatever the length of their number.
    const listed = { ...upload, imei: camera.terminal.phone.padStart(edition === '2019' ? 20 : 12, '0') };
    expect(await camera.listUploads()).toMatchObject({ status: 200, body: { total: 1, videos: [listed] } });
    expect(await camera.listUploads('&channel=2')).toMatchObject({ status: 200, body: { total: 0, videos: [] } });

    expect(existsSync(camera.directory(videoId))).toBe(true);
    expect(await camera.deleteUpload(videoId)).toMatchObject({ status: 200, body: upload });
    expect(existsSync(camera.directory(videoId))).toBe(false);
    expect(await camera.deleteUpload(videoId)).toMatchObject(refusal(404));
    expect((await camera.download(videoId)).status).toBe(404);
    expect(await camera.listUploads()).toMatchObject({ body: { total: 0 } });
  });

  it('pauses, resumes and cancels in the middle of a file', async () => {
    const camera = await start(slowly);
    const clip = camera.getClip(2);
    const videoId = await camera.upload(clip);
    await camera.waitForBytes(videoId);
    expect(await camera.control(videoId, uploadAction.resume)).toMatchObject(refusal(409));
    expect(await camera.control(videoId, uploadAction.pause)).toMatchObject({
      status: 200,
      body: { status: 'paused' },
    });
    expect(camera.terminal.uploads.records[0]?.state).toBe('paused');
    expect(await camera.control(videoId, uploadAction.pause)).toMatchObject(refusal(409));
    expect(await camera.requestClip(clip)).toMatchObject(accepted(videoId, 'paused'));
    expect(await camera.deleteUpload(videoId)).toMatchObject(refusal(403));
    const paused = await camera.getUpload(videoId);
    expect(paused.filesize).toBeGreaterThan(0);

    const resumed = await camera.control(videoId, uploadAction.resume);
    expect(resumed).toMatchObject({ status: 200, body: { status: 'uploading' } });
    expect(await camera.deleteUpload(videoId)).toMatchObject(refusal(403));
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
    expect(await camera.control(videoId, uploadAction.cancel)).toMatchObject(refusal(409));

    const other = await camera.upload(camera.getClip(3));
    await camera.waitForBytes(other);
    const cancelled = await camera.control(other, uploadAction.cancel);
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled', filesize: 0 } });
    expect(cancelled.body).not.toHaveProperty('filename');
    expect(camera.terminal.uploads.records[1]?.state).toBe('cancelled');
    await waitFor(async () => (await camera.readStoredFiles(other)).length === 0, 'its files to be deleted');
    expect(await camera.requestClip(camera.getClip(3))).toMatchObject(accepted(other, 'cancelled'));
    expect(await camera.deleteUpload(other)).toMatchObject({ status: 200, body: { status: 'cancelled' } });

    const [first, second] = camera.terminal.receivedFrames(0x9206).map(({ serial }) => serial);
    expect(decodeControls(camera)).toEqual([
      { replySerial: first, control: 0 },
      { replySerial: first, control: 1 },
      { replySerial: second, control: 2 },
    ]);
  });
});

describe('a clip', () => {
  it("is the same by both spellings of the number: an upload returns the requested one, a list the terminal's", async () => {
    const camera = await UploadCamera.start(harness, { phone: uniquePhone(20) });
    const clip = camera.getClip(0);
    const twelve = camera.terminal.phone.slice(-12);
    const first = await camera.requestClip(clip, '', twelve);
    const { video_id: videoId } = first.body as { video_id: string };
    await camera.waitForStatus(videoId, 'completed');
    expect(await camera.requestClip(clip)).toMatchObject(accepted(videoId, 'completed'));
    expect(await camera.getUpload(videoId)).toMatchObject({ imei: twelve });
    const byTwelve = await harness.get(`/videos/list?imei=${twelve}`);
    expect(byTwelve).toMatchObject({
      body: { total: 1, videos: [{ video_id: videoId, imei: camera.terminal.phone }] },
    });
  });

  it('differs by channel, stream, storage, resource or alarm, but not by host, port or networks', async () => {
    const camera = await UploadCamera.start(harness);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip, '&wifi=true&lan=false&mobile_network=false');
    await camera.waitForStatus(videoId, 'completed');
    const same = await camera.requestClip(clip, '&host=ftp.example.com&port=2100');
    expect(same).toMatchObject(accepted(videoId, 'completed'));
    const ids = [videoId];
    for (const more of [
      '&stream_type=1',
      '&memory_type=1',
      '&resource_type=0',
      '&alarm=0&resource_type=0&stream_type=1',
    ]) {
      ids.push(await camera.upload(clip, more));
      await camera.waitForStatus(ids.at(-1) ?? '', 'completed');
    }
    ids.push(await camera.upload(camera.getClip(0, { channel: 2 })));
    await camera.waitForStatus(ids.at(-1) ?? '', 'completed');
    expect(new Set(ids).size).toBe(6);
    expect(decodeRequests(camera).map(({ conditions }) => conditions)).toEqual([1, 7, 7, 7, 7, 7]);
  });

  it('is uploaded in several files if the camera has several: their sum, the newest name, downloaded in order', async () => {
    const camera = await UploadCamera.start(harness, {
      ...slowly,
      uploadFiles: 'perRecording',
      uploadDirectory: '2026-08-01/ch1',
      uploadFileName: ({ index }) => `part-${9 - index}.mp4`,
    });
    const clip = camera.getClip(0, { count: 2 });
    const videoId = await camera.upload(clip);
    expect(await camera.waitForBytes(videoId)).toMatchObject({ filename: 'part-9.mp4' });
    expect(await camera.waitForStatus(videoId, 'completed')).toMatchObject({ filename: 'part-8.mp4' });
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it.each([
    ['an active data connection', { uploadDataMode: 'port' }],
    ['an extended passive one', { uploadDataMode: 'epsv' }],
    ['a session that ends without QUIT', { uploadQuits: false }],
    ['its 0x1206 sent before the file is closed', { uploadNotice: 'early' }],
  ] as const)('is uploaded over %s', async (_name, habits) => {
    const camera = await UploadCamera.start(harness, habits);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it('is downloaded by ranges, and as MP4', async () => {
    const camera = await UploadCamera.start(harness);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    const [file] = await camera.readFiles(clip);
    const part = await camera.download(videoId, { range: 'bytes=1000-1999' });
    expect(part.status).toBe(206);
    const bytes = new Uint8Array(await part.arrayBuffer());
    expect(sha256(bytes)).toBe(sha256(file?.content.subarray(1000, 2000) ?? new Uint8Array()));
    const mp4 = await camera.download(videoId, {}, 'mp4');
    expect(mp4.status).toBe(200);
    expect(Buffer.from(await mp4.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp');
  });

  it('returns the bytes received so far, starts over with the camera, and cannot be downloaded before its end', async () => {
    const camera = await UploadCamera.start(harness, {
      ...slowly,
      uploadResume: 'fromZero',
      uploadRetryMs: 1500,
      uploadFaults: [{ how: 'reset', afterBytes: 200_000 }],
    });
    const clip = camera.getClip(0);
    const { body } = await camera.requestClip(clip);
    const { video_id: videoId } = body as { video_id: string };
    const sizes: number[] = [];
    expect((await camera.download(videoId)).status).toBe(409);
    await waitFor(async () => {
      const { filesize } = await camera.getUpload(videoId);
      if (filesize !== sizes.at(-1)) sizes.push(filesize);
      return filesize < Math.max(...sizes);
    }, 'the second beginning');
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200_000);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it("is sent to the caller's host and port, while this product keeps the record", async () => {
    const camera = await UploadCamera.start(harness, { uploadRetryMs: 60_000 });
    const videoId = await camera.upload(camera.getClip(0), '&host=localhost&port=9');
    expect(decodeRequests(camera)).toMatchObject([{ server: 'localhost', port: 9, channel: 1, conditions: 7 }]);
    expect(await camera.getUpload(videoId)).toEqual(expect.not.objectContaining({ filename: expect.anything() }));
    expect(await camera.getUpload(videoId)).toMatchObject({ status: 'uploading', filesize: 0 });
  });
});

describe('a busy camera', () => {
  it('with one channel accepts no other clip; it does when the first is paused, which cannot be resumed then', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const [first, second] = [camera.getClip(0), camera.getClip(1, { channel: 2 })];
    const videoId = await camera.upload(first);
    await camera.waitForBytes(videoId);
    expect(await camera.requestClip(second)).toMatchObject(refusal(409));
    expect(await camera.requestClip(first)).toMatchObject(accepted(videoId, 'uploading'));
    await camera.control(videoId, uploadAction.pause);
    const other = await camera.upload(second);
    await camera.waitForBytes(other);
    expect(await camera.control(videoId, uploadAction.resume)).toMatchObject(refusal(409));
    expect(await camera.getUpload(videoId)).toMatchObject({ status: 'paused' });
    await camera.waitForStatus(other, 'completed');
    expect(await camera.control(videoId, uploadAction.resume)).toMatchObject({
      status: 200,
      body: { status: 'uploading' },
    });
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, first, videoId)).toEqual([]);
    expect(await findDefects(camera, second, other)).toEqual([]);
  });

  it('is free again after a cancel', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const videoId = await camera.upload(camera.getClip(0));
    await camera.control(videoId, uploadAction.cancel);
    const other = await camera.upload(camera.getClip(1));
    expect(await camera.waitForStatus(other, 'completed')).toMatchObject({ status: 'completed' });
  });
});

describe('a camera that does not execute commands', () => {
  it.each([1, 2, 3] as const)('refuses the upload with %i: 502, and no upload remains', async (result) => {
    const camera = await UploadCamera.start(harness);
    camera.terminal.setBehaviour({ kind: 'refusing', result }, 0x9206);
    expect(await camera.requestClip(camera.getClip(0))).toMatchObject(refusal(502));
    expect(await camera.listUploads()).toMatchObject({ body: { total: 0, videos: [] } });
    camera.terminal.resetBehaviour(0x9206);
    await camera.waitForStatus(await camera.upload(camera.getClip(0)), 'completed');
  });

  it('returns 502 for garbage, 504 for silence and 404 when disconnected, and no upload remains', async () => {
    const camera = await UploadCamera.start(harness);
    camera.terminal.setBehaviour({ kind: 'garbage', form: 'cutBody' }, 0x9206);
    expect(await camera.requestClip(camera.getClip(0))).toMatchObject(refusal(502));
    camera.terminal.setBehaviour({ kind: 'silent' }, 0x9206);
    expect(await camera.requestClip(camera.getClip(1))).toMatchObject(refusal(504));
    camera.terminal.hibernate();
    await waitFor(async () => (await camera.requestClip(camera.getClip(2))).status === 404, '404');
    expect(await camera.listUploads()).toMatchObject({ body: { total: 0, videos: [] } });
    camera.terminal.receiveSms('wake up');
    camera.terminal.resetBehaviour(0x9206);
    await camera.terminal.waitUntilOnline(60_000);
    const videoId = await waitFor(async () => {
      const { status, body } = await camera.requestClip(camera.getClip(2));
      return status === 200 ? (body as { video_id: string }).video_id : undefined;
    }, 'the camera to reconnect');
    await camera.waitForStatus(videoId, 'completed');
  });

  it('refuses upload control: 200 with an unchanged upload; silent: 504; disconnected: 404', async () => {
    const camera = await UploadCamera.start(harness, { uploadBytesPerSecond: 20_000 });
    const videoId = await camera.upload(camera.getClip(0));
    camera.terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x9207);
    expect(await camera.control(videoId, uploadAction.pause)).toMatchObject({
      status: 200,
      body: { status: 'uploading' },
    });
    camera.terminal.setBehaviour({ kind: 'silent' }, 0x9207);
    expect(await camera.control(videoId, uploadAction.pause)).toMatchObject(refusal(504));
    camera.terminal.hibernate();
    await waitFor(async () => (await camera.control(videoId, uploadAction.cancel)).status === 404, '404');
    expect(await camera.getUpload(videoId)).toMatchObject({ status: 'uploading' });
  });
});

describe('concurrent actions', () => {
  it('a concurrent pause and cancel give one success and one 409', async () => {
    const camera = await UploadCamera.start(harness, { uploadBytesPerSecond: 20_000 });
    const videoId = await camera.upload(camera.getClip(0));
    await camera.waitForBytes(videoId);
    camera.terminal.setBehaviour({ kind: 'slow', delayMs: 3_000 }, 0x9207);
    const responses = await Promise.all([
      camera.control(videoId, uploadAction.pause),
      camera.control(videoId, uploadAction.cancel),
    ]);
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(decodeControls(camera)).toHaveLength(1);
    const winner = responses.find(({ status }) => status === 200);
    const { status } = await camera.getUpload(videoId);
    expect(winner?.body).toMatchObject({ status });
  });
});

describe('unknown ids', () => {
  it.each(['0123456789abcdef01234567', 'ffffffffffffffffffffffff'])('%s is 404 for every endpoint', async (videoId) => {
    expect(await harness.get(`/videos?video_id=${videoId}`)).toMatchObject(refusal(404));
    expect(await harness.get(`/videos?video_id=${videoId}`, { method: 'DELETE' })).toMatchObject(refusal(404));
    expect(await harness.get(`/videos/control?video_id=${videoId}&action=0`)).toMatchObject(refusal(404));
    expect(await harness.get(`/videos/file?video_id=${videoId}`)).toMatchObject(refusal(404));
  });

  it('a device without uploads has an empty list', async () => {
    expect(await harness.get(`/videos/list?imei=${uniquePhone()}`)).toMatchObject({
      status: 200,
      body: { total: 0, videos: [] },
    });
  });
});
