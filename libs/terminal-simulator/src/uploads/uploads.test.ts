import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { decodeBody, fileUploadResult } from '@fleet/jt808';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { decodedFrameHashes } from '../media/frame-hashes.ts';
import { padMp4 } from '../media/recording-file.ts';
import { UploadBench } from '../testing/upload-bench.ts';
import { waitFor } from '../testing/wait-for.ts';

jest.setTimeout(60_000);

let cacheDir: string;
let bench: UploadBench;

beforeAll(async () => {
  cacheDir = await UploadBench.newCache();
});

afterAll(() => UploadBench.removeCache(cacheDir));

beforeEach(async () => {
  bench = await UploadBench.open(cacheDir);
});

afterEach(() => bench.close());

const framesOf = async (name: string, content: Buffer): Promise<string[]> => {
  const file = path.join(cacheDir, name);
  await writeFile(file, content);
  return decodedFrameHashes(file);
};

describe('upload by FTP (0x9206)', () => {
  it('stores a file that plays, of the size the list states, and tells its end', async () => {
    await bench.start();
    const serial = bench.requestUpload({ seconds: 2 });
    const end = await bench.platform.next(0x1206);
    expect(decodeBody(fileUploadResult, end.body)).toEqual({ replySerial: serial, result: 0 });
    const [[name, content] = ['', Buffer.alloc(0)]] = [...bench.ftp.files];
    expect(name).toBe('/upload-1/CH1_20260801115958_20260801120000.mp4');
    expect(content.length).toBe(bench.terminal.recordings.at(-1)?.fileSizeBytes);
    expect(await framesOf('uploaded.mp4', content)).toHaveLength(20);
    expect(bench.ftp.commands.at(-1)).toBe('QUIT');
  });

  it('makes the same bytes each time a clip is asked for, and can say beforehand which', async () => {
    await bench.start();
    const [[first], [second]] = [await bench.expected(), await bench.expected()];
    expect(first?.sha256).toBe(second?.sha256);
    bench.requestUpload();
    await bench.notice();
    expect(bench.ftp.files.get(`/upload-1/${first?.path}`)?.equals(first?.content ?? Buffer.alloc(0))).toBe(true);
  });

  it('sends one file for each recording when it is such a terminal, by names and in directories of its own', async () => {
    await bench.start({
      uploadFiles: 'perRecording',
      uploadDirectory: '2026-08-01/ch1',
      uploadFileName: ({ channel, index }) => `part/${channel}-${index}.mp4`,
    });
    const serial = bench.requestUpload();
    expect(await bench.notice()).toBe(0);
    const expected = await bench.expected();
    expect(expected).toHaveLength(2);
    expect([...bench.ftp.files]).toEqual(
      expected.map((file, index) => [`/upload-1/2026-08-01/ch1/part/1-${index}.mp4`, file.content]),
    );
    expect(bench.terminal.uploads.records[0]).toMatchObject({ serial, state: 'completed', attempts: 1 });
  });

  it('pauses without a word, resumes behind what the server has, and completes', async () => {
    await bench.start({ uploadBytesPerSecond: 200_000 });
    const serial = bench.requestUpload();
    await waitFor('first bytes', () => [...bench.ftp.files.values()].some((file) => file.length > 20_000));
    bench.control(serial, 0);
    await waitFor('paused', () => bench.terminal.uploads.records[0]?.state === 'paused');
    expect(bench.terminal.uploads.isBusy).toBe(false);
    bench.control(serial, 1);
    expect(await bench.notice()).toBe(0);
    expect(bench.ftp.commands.filter((command) => command.startsWith('APPE'))).toHaveLength(1);
    const [expected] = await bench.expected();
    const [content = Buffer.alloc(0)] = [...bench.ftp.files.values()];
    expect(content.equals(expected?.content ?? Buffer.alloc(0))).toBe(true);
    expect(await framesOf('resumed.mp4', content)).toHaveLength(40);
  });

  it('holds its connections through a pause when it is such a terminal', async () => {
    await bench.start({ uploadBytesPerSecond: 200_000, uploadPause: 'hold' });
    const serial = bench.requestUpload();
    await waitFor('first bytes', () => [...bench.ftp.files.values()].some((file) => file.length > 20_000));
    bench.control(serial, 0);
    await waitFor('paused', () => bench.terminal.uploads.records[0]?.state === 'paused');
    bench.control(serial, 1);
    expect(await bench.notice()).toBe(0);
    expect(bench.terminal.uploads.records[0]?.attempts).toBe(1);
    expect(bench.ftp.transfers).toEqual(['whole']);
  });

  it('uploads another clip while one is paused, and resumes that afterwards', async () => {
    await bench.start({ uploadBytesPerSecond: 100_000 });
    const first = bench.requestUpload({ path: '/a' });
    await waitFor('first bytes', () => [...bench.ftp.files.values()].some((file) => file.length > 20_000));
    bench.control(first, 0);
    await waitFor('paused', () => bench.terminal.uploads.records[0]?.state === 'paused');
    const second = bench.requestUpload({ path: '/b', seconds: 2 });
    await waitFor('second', () => bench.terminal.uploads.records.length === 2);
    bench.control(first, 1);
    await waitFor('refusal', () => bench.results.length === 4);
    expect(bench.results).toEqual([0, 0, 0, 1]);
    expect(decodeBody(fileUploadResult, (await bench.platform.next(0x1206)).body).replySerial).toBe(second);
    bench.control(first, 1);
    await waitFor('both ends', () => bench.platform.of(0x1206).length === 2);
    const [expected] = await bench.expected();
    expect(bench.ftp.files.get(`/a/${expected?.path}`)?.equals(expected?.content ?? Buffer.alloc(0))).toBe(true);
  });

  it('refuses a second upload while one runs, and cancels without 0x1206', async () => {
    await bench.start({ uploadBytesPerSecond: 50_000 });
    const serial = bench.requestUpload();
    await waitFor('upload', () => bench.ftp.files.size === 1);
    bench.requestUpload();
    bench.control(serial, 2);
    await waitFor('answers', () => bench.results.length === 3);
    expect(bench.results).toEqual([0, 1, 0]);
    expect(bench.terminal.uploads.records.map((record) => record.state)).toEqual(['cancelled']);
    bench.control(serial, 1);
    await waitFor('refusal', () => bench.results.length === 4);
    expect(bench.results.at(-1)).toBe(1);
    expect(bench.platform.of(0x1206)).toEqual([]);
  });

  it('reports failure when the server does not let it in', async () => {
    await bench.start();
    bench.requestUpload({ password: 'wrong' });
    expect(await bench.notice()).toBe(1);
    expect(bench.terminal.uploads.records[0]).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: expect.stringContaining('530'),
    });
  });

  it('tells the end on its next connection when the platform is away', async () => {
    await bench.start({ uploadBytesPerSecond: 300_000, reconnect: { minMs: 300, maxMs: 300 } });
    bench.requestUpload();
    await waitFor('upload', () => bench.ftp.files.size === 1);
    bench.platform.acknowledges = false;
    await bench.notice();
    bench.platform.acknowledges = true;
    bench.platform.dropAll();
    await waitFor('repetition', () => bench.platform.of(0x1206).length === 2);
    expect(new Set(bench.platform.of(0x1206).map((frame) => frame.connection)).size).toBe(2);
  });
});

describe('padMp4', () => {
  it('adds a box that players skip, and leaves a file alone that is long enough', () => {
    const padded = padMp4(Buffer.from('abcd'), 20);
    expect(padded).toHaveLength(20);
    expect(padded.toString('hex', 4, 12)).toBe('0000001066726565');
    expect(padMp4(Buffer.from('abcd'), 8).toString()).toBe('abcd');
  });
});
