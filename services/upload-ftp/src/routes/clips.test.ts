import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mp4JobRepository } from '@fleet/storage';
import { testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ClipHarness, fetchBytes } from '../testing/clip-harness.ts';
import { createSample, decodeFile } from '../testing/sample-clips.ts';
import { clipBytes } from '../testing/upload-harness.ts';

// Real ffmpeg and a real database on a machine that may be busy.
jest.setTimeout(120_000);

let harness: ClipHarness;
let folder: string;
let avi: Buffer;
beforeAll(async () => {
  harness = await ClipHarness.open();
  folder = await mkdtemp(join(tmpdir(), 'fleet-clip-samples-'));
  avi = await readFile(await createSample(folder, 'h264-pcma.avi'));
});
afterAll(async () => {
  await harness.close();
  await rm(folder, { recursive: true, force: true });
});

const parseError = (body: Buffer): unknown => JSON.parse(body.toString('utf8'));

describe('GET /clips/:uploadId/original', () => {
  const parts = [randomBytes(70_000), randomBytes(1), randomBytes(30_000)] as const;
  const whole = Buffer.concat(parts);
  const threeFiles = () => harness.createUpload({ 'b/2.mp4': parts[0], 'a.bin': parts[1], 'z 3.h264': parts[2] });

  it('returns the files concatenated in order of arrival, named after the newest', async () => {
    const upload = await threeFiles();
    const { status, headers, body } = await harness.get(upload, 'original');
    expect(status).toBe(200);
    expect(body.equals(whole)).toBe(true);
    expect(headers).toMatchObject({
      'content-length': '100001',
      'content-type': 'video/h264',
      'accept-ranges': 'bytes',
      'content-disposition': 'attachment; filename="z 3.h264"',
      'x-content-type-options': 'nosniff',
    });
    expect(headers['etag']).toMatch(/^"[\w-]{22}"$/);
  });

  it.each([
    ['bytes=0-9', 0, 9],
    ['bytes=69990-70010', 69_990, 70_010],
    ['bytes=70000-70000', 70_000, 70_000],
    ['bytes=-5', 99_996, 100_000],
    ['bytes=50000-', 50_000, 100_000],
    ['bytes=100000-999999999', 100_000, 100_000],
  ])('returns the range %s across files', async (range, start, end) => {
    const { status, headers, body } = await harness.get(await threeFiles(), 'original', { range });
    expect(status).toBe(206);
    expect(headers['content-range']).toBe(`bytes ${start}-${end}/100001`);
    expect(headers['content-length']).toBe(String(end - start + 1));
    expect(body.equals(whole.subarray(start, end + 1))).toBe(true);
  });

  it('returns the whole content for several or invalid ranges, and 416 for a range outside', async () => {
    const upload = await threeFiles();
    for (const range of ['bytes=0-1,4-5', 'bytes=9-1', 'rows=1-2', 'bytes=x']) {
      const { status, body } = await harness.get(upload, 'original', { range });
      expect([status, body.length]).toEqual([200, 100_001]);
    }
    const { status, headers, body } = await harness.get(upload, 'original', { range: 'bytes=100001-' });
    expect([status, headers['content-range']]).toEqual([416, 'bytes */100001']);
    expect(parseError(body)).toEqual({
      status: 416,
      error: 'The file has 100001 bytes. The requested range lies outside.',
    });
  });

  it('returns a range only if If-Range matches the version', async () => {
    const upload = await threeFiles();
    const etag = String((await harness.get(upload, 'original', {}, 'HEAD')).headers['etag']);
    const getRange = async (ifRange: string) =>
      (await harness.get(upload, 'original', { range: 'bytes=1-2', 'if-range': ifRange })).status;
    expect(await getRange(etag)).toBe(206);
    for (const other of ['"another"', `W/${etag}`, new Date().toUTCString()]) expect(await getRange(other)).toBe(200);
  });

  it('responds to HEAD like GET, without a body', async () => {
    const upload = await threeFiles();
    const [get, head] = [await harness.get(upload, 'original'), await harness.get(upload, 'original', {}, 'HEAD')];
    expect(head.body).toHaveLength(0);
    expect(head.status).toBe(200);
    for (const name of ['content-length', 'content-type', 'etag', 'content-disposition'])
      expect(head.headers[name]).toBe(get.headers[name]);
    const part = await harness.get(upload, 'original', { range: 'bytes=0-1' }, 'HEAD');
    expect([part.status, part.headers['content-length']]).toEqual([206, '2']);
  });

  it('detects the type by name or content, never one that a browser would execute', async () => {
    const typeOf = async (name: string, content: Buffer) => {
      const upload = await harness.createUpload({ [name]: content });
      return (await harness.get(upload, 'original')).headers['content-type'];
    };
    const startCode = (...bytes: number[]) => Buffer.from([0, 0, 0, 1, ...bytes, 0, 0]);
    expect(await typeOf('x.FLV', Buffer.from('?'))).toBe('video/x-flv');
    expect(await typeOf('no-extension', avi)).toBe('video/x-msvideo');
    expect(await typeOf('a.grec', startCode(0x67, 0x42))).toBe('video/h264');
    expect(await typeOf('b.grec', startCode(0x40, 0x01))).toBe('video/h265');
    expect(await typeOf('c.dat', Buffer.from([0, 0, 1, 0xba, 0x44, 0]))).toBe('video/mpeg');
    expect(await typeOf('d.html', Buffer.from('<script>'))).toBe('application/octet-stream');
    expect(await typeOf('e', Buffer.alloc(0))).toBe('application/octet-stream');
  });

  it.each([
    ['a"b\\c;.mp4', 'attachment; filename="c;.mp4"'],
    ['視頻 1.mp4', `attachment; filename="?? 1.mp4"; filename*=UTF-8''${encodeURIComponent('視頻 1.mp4')}`],
    ['\u202egpj.mp4', 'attachment; filename=_gpj.mp4'],
    ['..', 'attachment; filename=clip'],
  ])('sends %j as a safe download name', async (filename, expected) => {
    const upload = await harness.createUpload({ 'x.mp4': Buffer.from('x') }, { filename });
    expect((await harness.get(upload, 'original')).headers['content-disposition']).toBe(expected);
  });

  it('requires a signed URL that has not expired', async () => {
    const upload = await threeFiles();
    const fetchStatus = async (url: string) => (await fetchBytes(url)).status;
    const url = harness.signUrl(upload, 'original');
    expect(await fetchStatus(url)).toBe(200);
    expect(await fetchStatus(url.split('?')[0] ?? '')).toBe(401);
    expect(await fetchStatus(url.replace('/original?', '/mp4?'))).toBe(403);
    expect(await fetchStatus(url.replace(/expires=\d+/, 'expires=9999999999'))).toBe(403);
    expect(await fetchStatus(harness.signUrl(upload, 'original', -5_000))).toBe(403);
    expect(await fetchStatus(`${harness.url}/clips/../x/original`)).toBe(404);
  });

  it('returns 404 for missing uploads and files, 409 before completion and 500 for unreadable files', async () => {
    const absent = { ...(await threeFiles()), _id: 'f'.repeat(24) };
    expect((await harness.get(absent, 'original')).status).toBe(404);
    const reserved = await harness.createUpload({}, { status: 'reserved' });
    expect((await harness.get(reserved, 'original')).status).toBe(404);
    for (const status of ['uploading', 'paused', 'failed', 'cancelled'] as const) {
      const upload = await harness.createUpload({ 'a.mp4': Buffer.from('x') }, { status });
      const { status: responseStatus, body } = await harness.get(upload, 'original');
      expect(responseStatus).toBe(409);
      expect(parseError(body)).toMatchObject({ error: expect.stringContaining(status) });
    }
    const incompleteUpload = await threeFiles();
    await rm(harness.filePath(incompleteUpload, 'a.bin'));
    expect((await harness.get(incompleteUpload, 'original')).status).toBe(404);
    const unreadable = await threeFiles();
    await rm(harness.filePath(unreadable, 'a.bin'));
    await mkdir(harness.filePath(unreadable, 'a.bin'));
    const { status, body } = await harness.get(unreadable, 'original');
    expect(status).toBe(500);
    expect(body.toString()).not.toContain(harness.directory.root);
  });

  it('aborts a response whose file shrinks and continues to serve others', async () => {
    const big = Buffer.alloc(30_000_000, 1);
    const upload = await harness.createUpload({ 'big.mp4': big });
    const response = await new Promise<IncomingMessage>((resolve) =>
      httpGet(harness.signUrl(upload, 'original'), resolve),
    );
    await once(response, 'readable');
    await truncate(harness.filePath(upload, 'big.mp4'), 1_000_000);
    const cut = new Promise((resolve) => response.once('error', resolve));
    response.resume();
    expect(await cut).toMatchObject({ code: 'ECONNRESET' });
    expect(response.complete).toBe(false);
    expect((await harness.get(await threeFiles(), 'original')).status).toBe(200);
  });

  it('reads only as fast as the client and closes the file when it disconnects', async () => {
    const upload = await harness.createUpload({ 'big.mp4': Buffer.alloc(1) });
    await truncate(harness.filePath(upload, 'big.mp4'), 500_000_000);
    const open = async (): Promise<number> => {
      const links = await readdir('/proc/self/fd').catch(() => []);
      const targets = await Promise.all(links.map((link) => readlinkOrNone(`/proc/self/fd/${link}`)));
      return targets.filter((target) => target.includes(upload._id)).length;
    };
    const before = process.memoryUsage().rss;
    const response = await new Promise<IncomingMessage>((resolve) =>
      httpGet(harness.signUrl(upload, 'original'), resolve),
    );
    await once(response, 'readable');
    expect(await open()).toBe(1);
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
    response.destroy();
    await waitFor(async () => (await open()) === 0, 'the file to be closed');
  });
});

