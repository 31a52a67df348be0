import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signClipPath } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fetchBytes } from '../testing/clip-harness.ts';
import { createJpeg, MediaBroker, MediaHarness, randomImei } from '../testing/media-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let broker: MediaBroker;
let harness: MediaHarness;
beforeAll(async () => {
  broker = await MediaBroker.start();
  harness = await MediaHarness.open(broker);
});
afterAll(async () => {
  await harness.close();
  await broker.stop();
});

const content = createJpeg(50_000);
const storeFile = (bytes = content) => harness.storeFile(randomImei(), bytes);

describe('GET /files/:imei/:fileId', () => {
  it('returns the file by GET and HEAD, always as a download', async () => {
    const stored = await storeFile();
    for (const method of ['GET', 'HEAD'] as const) {
      const { status, headers, body } = await harness.get(stored, {}, method);
      expect(status).toBe(200);
      expect(body.equals(method === 'GET' ? content : Buffer.alloc(0))).toBe(true);
      expect(headers).toMatchObject({
        'content-length': '50000',
        'content-type': 'image/jpeg',
        'accept-ranges': 'bytes',
        etag: `"${stored.fileId}"`,
        'cache-control': 'private, no-cache',
        'content-disposition': `attachment; filename=${stored.fileId}.jpg`,
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      });
    }
  });

  it.each([
    ['bytes=0-9', 0, 9],
    ['bytes=-5', 49_995, 49_999],
    ['bytes=49000-', 49_000, 49_999],
    ['bytes=49999-999999999', 49_999, 49_999],
  ])('returns the range %s', async (range, start, end) => {
    const stored = await storeFile();
    const { status, headers, body } = await harness.get(stored, { range, 'if-range': `"${stored.fileId}"` });
    expect(status).toBe(206);
    expect(headers['content-range']).toBe(`bytes ${start}-${end}/50000`);
    expect(body.equals(content.subarray(start, end + 1))).toBe(true);
  });

  it('returns the whole file if If-Range does not match, and 416 for a range after its end', async () => {
    const stored = await storeFile();
    expect((await harness.get(stored, { range: 'bytes=0-9', 'if-range': '"another"' })).status).toBe(200);
    const tail = await harness.get(stored, { range: 'bytes=50000-' });
    expect([tail.status, tail.headers['content-range']]).toEqual([416, 'bytes */50000']);
  });

  it.each(['<html><script>alert(1)</script>', '<svg xmlns="http://www.w3.org/2000/svg"/>', '%PDF-1.7', 'a log\n'])(
    'declares no type for content that a browser might execute: %s',
    async (text) => {
      const { headers } = await harness.get(await storeFile(Buffer.from(text)));
      expect(headers['content-type']).toBe('application/octet-stream');
      expect(headers['content-disposition']).toMatch(/\.bin$/);
    },
  );

  it('detects the type by the content', async () => {
    const film = Buffer.concat([Buffer.from('000000206674797069736f6d', 'hex'), randomBytes(100)]);
    const { headers } = await harness.get(await storeFile(film));
    expect(headers['content-type']).toBe('video/mp4');
    expect(headers['content-disposition']).toMatch(/\.mp4$/);
  });

  it('requires a valid signature for this file', async () => {
    const { imei, fileId } = await storeFile();
    const other = await storeFile();
    const good = new URL(harness.signUrl(imei, fileId));
    const wrong = [
      `${harness.url}/files/${imei}/${fileId}?expires=${good.searchParams.get('expires')}&signature=${'0'.repeat(64)}`,
      `${harness.url}/files/${other.imei}/${other.fileId}${good.search}`,
      `${harness.url}/files/${other.imei}/${fileId}${good.search}`,
      harness.signUrl(imei, fileId, -60_000),
      signClipPath('development-clips-signing-secret', {
        baseUrl: harness.url,
        uploadId: fileId,
        format: 'original',
        lifetimeMs: 60_000,
      }).replace(`/clips/${fileId}/original`, `/files/${imei}/${fileId}`),
    ];
    for (const url of wrong) expect((await fetchBytes(url)).status).toBe(403);
    expect((await fetchBytes(`${harness.url}/files/${imei}/${fileId}`)).status).toBe(401);
  });

  it('returns 404 for missing files and never leaves the directory', async () => {
    const { imei, fileId } = await storeFile();
    expect((await harness.get({ imei: randomImei(), fileId })).status).toBe(404);
    expect((await harness.get({ imei, fileId: '0'.repeat(24) })).status).toBe(404);
    await writeFile(join(harness.dir, '.media', '.untold', 'note'), 'x');
    for (const path of ['.untold/note', '..%2F..%2Fetc/passwd', `${imei}/..%2F.untold%2Fnote`, `${imei}/${fileId}0`])
      expect([400, 404]).toContain((await fetchBytes(`${harness.url}/files/${path}`)).status);
  });
});
