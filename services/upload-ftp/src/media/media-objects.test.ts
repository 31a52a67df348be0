import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, HeadObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { ServerProcess, s3Keys, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createJpeg, MediaBroker, MediaHarness, randomImei } from '../testing/media-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const bucket = 'fleet-media';
let server: ServerProcess;
let client: S3Client;
let broker: MediaBroker;
let env: Record<string, string>;
beforeAll(async () => {
  server = await (await ServerProcess.s3()).start();
  const endpoint = `http://127.0.0.1:${server.port}`;
  client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials: s3Keys });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  broker = await MediaBroker.start();
  env = {
    CLIPS_S3_BUCKET: bucket,
    CLIPS_S3_ENDPOINT: endpoint,
    CLIPS_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
    CLIPS_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
  };
});
afterAll(async () => {
  client.destroy();
  await broker.stop();
  await server.remove();
});

let harness: MediaHarness;
let imei: string;
beforeEach(async () => {
  imei = randomImei();
  harness = await MediaHarness.open(broker, env);
});
afterEach(() => harness.close());

async function keys(): Promise<string[]> {
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket: bucket, Prefix: `clips/media/${imei}/` }),
  );
  return Contents.map(({ Key = '' }) => Key);
}

describe('files of terminals in object storage', () => {
  const content = createJpeg(9_000_000);

  it('are stored there instead of on disk and served by every pod', async () => {
    const stored = await harness.storeFile(imei, content);
    expect(stored.server).toBe('any');
    expect(await broker.readStoredEvents(imei)).toEqual([stored]);
    const key = `clips/media/${imei}/${stored.fileId}`;
    expect(await keys()).toEqual([key]);
    const object = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    expect([object.ContentType, object.ContentLength]).toEqual(['image/jpeg', content.length]);
    expect([
      await harness.listFiles(imei),
      await harness.listFiles('.untold'),
      await harness.listFiles('.incoming'),
    ]).toEqual([[], [], []]);
    const other = await MediaHarness.open(broker, env);
    try {
      const whole = await other.get(stored);
      expect(whole.body.equals(content)).toBe(true);
      expect(whole.headers).toMatchObject({ 'content-type': 'image/jpeg', etag: `"${stored.fileId}"` });
      const part = await other.get(stored, { range: 'bytes=8999990-' });
      expect([part.status, part.body.equals(content.subarray(8_999_990))]).toEqual([206, true]);
      expect((await other.get(stored, {}, 'HEAD')).headers['content-length']).toBe('9000000');
    } finally {
      await other.close();
    }
  });

  it('are stored once when they are received again', async () => {
    const stored = await harness.storeFile(imei, content);
    expect(await harness.storeFile(imei, content)).toEqual(stored);
    expect(await keys()).toHaveLength(1);
    expect(await broker.readStoredEvents(imei)).toHaveLength(1);
    expect(await harness.listFiles(imei)).toEqual([]);
  });

  it('are removed by any pod, also repeatedly', async () => {
    const other = await MediaHarness.open(broker, env);
    try {
      const stored = await harness.storeFile(imei, content);
      const storedFile = await harness.storeFile(imei, createJpeg());
      expect(await other.remove('any', stored)).toEqual({});
      expect(await harness.remove(harness.pod, stored)).toEqual({});
      expect(await keys()).toEqual([`clips/media/${imei}/${storedFile.fileId}`]);
      expect((await harness.get(stored)).status).toBe(404);
    } finally {
      await other.close();
    }
  });

  it('are not removed if they were stored later than the time limit', async () => {
    const stored = await harness.storeFile(imei, content);
    const { LastModified } = await client.send(
      new HeadObjectCommand({ Bucket: bucket, Key: `clips/media/${imei}/${stored.fileId}` }),
    );
    const storedAtMs = LastModified?.getTime() ?? 0;
    expect(await harness.remove('any', stored, { storedBeforeMs: storedAtMs })).toEqual({});
    expect((await harness.get(stored)).status).toBe(200);
    expect(await harness.remove('any', stored, { storedBeforeMs: storedAtMs + 1 })).toEqual({});
    expect((await harness.get(stored)).status).toBe(404);
  });

  it('stay on disk and are served by their pod during a storage outage, then are moved and published', async () => {
    const before = await harness.storeFile(imei, createJpeg());
    await server.kill();
    try {
      const stored = await harness.storeFile(imei, content);
      expect(await harness.listFiles(imei)).toEqual([stored.fileId]);
      expect(await broker.readStoredEvents(imei)).toEqual([before]);
      expect((await harness.get(stored)).body.equals(content)).toBe(true);
      expect((await harness.get(before)).status).toBe(500);
      expect(await harness.metric('upload_ftp_media_delayed_total')).not.toMatch(/ 0$/);
    } finally {
      await server.start();
    }
    await waitFor(async () => (await broker.readStoredEvents(imei)).length === 2);
    await waitFor(async () => (await harness.listFiles(imei)).length === 0);
    expect((await broker.readStoredEvents(imei))[1]?.server).toBe('any');
    expect(await keys()).toHaveLength(2);
  });

  it('are moved and published at the start after a crash before or during the move', async () => {
    const storedEvent = await harness.storeFile(imei, content);
    const { server: _server, ...metadata } = storedEvent;
    const beforePut = { ...metadata, fileId: randomBytes(12).toString('hex') };
    const folder = join(harness.dir, '.media');
    await harness.end();
    await mkdir(join(folder, imei), { recursive: true });
    // The first was stored and published, but is still on disk. The second was never stored.
    for (const each of [metadata, beforePut]) {
      await writeFile(join(folder, imei, each.fileId), content);
      await writeFile(join(folder, '.untold', `${imei}.${each.fileId}`), JSON.stringify(each));
    }
    harness = await MediaHarness.open(broker, env, harness);
    await waitFor(async () => (await harness.listFiles('.untold')).length === 0);
    expect(await harness.listFiles(imei)).toEqual([]);
    expect(await broker.readStoredEvents(imei)).toEqual([storedEvent, { ...beforePut, server: 'any' }]);
    expect(await keys()).toHaveLength(2);
  });

  it('are published at the start after a crash following the move', async () => {
    const stored = await harness.storeFile(imei, content);
    const { server: _server, ...metadata } = stored;
    await harness.end();
    await writeFile(join(harness.dir, '.media', '.untold', `${imei}.${stored.fileId}`), JSON.stringify(metadata));
    harness = await MediaHarness.open(broker, env, harness);
    await waitFor(async () => (await harness.listFiles('.untold')).length === 0);
    expect(await broker.readStoredEvents(imei)).toEqual([stored]);
  });

  it('include only files received since the bucket was configured; older ones stay with their pod', async () => {
    await harness.end();
    harness = await MediaHarness.open(broker, {}, harness);
    const older = await harness.storeFile(imei, content);
    await harness.end();
    harness = await MediaHarness.open(broker, env, harness);
    expect(older.server).toBe(harness.pod);
    expect((await harness.get(older)).body.equals(content)).toBe(true);
    expect(await harness.remove(harness.pod, older)).toEqual({});
    expect((await harness.get(older)).status).toBe(404);
  });
});
