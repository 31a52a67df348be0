import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ClipArchiver, type ClipArchiverOptions } from '../clips/clip-archiver.ts';
import { DirectoryStorage } from '../clips/directory-storage.ts';
import { ClipDirectory, type UploadRef } from '../store/clip-directory.ts';
import type { ActiveUploads } from '../uploads/active-uploads.ts';
import { removeOrphans } from './remove-orphans.ts';
import { type JobSlice, ResumableJob } from './resumable-job.ts';

const log = createLogger('resumable-job-test', 'silent');
const raise = (error: unknown): void => {
  throw error;
};

/** Creates a slice that ends after the given number of files. */
function createSlice<P>(files: number, from: P | null): JobSlice<P> {
  let calls = 0;
  return { cursor: from, isOver: () => (calls += 1) >= files };
}

describe('ResumableJob', () => {
  const jobs: { stop(): Promise<void> }[] = [];
  afterEach(() => Promise.all(jobs.splice(0).map((job) => job.stop())));

  it('continues where a slice ended until all is done, and restarts after the period', async () => {
    const seen: (number | null)[] = [];
    const runSlice = async ({ cursor: from, isOver }: JobSlice<number>): Promise<number | null> => {
      seen.push(from);
      while (!isOver()) await new Promise((resolve) => setImmediate(resolve));
      return seen.length % 3 === 0 ? null : seen.length;
    };
    jobs.push(new ResumableJob<number>({ periodMs: 20, runSlice, onError: raise, sliceMs: 10 }));
    await waitFor(() => seen.length >= 7);
    expect(seen.slice(0, 7)).toEqual([null, 1, 2, null, 4, 5, null]);
  });

  it('stops after the current file and starts no further slice', async () => {
    let files = 0;
    const runSlice = async ({ isOver }: JobSlice<number>): Promise<number | null> => {
      for (; files < 100_000; ) {
        files += 1;
        await new Promise((resolve) => setImmediate(resolve));
        if (isOver()) return files;
      }
      return null;
    };
    const job = new ResumableJob<number>({ periodMs: 3_600_000, runSlice, onError: raise, sliceMs: 3_600_000 });
    void job.runNow();
    await waitFor(() => files > 10);
    const stopping = job.stop();
    const filesThen = files;
    await stopping;
    expect(files - filesThen).toBeLessThanOrEqual(1);
    await job.runNow();
    expect(files - filesThen).toBeLessThanOrEqual(1);
  });

  it('retries a failed slice from the same cursor after the period', async () => {
    const seen: (number | null)[] = [];
    let errors = 0;
    const runSlice = async ({ cursor: from }: JobSlice<number>): Promise<number | null> => {
      seen.push(from);
      if (seen.length === 2) throw new Error('away');
      return 7;
    };
    jobs.push(new ResumableJob<number>({ periodMs: 5, runSlice, onError: () => (errors += 1) }));
    await waitFor(() => seen.length >= 3);
    expect([seen.slice(0, 3), errors]).toEqual([[null, 7, 7], 1]);
  });
});

describe('jobs over upload directories', () => {
  let dir: string;
  let clips: ClipDirectory;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'fleet-turns-'));
    clips = new ClipDirectory(dir);
    await clips.prepare();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** Creates uploads of two cameras, each with a file. */
  function makeUploads(count: number): UploadRef[] {
    return Array.from({ length: count }, (_, at) => {
      const ref = { imei: at % 2 === 0 ? '13800138000' : '13900139000', id: randomBytes(12).toString('hex') };
      mkdirSync(clips.filesDir(ref), { recursive: true });
      writeFileSync(join(clips.filesDir(ref), 'a.h264'), 'x');
      return ref;
    });
  }
  async function idsHere(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { id } of clips.listUploads(null)) ids.push(id);
    return ids.toSorted();
  }
  type Sweep = (slice: JobSlice<UploadRef>) => Promise<UploadRef | null>;
  async function turnsUntilDone(sweep: Sweep, files: number): Promise<number> {
    let from: UploadRef | null = null;
    for (let turns = 1; turns < 1_000; turns += 1) {
      from = await sweep(createSlice(files, from));
      if (from === null) return turns;
    }
    throw new Error('the job does not end');
  }

  it('remove unused directories in slices, regardless of the number of used ones', async () => {
    const refs = makeUploads(450);
    const inUse = new Set(refs.filter((_place, at) => at % 3 !== 0).map(({ id }) => id));
    for (let at = 0; at < 5; at += 1) mkdirSync(join(dir, '.removed', `left-${at}`));
    const records = {
      findStatuses: async (ids: readonly string[]) =>
        new Map(ids.flatMap((id) => (inUse.has(id) ? [[id, 'completed'] as const] : []))),
    } as unknown as UploadRepository;
    const uploads = { end: async () => undefined } as unknown as ActiveUploads;
    const deps = { records, uploads, clips, onError: raise, remove: (ref: UploadRef) => clips.remove(ref) };
    expect(await turnsUntilDone((slice) => removeOrphans(deps, slice), 10)).toBeGreaterThan(10);
    expect(await idsHere()).toEqual([...inUse].toSorted());
    expect(await turnsUntilDone((slice) => removeOrphans(deps, slice), 1_000)).toBe(1);
  });

  it('remove the other unused directories when some removals fail', async () => {
    const refs = makeUploads(12);
    const orderedRefs: UploadRef[] = [];
    for await (const ref of clips.listUploads(null)) orderedRefs.push(ref);
    const broken = new Set(orderedRefs.slice(1, 6).map(({ id }) => id));
    const errors: unknown[] = [];
    const deps = {
      records: { findStatuses: async () => new Map() } as unknown as UploadRepository,
      uploads: { end: async () => undefined } as unknown as ActiveUploads,
      clips,
      onError: (error: unknown) => errors.push(error),
      remove: async (ref: UploadRef) => {
        if (broken.has(ref.id)) throw new Error('cannot be removed');
        await clips.remove(ref);
      },
    };
    // The storage may be unavailable. A slice does not wait for each failing removal, and the next slice continues
    // after them.
    expect(await turnsUntilDone((slice) => removeOrphans(deps, slice), refs.length + 1)).toBe(2);
    expect(await idsHere()).toEqual([...broken].toSorted());
    expect(errors).toHaveLength(broken.size);
  });

  it('move clips to object storage in slices when one of them fails', async () => {
    const refs = makeUploads(12);
    const broken = refs[5]?.id;
    const upload = ({ imei, id }: UploadRef): UploadRecord =>
      ({
        _id: id,
        clip: { imei },
        status: 'completed',
        server: { podId: 'pod', httpUrl: '' },
        filesize: 1,
        files: [{ path: 'a.h264', sizeBytes: 1 }],
      }) as unknown as UploadRecord;
    const archiver = new ClipArchiver({
      directory: clips,
      local: new DirectoryStorage(clips),
      shared: {
        put: async ({ id }: UploadRef) => {
          if (id === broken) throw new Error('too large');
        },
      } as unknown as NonNullable<ClipArchiverOptions['shared']>,
      records: {
        find: async (id) => upload(refs.find((ref) => ref.id === id) as UploadRef),
        set: async (id) => upload(refs.find((ref) => ref.id === id) as UploadRef),
      },
      log,
    });
    expect(await turnsUntilDone((slice) => archiver.sweep(slice), 4)).toBeGreaterThan(2);
    expect(await idsHere()).toEqual([broken]);
    await archiver.stop();
  });
});
