import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { decodeBody, fileUploadControl, fileUploadRequest, fileUploadResult } from '@fleet/jt808';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { cameraClips } from './camera-clips.ts';
import { cameraTimeOf } from './camera-clock.ts';
import { decodedFrameHashes } from './media/frame-hashes.ts';
import { padMp4 } from './media/recording-file.ts';
import { makeRecordings } from './recordings.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { ClipProvider, TerminalOptions } from './terminal-options.ts';
import { FtpSink } from './testing/ftp-sink.ts';
import { TestPlatform } from './testing/test-platform.ts';
import { waitFor } from './testing/wait-for.ts';

jest.setTimeout(60_000);

const PHONE = '013800138001';
const UNTIL = new Date('2026-08-01T04:00:00Z');
let cacheDir: string;
let clips: ClipProvider;
let platform: TestPlatform;
let ftp: FtpSink;
let terminal: SimulatedTerminal;

beforeAll(async () => {
  cacheDir = await mkdtemp(path.join(os.tmpdir(), 'clips-'));
  clips = cameraClips(PHONE, { cacheDir }, { main: { width: 160, height: 120, fps: 10, gop: 5, seconds: 1 } });
});

afterAll(() => rm(cacheDir, { recursive: true }));

beforeEach(async () => {
  platform = await new TestPlatform().listen();
  ftp = await new FtpSink().listen();
});

afterEach(async () => {
  await terminal.stop();
  await Promise.all([platform.close(), ftp.close()]);
});

async function start(options: Partial<TerminalOptions> = {}): Promise<void> {
  terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone: PHONE,
    channels: 1,
    clips,
    reportIntervalMs: 0,
    recordings: makeRecordings({ channels: [1], count: 3, seconds: 2, until: UNTIL, bitrateKbps: 500 }),
    ...options,
  });
  terminal.start();
  await terminal.waitUntilOnline();
}

function requestUpload({ password = 'secret', seconds = 4 } = {}): number {
  return platform.command(PHONE, fileUploadRequest, {
    server: '127.0.0.1',
    port: ftp.port,
    username: 'u1',
    password,
    path: '/upload-1',
    channel: 1,
    startTime: cameraTimeOf(UNTIL.getTime() - seconds * 1000),
    endTime: cameraTimeOf(UNTIL.getTime()),
    alarmFlags: 0n,
    mediaType: 0,
    streamType: 0,
    storageType: 0,
    conditions: 7,
  });
}

const control = (replySerial: number, how: number): number =>
  platform.command(PHONE, fileUploadControl, { replySerial, control: how });

const results = (): (number | undefined)[] => platform.of(0x0001).map((frame) => frame.body[4]);

describe('upload by FTP (0x9206)', () => {
  it('stores a file that plays, of the size the list states, and tells its end', async () => {
    await start();
    const serial = requestUpload({ seconds: 2 });
    const end = await platform.next(0x1206);
    expect(decodeBody(fileUploadResult, end.body)).toEqual({ replySerial: serial, result: 0 });
    const [[name, content] = ['', Buffer.alloc(0)]] = [...ftp.files];
    expect(name).toBe('/upload-1/CH1_20260801115958_20260801120000.mp4');
    expect(content.length).toBe(terminal.recordings.at(-1)?.fileSizeBytes);
    const file = path.join(cacheDir, 'uploaded.mp4');
    await writeFile(file, content);
    expect(await decodedFrameHashes(file)).toHaveLength(20);
  });

  it('pauses without a word, resumes behind what the server has, and completes', async () => {
    await start({ uploadBytesPerSecond: 200_000 });
    const serial = requestUpload();
    await waitFor('first bytes', () => [...ftp.files.values()].some((file) => file.length > 20_000));
    control(serial, 0);
    await waitFor('paused', () => terminal.uploads.records[0]?.state === 'paused');
    expect(terminal.uploads.isBusy).toBe(false);
    control(serial, 1);
    const end = await platform.next(0x1206);
    expect(end.body[2]).toBe(0);
    expect(ftp.commands.filter((command) => command.startsWith('APPE'))).toHaveLength(1);
    const [content] = [...ftp.files.values()];
    expect(content?.length).toBe(terminal.uploads.records[0]?.sizeBytes);
    const file = path.join(cacheDir, 'resumed.mp4');
    await writeFile(file, content ?? '');
    expect(await decodedFrameHashes(file)).toHaveLength(40);
  });

  it('refuses a second upload while one runs, and cancels without 0x1206', async () => {
    await start({ uploadBytesPerSecond: 50_000 });
    const serial = requestUpload();
    await waitFor('upload', () => ftp.files.size === 1);
    requestUpload();
    control(serial, 2);
    await waitFor('answers', () => results().length === 3);
    expect(results()).toEqual([0, 1, 0]);
    expect(terminal.uploads.records.map((record) => record.state)).toEqual(['cancelled']);
    control(serial, 1);
    await waitFor('refusal', () => results().length === 4);
    expect(results().at(-1)).toBe(1);
    expect(platform.of(0x1206)).toEqual([]);
  });

  it('reports failure when the server does not let it in', async () => {
    await start();
    requestUpload({ password: 'wrong' });
    const end = await platform.next(0x1206);
    expect(end.body[2]).toBe(1);
    expect(terminal.uploads.records[0]).toMatchObject({ state: 'failed', error: expect.stringContaining('530') });
  });

  it('tells the end on its next connection when the platform is away', async () => {
    await start({ uploadBytesPerSecond: 300_000, reconnect: { minMs: 300, maxMs: 300 } });
    requestUpload();
    await waitFor('upload', () => ftp.files.size === 1);
    platform.acknowledges = false;
    await platform.next(0x1206);
    platform.acknowledges = true;
    platform.dropAll();
    await waitFor('repetition', () => platform.of(0x1206).length === 2);
    expect(new Set(platform.of(0x1206).map((frame) => frame.connection)).size).toBe(2);
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
