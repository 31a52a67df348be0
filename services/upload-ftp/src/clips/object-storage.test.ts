import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { type Bus, BusError, callUseCase, locateClip, openBus, removeUploadFiles } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import { ServerProcess, s3Keys, testEnv, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ClipHarness } from '../testing/clip-harness.ts';
import { createSample } from '../testing/sample-clips.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const bucket = 'fleet-clips';
let server: ServerProcess;
let client: S3Client;
let bus: Bus;
let folder: string;
let avi: Buffer;
beforeAll(async () => {
  server = await (await ServerProcess.s3()).start();
  client = new S3Client({ region: 'us-east-1', endpoint: endpoint(), forcePathStyle: true, credentials: s3Keys });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  bus = await openBus(testEnv('NATS_URL'), { name: 'clips-test', log: createLogger('clips-test', 'silent') });
  folder = await mkdtemp(join(tmpdir(), 'fleet-clip-samples-'));
  avi = await readFile(await createSample(folder, 'h264-pcma.avi'));
});
afterAll(async () => {
  client.destroy();
  await bus.close();
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const endpoint = (): string => `http://127.0.0.1:${server.port}`;
const s3Env = () => ({
  CLIPS_S3_BUCKET: bucket,
  CLIPS_S3_ENDPOINT: endpoint(),
  CLIPS_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
  CLIPS_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
});

let harness: ClipHarness;
beforeEach(async () => {
  harness = await ClipHarness.open(s3Env());
});
afterEach(() => harness.close());

const toRef = (upload: UploadRecord) => ({ imei: upload.clip.imei, id: upload._id });
const readPodId = async (upload: UploadRecord) => (await harness.records.find(upload._id))?.server?.podId;
const listKeys = async (upload: UploadRecord): Promise<string[]> => {
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket: bucket, Prefix: `clips/${upload._id}/` }),
  );
  return Contents.map(({ Key = '' }) => Key.slice(`clips/${upload._id}/`.length)).toSorted();
};
const isOnDisk = async (upload: UploadRecord): Promise<boolean> =>
  stat(harness.directory.uploadDir(toRef(upload))).then(
    () => true,
    () => false,
  );
const serveAgain = (pod: string) => harness.clips.serve(bus, { pod, httpUrl: harness.url, sweepIntervalMs: 50 });

