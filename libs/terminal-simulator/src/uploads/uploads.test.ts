import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { decodeBody, fileUploadResult } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { decodedFrameHashes } from '../media/frame-hashes.ts';
import { padMp4 } from '../media/recording-file.ts';
import { UploadHarness } from '../testing/upload-harness.ts';

jest.setTimeout(60_000);

let cacheDir: string;
let harness: UploadHarness;

beforeAll(async () => {
  cacheDir = await UploadHarness.createCache();
});

afterAll(() => UploadHarness.removeCache(cacheDir));

beforeEach(async () => {
  harness = await UploadHarness.open(cacheDir);
});

afterEach(() => harness.close());

const findFrames = async (name: string, content: Buffer): Promise<string[]> => {
  const file = path.join(cacheDir, name);
  await writeFile(file, content);
  return decodedFrameHashes(file);
};

describe('upload by FTP (0x9206)', () => {
  it('stores a playable file of the listed size, and reports the result', async () => {
    await harness.start();
    const serial = harness.requestUpload({ seconds: 2 });
    const end = await harness.platform.waitForFrame(0x1206);
    expect(decodeBody(fileUploadResult, end.body)).toEqual({ replySerial: serial, result: 0 });
    const [[name, content] = ['', Buffer.alloc(0)]] = [...harness.ftp.files];
    expect(name).toBe('/upload-1/CH1_20260801115958_20260801120000.mp4');
    expect(content.length).toBe(harness.terminal.recordings.at(-1)?.fileSizeBytes);
    expect(await findFrames('uploaded.mp4', content)).toHaveLength(20);
    expect(harness.ftp.commands.at(-1)).toBe('QUIT');
  });

  it('creates the same bytes for every request of a clip, and returns them in advance', async () => {
    await harness.start();
    const [[first], [second]] = [await harness.expectedFiles(), await harness.expectedFiles()];
    expect(first?.sha256).toBe(second?.sha256);
    harness.requestUpload();
    await harness.waitForNotice();
    expect(harness.ftp.files.get(`/upload-1/${first?.path}`)?.equals(first?.content ?? Buffer.alloc(0))).toBe(true);
  });

  it('sends one file per recording if configured, with custom names and directories', async () => {
    await harness.start({
      uploadFiles: 'perRecording',
      uploadDirectory: '2026-08-01/ch1',
      uploadFileName: ({ channel, index }) => `part/${channel}-${index}.mp4`,
    });
    const serial = harness.requestUpload();
    expect(await harness.waitForNotice()).toBe(0);
    const expected = await harness.expectedFiles();
    expect(expected).toHaveLength(2);
    expect([...harness.ftp.files]).toEqual(
      expected.map((file, index) => [`/upload-1/2026-08-01/ch1/part/1-${index}.mp4`, file.content]),
    );
    expect(harness.terminal.uploads.records[0]).toMatchObject({ serial, state: 'completed', attempts: 1 });
  });

  it("pauses without a notice, resumes after the server's bytes, and completes", async () => {
    await harness.start({ uploadBytesPerSecond: 200_000 });
    const serial = harness.requestUpload();
    await waitFor(() => [...harness.ftp.files.values()].some((file) => file.length > 20_000), 'first bytes');
    harness.sendControl(serial, 0);
    await waitFor(() => harness.terminal.uploads.records[0]?.state === 'paused', 'paused');
    expect(harness.terminal.uploads.isBusy).toBe(false);
    harness.sendControl(serial, 1);
    expect(await harness.waitForNotice()).toBe(0);
    expect(harness.ftp.commands.filter((command) => command.startsWith('APPE'))).toHaveLength(1);
    const [expected] = await harness.expectedFiles();
    const [content = Buffer.alloc(0)] = [...harness.ftp.files.values()];
    expect(content.equals(expected?.content ?? Buffer.alloc(0))).toBe(true);
    expect(await findFrames('resumed.mp4', content)).toHaveLength(40);
  });

  it('holds its connections during a pause if configured', async () => {
    await harness.start({ uploadBytesPerSecond: 200_000, uploadPause: 'hold' });
    const serial = harness.requestUpload();
    await waitFor(() => [...harness.ftp.files.values()].some((file) => file.length > 20_000), 'first bytes');
    harness.sendControl(serial, 0);
    await waitFor(() => harness.terminal.uploads.records[0]?.state === 'paused', 'paused');
    harness.sendControl(serial, 1);
    expect(await harness.waitForNotice()).toBe(0);
    expect(harness.terminal.uploads.records[0]?.attempts).toBe(1);
    expect(harness.ftp.transfers).toEqual(['whole']);
  });

  it('uploads another clip during a pause, and resumes the first afterwards', async () => {
    await harness.start({ uploadBytesPerSecond: 100_000 });
    const first = harness.requestUpload({ path: '/a' });
    await waitFor(() => [...harness.ftp.files.values()].some((file) => file.length > 20_000), 'first bytes');
    harness.sendControl(first, 0);
    await waitFor(() => harness.terminal.uploads.records[0]?.state === 'paused', 'paused');
    const second = harness.requestUpload({ path: '/b', seconds: 2 });
    await waitFor(() => harness.terminal.uploads.records.length === 2, 'second');
    harness.sendControl(first, 1);
    await waitFor(() => harness.results.length === 4, 'refusal');
    expect(harness.results).toEqual([0, 0, 0, 1]);
    expect(decodeBody(fileUploadResult, (await harness.platform.waitForFrame(0x1206)).body).replySerial).toBe(second);
    harness.sendControl(first, 1);
    await waitFor(() => harness.platform.framesWithId(0x1206).length === 2, 'both ends');
    const [expected] = await harness.expectedFiles();
    expect(harness.ftp.files.get(`/a/${expected?.path}`)?.equals(expected?.content ?? Buffer.alloc(0))).toBe(true);
  });

  it('refuses a second concurrent upload, and cancels without 0x1206', async () => {
    await harness.start({ uploadBytesPerSecond: 50_000 });
    const serial = harness.requestUpload();
    await waitFor(() => harness.ftp.files.size === 1, 'upload');
    harness.requestUpload();
    harness.sendControl(serial, 2);
    await waitFor(() => harness.results.length === 3, 'responses');
    expect(harness.results).toEqual([0, 1, 0]);
    expect(harness.terminal.uploads.records.map((record) => record.state)).toEqual(['cancelled']);
    harness.sendControl(serial, 1);
    await waitFor(() => harness.results.length === 4, 'refusal');
    expect(harness.results.at(-1)).toBe(1);
    expect(harness.platform.framesWithId(0x1206)).toEqual([]);
  });

  it('reports failure if the server refuses the log-in', async () => {
    await harness.start();
    harness.requestUpload({ password: 'wrong' });
    expect(await harness.waitForNotice()).toBe(1);
    expect(harness.terminal.uploads.records[0]).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: expect.stringContaining('530'),
    });
  });

  it('repeats the notice on the next connection if the platform does not acknowledge it', async () => {
    await harness.start({ uploadBytesPerSecond: 300_000, reconnect: { minMs: 300, maxMs: 300 } });
    harness.requestUpload();
    await waitFor(() => harness.ftp.files.size === 1, 'upload');
    harness.platform.isAcknowledging = false;
    await harness.waitForNotice();
    harness.platform.isAcknowledging = true;
    harness.platform.dropAll();
    await waitFor(() => harness.platform.framesWithId(0x1206).length === 2, 'repetition');
    expect(new Set(harness.platform.framesWithId(0x1206).map((frame) => frame.connection)).size).toBe(2);
  });
});

describe('padMp4', () => {
  it('adds a box that players skip, and leaves a sufficiently long file unchanged', () => {
    const padded = padMp4(Buffer.from('abcd'), 20);
    expect(padded).toHaveLength(20);
    expect(padded.toString('hex', 4, 12)).toBe('0000001066726565');
    expect(padMp4(Buffer.from('abcd'), 8).toString()).toBe('abcd');
  });
});