describe('GET /clips/:uploadId/mp4', () => {
  it('returns an MP4 with browser-compatible sound, also by range', async () => {
    const upload = await harness.createUpload({ 'clip.avi': avi });
    const { status, headers, body } = await harness.get(upload, 'mp4');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(body.length),
      'content-disposition': 'attachment; filename=clip.mp4',
    });
    const file = join(folder, 'downloaded.mp4');
    await writeFile(file, body);
    expect(await decodeFile(file)).toMatchObject({ pictures: 30 });
    const part = await harness.get(upload, 'mp4', { range: 'bytes=10-99', 'if-range': String(headers['etag']) });
    expect(part.status).toBe(206);
    expect(part.body.equals(body.subarray(10, 100))).toBe(true);
    expect((await harness.get(upload, 'original')).body.equals(avi)).toBe(true);
    // It is the conversion that users request, cancel and see in lists.
    expect((await harness.records.find(upload._id))?.mp4).toMatchObject({
      status: 'completed',
      percent: 100,
      sizeBytes: body.length,
    });
  });

  it('is 503 when a user cancels the conversion', async () => {
    const slow = join(folder, 'endless-ffmpeg');
    await writeFile(slow, '#!/bin/sh\necho "ffmpeg version 5" >&2\nexec sleep 600\n', { mode: 0o755 });
    const other = await ClipHarness.open({ FFMPEG_PATH: slow });
    try {
      const upload = await other.createUpload({ 'clip.avi': avi });
      const response = other.get(upload, 'mp4');
      const jobs = new Mp4JobRepository(other.database);
      await waitFor(async () => (await jobs.find(upload._id))?.status === 'running', 'the conversion');
      await jobs.cancel(upload._id);
      const { status, body } = await response;
      expect([status, parseError(body)]).toEqual([
        503,
        { status: 503, error: 'The MP4 conversion was canceled. Retry.' },
      ]);
    } finally {
      await other.close();
    }
  });

  it('creates an MP4 again that has been deleted', async () => {
    const upload = await harness.createUpload({ 'clip.avi': avi });
    expect((await harness.get(upload, 'mp4')).status).toBe(200);
    await rm(join(harness.directory.uploadDir({ imei: upload.clip.imei, id: upload._id }), 'clip.mp4'));
    expect((await harness.get(upload, 'mp4')).status).toBe(200);
  });

  it('converts once for concurrent requests and stores the result', async () => {
    const starts = join(folder, 'starts');
    const counting = join(folder, 'counting-ffmpeg');
    const script = `#!/bin/sh\necho "$@" >> '${starts}'\nexec '${testEnv('FFMPEG_PATH')}' "$@"\n`;
    await writeFile(counting, script, { mode: 0o755 });
    const other = await ClipHarness.open({ FFMPEG_PATH: counting });
    try {
      const upload = await other.createUpload({ 'clip.avi': avi });
      const responses = await Promise.all(Array.from({ length: 20 }, () => other.get(upload, 'mp4')));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(responses.map(({ headers }) => headers['etag'])).size).toBe(1);
      const conversions = (await readFile(starts, 'utf8')).split('\n').filter((line) => line.includes('+faststart'));
      expect(conversions).toHaveLength(1);
      expect((await other.get(upload, 'mp4')).headers['etag']).toBe(responses[0]?.headers['etag']);
      expect((await readFile(starts, 'utf8')).split('\n').filter((line) => line.includes('+faststart'))).toHaveLength(
        1,
      );
      expect(await readdir(join(other.directory.root, '.mp4'))).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('returns 422 with a message for a clip that cannot be converted, without affecting others', async () => {
    // Fixed bytes, because ffmpeg takes some random contents for a video.
    const noise = await harness.createUpload({ 'clip.mp4': clipBytes(100_000) });
    for (const _ of [1, 2]) {
      const { status, body } = await harness.get(noise, 'mp4');
      expect(status).toBe(422);
      expect(parseError(body)).toEqual({ status: 422, error: 'The clip has no readable video.' });
    }
    expect((await harness.get(noise, 'original')).status).toBe(200);
    expect((await harness.get(await harness.createUpload({ 'clip.avi': avi }), 'mp4')).status).toBe(200);
  });

  it('returns 503 with Retry-After while the conversion takes long, and 200 afterwards', async () => {
    const slow = join(folder, 'slow-ffmpeg');
    const go = join(folder, 'go');
    const script = `#!/bin/sh\nwhile [ ! -e '${go}' ]; do sleep 0.05; done\nexec '${testEnv('FFMPEG_PATH')}' "$@"\n`;
    await writeFile(slow, script, { mode: 0o755 });
    const other = await ClipHarness.open({ FFMPEG_PATH: slow, MP4_WAIT_MS: '100' });
    try {
      const upload = await other.createUpload({ 'clip.avi': avi });
      const { status, headers } = await other.get(upload, 'mp4');
      expect([status, headers['retry-after']]).toEqual([503, '5']);
      await writeFile(go, '');
      while ((await other.get(upload, 'mp4', {}, 'HEAD')).status === 503);
      expect((await other.get(upload, 'mp4')).status).toBe(200);
    } finally {
      await other.close();
    }
  });

  it.each([
    ['the disk is full', 'echo "ffmpeg version 5" >&2; echo "clip.mp4: No space left on device" >&2; exit 1', 503, {}],
    ['ffmpeg is missing', 'exit 127', 503, {}],
    ['ffmpeg never ends', 'echo "ffmpeg version 5" >&2; exec sleep 600', 503, { MP4_LIMIT_MS: '500' }],
  ])(
    'returns an error without internal paths when %s and leaves no working files',
    async (_case, script, expected, env) => {
      const broken = join(folder, `broken-${randomBytes(4).toString('hex')}`);
      await writeFile(broken, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const other = await ClipHarness.open({ FFMPEG_PATH: broken, ...env });
      try {
        const upload = await other.createUpload({ 'clip.avi': avi });
        const { status, body } = await other.get(upload, 'mp4');
        expect(status).toBe(expected);
        expect(body.toString()).not.toContain(other.directory.root);
        expect(await readdir(join(other.directory.root, '.mp4'))).toEqual([]);
      } finally {
        await other.close();
      }
    },
  );

  it('removes the MP4 with the upload', async () => {
    const upload = await harness.createUpload({ 'clip.avi': avi });
    expect((await harness.get(upload, 'mp4')).status).toBe(200);
    const ref = { imei: upload.clip.imei, id: upload._id };
    await harness.clips.remove(ref);
    expect((await harness.get(upload, 'mp4')).status).toBe(404);
    await expect(stat(harness.directory.uploadDir(ref))).rejects.toThrow(/ENOENT/);
  });
});

// Descriptors may be closed while they are listed.
const readlinkOrNone = (path: string): Promise<string> => readlink(path).catch(() => '');
