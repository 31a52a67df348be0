import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type PodIdentity, resolvePodIdentity } from './pod-identity.ts';

jest.setTimeout(60_000);

let dir: string;
let pods: PodIdentity[] = [];
let lost = 0;
const errors: unknown[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fleet-pod-'));
  [lost, errors.length] = [0, 0];
});
afterEach(async () => {
  for (const pod of pods) await pod.release();
  pods = [];
  await rm(dir, { recursive: true, force: true });
  expect(errors).toEqual([]);
});

const timings = { heartbeatMs: 20, holderTimeoutMs: 400 };
async function resolvePod(configured?: string, more: Partial<typeof timings> = {}): Promise<PodIdentity> {
  const pod = await resolvePodIdentity(configured, dir, {
    ...timings,
    ...more,
    onLost: () => (lost += 1),
    onError: (error) => errors.push(error),
  });
  pods.push(pod);
  return pod;
}

const lockPath = (): string => join(dir, '.pod-lock');
/** Writes the lock of a process other than this one. */
const writeLock = (holder: object): Promise<void> =>
  writeFile(
    lockPath(),
    JSON.stringify({ token: 'f'.repeat(24), host: 'elsewhere', processId: 7, processSpace: 'other', ...holder }),
  );
const ownLock = async (): Promise<{ processSpace: string; processId: number; host: string }> => {
  const pod = await resolvePod();
  const text = await readFile(lockPath(), 'utf8');
  await pod.release();
  return JSON.parse(text) as { processSpace: string; processId: number; host: string };
};

describe('resolvePodIdentity', () => {
  it('returns POD_ID if set, and stores it on the volume', async () => {
    for (const _start of [1, 2]) {
      const pod = await resolvePod('pod-1');
      expect(pod.id).toBe('pod-1');
      await pod.release();
    }
    expect(await readdir(dir)).toEqual(['.pod-id']);
  });

  it('refuses a directory of another pod, as its records name that one', async () => {
    const pod = await resolvePod('pod-1');
    await expect(resolvePod('pod-2')).rejects.toThrow(
      /^CLIPS_DIR belongs to the pod pod-1 \(.*\.pod-id\), and POD_ID is pod-2\. Give each pod its own directory, or set POD_ID to pod-1/,
    );
    await pod.release();
    expect((await resolvePod()).id).toBe('pod-1');
  });

  it('otherwise stores an id on the volume and returns the same after every restart', async () => {
    const first = await resolvePod();
    expect(first.id).toMatch(/^upload-[0-9a-f]{16}$/);
    await first.release();
    expect(await readdir(dir)).toEqual(['.pod-id']);
    expect((await resolvePod()).id).toBe(first.id);
    expect((await readdir(dir)).toSorted()).toEqual(['.pod-id', '.pod-lock']);
  });

  it('rejects an invalid stored id and releases the lock', async () => {
    await writeFile(join(dir, '.pod-id'), 'not a name\n');
    await expect(resolvePod()).rejects.toThrow(/\.pod-id contains no valid pod id/);
    await writeFile(join(dir, '.pod-id'), 'once-set\n');
    expect((await resolvePod()).id).toBe('once-set');
  });
});

describe('two pods on one volume', () => {
  it.each([
    ['with the same POD_ID', 'pod-1'],
    ['without POD_ID', undefined],
  ])('rejects a second pod %s in the same process', async (_case, configured) => {
    await resolvePod(configured);
    await expect(resolvePod(configured)).rejects.toThrow(
      `CLIPS_DIR is in use by another process (host ${hostname()}, process ${process.pid};`,
    );
  });

  it.each([
    ['with the same POD_ID', 'pod-1'],
    ['without POD_ID', undefined],
  ])('rejects a pod %s while the holder on another machine is alive', async (_case, configured) => {
    await writeLock({});
    const beating = setInterval(() => {
      const now = new Date();
      utimes(lockPath(), now, now).catch((error: unknown) => errors.push(error));
    }, 20);
    await expect(resolvePod(configured, { holderTimeoutMs: 60_000 })).rejects.toThrow(
      /in use by another process \(host elsewhere, process 7/,
    );
    clearInterval(beating);
  });

  it('admits one of several pods that start concurrently', async () => {
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => resolvePod()));
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  });

  it.each([
    ['from another machine that is gone', {}],
    ['that is unreadable', null],
  ])('takes over a lock %s', async (_case, holder) => {
    if (holder === null) await writeFile(lockPath(), '');
    else await writeLock(holder);
    await resolvePod();
    expect(lost).toBe(0);
  });

  it('takes over immediately if the holding process is known to be dead', async () => {
    const { processSpace } = await ownLock();
    const child = spawn('true');
    await once(child, 'exit');
    for (const processId of [child.pid, process.pid]) {
      await writeLock({ processSpace, processId });
      const pod = await resolvePod(undefined, { holderTimeoutMs: 3_600_000, heartbeatMs: 3_600_000 });
      expect(await readFile(lockPath(), 'utf8')).toContain(`"processId":${process.pid}`);
      await pod.release();
    }
  });

  it('notifies the holder of a takeover, which then leaves the new lock in place', async () => {
    const pod = await resolvePod();
    await writeLock({});
    await waitFor(() => lost === 1);
    await pod.release();
    expect(await readFile(lockPath(), 'utf8')).toContain('elsewhere');
  });

  it('recreates a deleted lock file', async () => {
    await resolvePod();
    await rm(lockPath());
    await waitFor(async () => (await readdir(dir)).includes('.pod-lock'));
    expect(lost).toBe(0);
  });
});
