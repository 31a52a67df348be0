import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@fleet/service-kit';
import { Mp4JobRepository, type UploadRecord } from '@fleet/storage';
import { testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ClipHarness } from '../testing/clip-harness.ts';
import { createSample } from '../testing/sample-clips.ts';
import { DirectoryStorage } from './directory-storage.ts';
import { Mp4Converter } from './mp4-converter.ts';
import { Mp4Jobs } from './mp4-jobs.ts';

// Real ffmpeg and a real database on a machine that may be busy.
jest.setTimeout(120_000);

let harness: ClipHarness;
let folder: string;
let avi: Buffer;
let repository: Mp4JobRepository;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  harness = await ClipHarness.open();
  folder = await mkdtemp(join(tmpdir(), 'fleet-mp4-jobs-'));
  avi = await readFile(await createSample(folder, 'h264-pcma.avi'));
  repository = new Mp4JobRepository(harness.database);
  await repository.ensureIndexes();
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await harness.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the jobs of a pod; `changes` are its published records. */
function startJobs(podId: string, ffmpegPath = testEnv('FFMPEG_PATH')) {
  const log = createLogger('mp4-jobs-test', 'silent');
  const workDir = join(harness.directory.root, '.mp4', podId);
  const converter = new Mp4Converter({ ffmpegPath, workDir, timeoutMs: 60_000, log });
  const changes: UploadRecord[] = [];
  const storage = new DirectoryStorage(harness.directory);
  const jobs = new Mp4Jobs({
    jobs: repository,
    converter,
    findStorage: () => storage,
    concurrency: 1,
    log,
  });
  const stop = async (): Promise<void> => {
    await jobs.stop();
    await converter.stop();
  };
  stops.push(stop);
  jobs.start({ podIds: [podId], onChanged: (upload) => changes.push(upload) });
  return { jobs, changes, workDir, stop };
}

/** An ffmpeg that never ends. */
async function createSlowFfmpeg(): Promise<string> {
  const path = join(folder, `slow-${randomBytes(4).toString('hex')}`);
  await writeFile(path, '#!/bin/sh\necho "ffmpeg version 5" >&2\nexec sleep 600\n', { mode: 0o755 });
  return path;
}

/** Returns the names in a folder; none before the first conversion has created it. */
const listFiles = async (path: string): Promise<string[]> => (existsSync(path) ? readdir(path) : []);

const newPod = (): string => `pod-${randomBytes(4).toString('hex')}`;
const readJob = async ({ _id }: UploadRecord) => (await harness.records.find(_id))?.mp4;
const waitForJob = (upload: UploadRecord, status: string) =>
  waitFor(async () => {
    const job = await readJob(upload);
    return job?.status === status && job;
  }, `the conversion to be ${status}`);

describe('requested MP4 conversions', () => {
  it('run in the order of their requests, and publish their start and their end', async () => {
    const podId = newPod();
    const uploads = [];
    for (const name of ['a.avi', 'b.avi', 'c.avi'])
      uploads.push(await harness.createUpload({ [name]: avi }, {}, podId));
    for (const { _id } of uploads) expect(await repository.request(_id)).toMatchObject({ mp4: { status: 'queued' } });
    const { changes } = startJobs(podId);
    for (const upload of uploads)
      expect(await waitForJob(upload, 'completed')).toMatchObject({ percent: 100, error: null, claim: null });
    const ends = await waitFor(() => {
      const completed = changes.filter(({ mp4 }) => mp4?.status === 'completed');
      return completed.length >= uploads.length && completed;
    }, 'the end of each to be published');
    expect(ends.map(({ _id }) => _id)).toEqual(uploads.map(({ _id }) => _id));
    expect(changes[0]).toMatchObject({ _id: uploads[0]?._id, mp4: { status: 'running' } });
    const [first] = uploads as [UploadRecord];
    expect((await harness.get(first, 'mp4')).body).toHaveLength((await readJob(first))?.sizeBytes ?? 0);
    expect(await repository.request(first._id)).toBeNull();
  });

  it('remember a clip that ffmpeg cannot read, with the reason, and refuse it for good', async () => {
    const podId = newPod();
    const upload = await harness.createUpload({ 'noise.avi': randomBytes(5_000) }, {}, podId);
    await repository.request(upload._id);
    const { stop } = startJobs(podId);
    const job = await waitForJob(upload, 'failed');
    expect(job).toMatchObject({ isRefused: true, error: 'The clip has no readable video.' });
    await stop();
    expect(await repository.request(upload._id)).toBeNull();
    const { status, body } = await harness.get(upload, 'mp4');
    expect([status, String(body)]).toEqual([422, expect.stringContaining('The clip has no readable video.')]);
  });

  it('end when they are canceled, and can be requested again', async () => {
    const podId = newPod();
    const upload = await harness.createUpload({ 'clip.avi': avi }, {}, podId);
    await repository.request(upload._id);
    const slow = startJobs(podId, await createSlowFfmpeg());
    await waitForJob(upload, 'running');
    expect(await repository.cancel(upload._id)).toMatchObject({ mp4: { status: 'canceled' } });
    await slow.jobs.onRequest(upload._id);
    await waitFor(async () => (await listFiles(slow.workDir)).length === 0, 'the working directory to be removed');
    expect(await readJob(upload)).toMatchObject({ status: 'canceled', sizeBytes: null });
    expect(await repository.cancel(upload._id)).toBeNull();
    await slow.stop();
    expect(await repository.request(upload._id)).toMatchObject({ mp4: { status: 'queued' } });
    startJobs(podId);
    await waitForJob(upload, 'completed');
  });

  it('return to the queue when their process stops', async () => {
    const podId = newPod();
    const upload = await harness.createUpload({ 'clip.avi': avi }, {}, podId);
    await repository.request(upload._id);
    const slow = startJobs(podId, await createSlowFfmpeg());
    await waitForJob(upload, 'running');
    await slow.stop();
    expect(await readJob(upload)).toMatchObject({ status: 'queued', claim: null });
  });

  it('are claimed from a process that died, once its claim has expired', async () => {
    const podId = newPod();
    const upload = await harness.createUpload({ 'clip.avi': avi }, {}, podId);
    await repository.request(upload._id);
    const dead = { token: 'dead', ttlMs: 1 };
    expect(await repository.claimNext([podId], dead)).toMatchObject({ _id: upload._id });
    startJobs(podId);
    await waitForJob(upload, 'completed');
    expect(await repository.renew(upload._id, dead, 50)).toBeNull();
    expect(await repository.finish(upload._id, 'dead', { status: 'completed', sizeBytes: 1 })).toBeNull();
  });

  it('are left to the pods that store their files', async () => {
    const upload = await harness.createUpload({ 'clip.avi': avi }, {}, newPod());
    await repository.request(upload._id);
    expect(await repository.claimNext([newPod()], { token: 'other', ttlMs: 1_000 })).toBeNull();
    expect(await readJob(upload)).toMatchObject({ status: 'queued' });
  });
});