describe('clips in object storage', () => {
  const parts = [randomBytes(20_000_000), randomBytes(50_000)] as const;
  const whole = Buffer.concat(parts);
  const twoFiles = (more: Partial<UploadRecord> = {}) =>
    harness.createUpload({ 'é/1 %.bin': parts[0], '2.h264': parts[1] }, more);

  it('moves a completed clip, serves the same bytes and ranges from every pod and empties the directory', async () => {
    const upload = await twoFiles();
    const before = await harness.get(upload, 'original', {}, 'HEAD');
    await harness.clips.archive(toRef(upload));
    expect(await readPodId(upload)).toBe('any');
    expect(await listKeys(upload)).toEqual(['files/2.h264', 'files/é/1 %.bin']);
    expect(await isOnDisk(upload)).toBe(false);
    const other = await ClipHarness.open(s3Env(), harness);
    try {
      const { status, headers, body } = await other.get(upload, 'original');
      expect(status).toBe(200);
      expect(body.equals(whole)).toBe(true);
      expect(headers['etag']).toBe(before.headers['etag']);
      const part = await other.get(upload, 'original', { range: 'bytes=19999990-20000009' });
      expect(part.status).toBe(206);
      expect(part.body.equals(whole.subarray(19_999_990, 20_000_010))).toBe(true);
    } finally {
      await other.close();
    }
  });

  it('stores the converted MP4 beside the files, once', async () => {
    const upload = await harness.createUpload({ 'clip.avi': avi });
    await harness.clips.archive(toRef(upload));
    const responses = await Promise.all([1, 2, 3].map(() => harness.get(upload, 'mp4')));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await listKeys(upload)).toEqual(['clip.mp4', 'files/clip.avi']);
    expect(await readdir(join(harness.directory.root, '.mp4'))).toEqual([]);
    const other = await ClipHarness.open({ ...s3Env(), FFMPEG_PATH: '/nowhere/ffmpeg' }, harness);
    try {
      const { status, headers, body } = await other.get(upload, 'mp4', { range: 'bytes=4-7' });
      expect([status, body.toString(), headers['etag']]).toEqual([206, 'ftyp', responses[0]?.headers['etag']]);
    } finally {
      await other.close();
    }
  });

  it('moves an existing MP4 with the files', async () => {
    const upload = await harness.createUpload({ 'clip.avi': avi });
    expect((await harness.get(upload, 'mp4')).status).toBe(200);
    await harness.clips.archive(toRef(upload));
    expect(await listKeys(upload)).toEqual(['clip.mp4', 'files/clip.avi']);
  });

  it('moves only completed uploads', async () => {
    const statuses = ['reserved', 'uploading', 'paused', 'failed', 'cancelled'] as const;
    for (const status of statuses) {
      const upload = await twoFiles({ status });
      await harness.clips.archive(toRef(upload));
      expect(await listKeys(upload)).toEqual([]);
      expect(await readPodId(upload)).toBe('pod-1');
      expect(await isOnDisk(upload)).toBe(true);
    }
  });

  it('moves clips in the sweep after a crash before, during or after a move', async () => {
    const before = await twoFiles();
    const between = await twoFiles();
    await harness.clips.archive(toRef(between));
    await harness.records.set(between._id, ['completed'], { server: { podId: 'pod-1', httpUrl: harness.url } });
    await restore(between);
    const after = await twoFiles();
    await harness.clips.archive(toRef(after));
    await restore(after);
    serveAgain('pod-1');
    for (const upload of [before, between, after]) {
      await waitFor(async () => !(await isOnDisk(upload)));
      expect(await readPodId(upload)).toBe('any');
      expect((await harness.get(upload, 'original')).body.equals(whole)).toBe(true);
    }
  });

  async function restore(upload: UploadRecord): Promise<void> {
    await mkdir(harness.filePath(upload, 'é'), { recursive: true });
    await writeFile(harness.filePath(upload, 'é/1 %.bin'), parts[0]);
    await writeFile(harness.filePath(upload, '2.h264'), parts[1]);
  }

  it('removes a clip and its MP4 from any pod', async () => {
    serveAgain(`pod-${randomBytes(4).toString('hex')}`);
    const upload = await harness.createUpload({ 'clip.avi': avi });
    await harness.clips.archive(toRef(upload));
    expect((await harness.get(upload, 'mp4')).status).toBe(200);
    const removal = () =>
      callUseCase(
        bus,
        removeUploadFiles('any'),
        { uploadId: upload._id },
        { timeoutMs: 10_000, correlationId: 'test' },
      );
    expect(await removal()).toEqual({});
    expect(await listKeys(upload)).toEqual([]);
    expect(await removal()).toEqual({});
    expect((await harness.get(upload, 'original')).status).toBe(404);
  });

  it('leaves nothing in storage when an upload is deleted while it is moved', async () => {
    const upload = await twoFiles();
    const moving = harness.clips.archive(toRef(upload));
    const removing = harness.clips.remove(toRef(upload));
    await Promise.all([moving, removing]);
    expect(await listKeys(upload)).toEqual([]);
    expect(await isOnDisk(upload)).toBe(false);
    const deletedUpload = await twoFiles();
    const [, isRemoved] = await Promise.all([
      harness.clips.archive(toRef(deletedUpload)),
      harness.records.remove(deletedUpload._id, ['completed']),
    ]);
    expect(isRemoved).toBe(true);
    await harness.clips.remove(toRef(deletedUpload));
    expect(await listKeys(deletedUpload)).toEqual([]);
  });

  it('returns the URL of a clip over the bus while a pod serves it', async () => {
    const pod = `pod-${randomBytes(4).toString('hex')}`;
    const locate = (of: string) => callUseCase(bus, locateClip(of), {}, { timeoutMs: 10_000, correlationId: 'test' });
    await expect(locate(pod)).rejects.toThrow(BusError);
    serveAgain(pod);
    expect(await locate(pod)).toEqual({ httpUrl: harness.url });
    expect(await locate('any')).toMatchObject({ httpUrl: expect.stringMatching(/^http:/) });
  });

  it('serves clips from the directory during a storage outage and moves them afterwards', async () => {
    const upload = await twoFiles();
    const moved = await harness.createUpload({ 'clip.avi': avi });
    await harness.clips.archive(toRef(moved));
    await server.kill();
    try {
      await expect(harness.clips.archive(toRef(upload))).rejects.toThrow(/ECONNREFUSED/);
      expect((await harness.get(upload, 'original')).body.equals(whole)).toBe(true);
      expect((await harness.get(moved, 'original')).status).toBe(500);
      await expect(harness.clips.remove(toRef(moved))).rejects.toThrow(/ECONNREFUSED/);
    } finally {
      await server.start();
    }
    serveAgain('pod-1');
    await waitFor(async () => (await readPodId(upload)) === 'any');
    expect((await harness.get(moved, 'original')).body.equals(avi)).toBe(true);
  });
});
