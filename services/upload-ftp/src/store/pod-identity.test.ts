import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { waitFor } from '../../../../libs/service-kit/src/testing/server-process.ts';
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
/** The lock of a process that is no other one of this test. */
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

describe('the name of a pod', () => {
  it('is POD_ID where that is set, and leaves nothing on the volume, so that several may share it', async () => {
    expect((await resolvePod('pod-1')).id).toBe('pod-1');
    expect((await resolvePod('pod-2')).id).toBe('pod-2');
    expect(await readdir(dir)).toEqual([]);
  });

  it('is kept on the volume otherwise, and the same after every restart', async () => {
    const first = await resolvePod();
    expect(first.id).toMatch(/^upload-[0-9a-f]{16}$/);
    await first.release();
    expect(await readdir(dir)).toEqual(['.pod-id']);
    expect((await resolvePod()).id).toBe(first.id);
    expect((await readdir(dir)).toSorted()).toEqual(['.pod-id', '.pod-lock']);
  });

  it('is refused where the volume keeps something else under its name, and the lock is free again', async () => {
    await writeFile(join(dir, '.pod-id'), 'not a name\n');
    await expect(resolvePod()).rejects.toThrow(/\.pod-id holds no pod id/);
    await writeFile(join(dir, '.pod-id'), 'once-set\n');
    expect((await resolvePod()).id).toBe('once-set');
  });
});

describe('two pods on one volume', () => {
  it('without names are refused, in one process', async () => {
    await resolvePod();
    await expect(resolvePod()).rejects.toThrow(
      `CLIPS_DIR is in use by another pod (host ${hostname()}, process ${process.pid};`,
    );
  });

  it('without names are refused, on another machine, as long as that one shows that it lives', async () => {
    await writeLock({});
    const beating = setInterval(() => {
      const now = new Date();
      utimes(lockPath(), now, now).catch((error: unknown) => errors.push(error));
    }, 20);
    await expect(resolvePod(undefined, { holderTimeoutMs: 60_000 })).rejects.toThrow(
      /in use by another pod \(host elsewhere, process 7/,
    );
    clearInterval(beating);
  });

  it('that start at the same moment: one has it', async () => {
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => resolvePod()));
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  });

  it.each([
    ['another machine that has gone', {}],
    ['a lock that nobody can read', null],
  ])('are one after the other: %s', async (_case, holder) => {
    if (holder === null) await writeFile(lockPath(), '');
    else await writeLock(holder);
    await resolvePod();
    expect(lost).toBe(0);
  });

  it('are one after the other, at once where the process is known to be dead', async () => {
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

  it('one learns that another has taken over, and leaves that one its lock', async () => {
    const pod = await resolvePod();
    await writeLock({});
    await waitFor(() => lost === 1);
    await pod.release();
    expect(await readFile(lockPath(), 'utf8')).toContain('elsewhere');
  });

  it('a lock that somebody has removed is made again', async () => {
    await resolvePod();
    await rm(lockPath());
    await waitFor(async () => (await readdir(dir)).includes('.pod-lock'));
    expect(lost).toBe(0);
  });
});
