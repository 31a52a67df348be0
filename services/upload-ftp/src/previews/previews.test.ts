import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { ServerProcess, s3Keys, testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createJpeg, MediaBroker, MediaHarness, randomImei } from '../testing/media-harness.ts';
import { createSample } from '../testing/sample-clips.ts';
import { Previews } from './previews.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const bucket = 'fleet-previews';
let server: ServerProcess;
let broker: MediaBroker;
let onDisk: MediaHarness;
let inObjects: MediaHarness;
let picture: Buffer;
beforeAll(async () => {
  server = await (await ServerProcess.s3()).start();
  const endpoint = `http://127.0.0.1:${server.port}`;
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials: s3Keys });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  broker = await MediaBroker.start();
  onDisk = await MediaHarness.open(broker);
  inObjects = await MediaHarness.open(broker, {
    CLIPS_S3_BUCKET: bucket,
    CLIPS_S3_ENDPOINT: endpoint,
    CLIPS_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
    CLIPS_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
  });
  picture = await readFile(await createSample(onDisk.dir, 'picture.jpg'));
});
afterAll(async () => {
  await onDisk?.close();
  await inObjects?.close();
  await broker?.stop();
  await server?.remove();
});

const createPreviews = ({ media, dir }: MediaHarness): Previews =>
  new Previews({
    media,
    records: { find: async () => null },
    findStorage: () => {
      throw new Error('no uploads in this test');
    },
    workDir: join(dir, '.mp4'),
    ffmpegPath: testEnv('FFMPEG_PATH'),
    maxParallel: 2,
  });

describe('the preview of a file', () => {
  it.each([
    ['on the disk of a pod', () => onDisk, () => onDisk.pod],
    ['in object storage', () => inObjects, () => 'any'],
  ])('%s is stored, served and removed like a file', async (_name, getHarness, getServer) => {
    const harness = getHarness();
    const imei = randomImei();
    const { fileId } = await harness.storeFile(imei, picture);
    const previews = createPreviews(harness);
    const made = await Promise.all([1, 2, 3].map(() => previews.create(imei, { fileId })));
    expect(made[0]).toMatchObject({ width: 176, height: 144, thumbnail: { server: getServer(), width: 176 } });
    expect(new Set(made.map((preview) => preview?.thumbnail.fileId)).size).toBe(1);
    const thumbnail = { imei, fileId: made[0]?.thumbnail.fileId ?? '' };
    const served = await harness.get(thumbnail);
    expect([served.status, served.body.subarray(0, 2).toString('hex')]).toEqual([200, 'ffd8']);
    await harness.remove(getServer(), thumbnail);
    expect((await harness.get(thumbnail)).status).toBe(404);
    expect((await harness.get({ imei, fileId })).status).toBe(200);
  });

  it('is null for a damaged picture, and 404 for a file or an upload that does not exist', async () => {
    const imei = randomImei();
    const previews = createPreviews(onDisk);
    const { fileId } = await onDisk.storeFile(imei, createJpeg());
    expect(await previews.create(imei, { fileId })).toBeNull();
    for (const source of [{ fileId: '0'.repeat(24) }, { uploadId: '0'.repeat(24) }])
      await expect(previews.create(imei, source)).rejects.toMatchObject({ status: 404 });
  });
});
