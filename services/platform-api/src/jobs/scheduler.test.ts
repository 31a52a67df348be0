import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jobs } from '../assembly/jobs.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';
import type { Job } from './job.ts';
import { createJobSlice, type JobSlice } from './job-slice.ts';
import { runDueJobs } from './scheduler.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const addMs = (ms: number): Date => new Date(Date.now() + ms);

describe('jobs', () => {
  it('runs each job on one replica, and again after its interval', async () => {
    let times = 0;
    const list: Job[] = [{ name: 'test', everyMs: 60_000, run: async () => (times += 1) }];
    await Promise.all([1, 2, 3].map(() => runDueJobs(harness.deps, list)));
    expect(times).toBe(1);
    await runDueJobs(harness.deps, list, addMs(59_000));
    expect(times).toBe(1);
    await Promise.all([1, 2].map(() => runDueJobs(harness.deps, list, addMs(61_000))));
    expect(times).toBe(2);
  });

  it('runs other jobs after one fails', async () => {
    const ran: string[] = [];
    const fails = async (): Promise<void> => {
      throw new Error('away');
    };
    await runDueJobs(harness.deps, [
      { name: 'fails', everyMs: 1, run: fails },
      { name: 'runs', everyMs: 1, run: async () => ran.push('runs') },
    ]);
    expect(ran).toEqual(['runs']);
  });

  it('continues a long job a minute later where it ended, and pauses once all is done', async () => {
    const processed: number[] = [];
    const responses = [5, 9, null, 7, null];
    const name = 'in slices';
    const runSlice = async (_deps: unknown, { from }: JobSlice): Promise<number | null> => {
      processed.push(from);
      const next = responses[processed.length - 1];
      if (processed.length === 2) throw new Error('away');
      return next ?? null;
    };
    const list: Job[] = [{ name, everyMs: 3_600_000, runSlice }];
    const at = async (minutes: number): Promise<number[]> => {
      await Promise.all([1, 2].map(() => runDueJobs(harness.deps, list, new Date(start + minutes * 60_000))));
      return processed;
    };
    const start = Date.now();
    expect(await at(0)).toEqual([1]);
    expect(await at(0.9)).toEqual([1]);
    // The second slice fails.
    expect(await at(1.1)).toEqual([1, 5]);
    expect(await at(2)).toEqual([1, 5]);
    expect(await at(2.2)).toEqual([1, 5, 5]);
    // All is done.
    expect(await at(62)).toEqual([1, 5, 5]);
    expect(await at(63)).toEqual([1, 5, 5, 1]);
    expect(await at(65)).toEqual([1, 5, 5, 1, 7]);
  });

  it('ends a slice when the service stops, and starts no other job', async () => {
    const stopped = new AbortController();
    const responses: boolean[] = [];
    let others = 0;
    const runSlice = async (_deps: unknown, { from, isOver }: JobSlice): Promise<number> => {
      responses.push(isOver());
      stopped.abort();
      responses.push(isOver());
      return from;
    };
    const list: Job[] = [
      { name: 'long', everyMs: 60_000, runSlice },
      { name: 'after it', everyMs: 60_000, run: async () => (others += 1) },
    ];
    await runDueJobs(harness.deps, list, new Date(), stopped.signal);
    expect(responses).toEqual([false, true]);
    expect(others).toBe(0);
  });

  it('limits a slice to a part of a minute', () => {
    const { signal } = new AbortController();
    expect(createJobSlice(3, signal, 0).isOver()).toBe(true);
    expect(createJobSlice(3, signal, 600_000).isOver()).toBe(false);
  });

  it('removes expired records, and nothing else', async () => {
    const { database } = harness.deps;
    const [past, future] = [addMs(-2 * 24 * 3_600_000), addMs(3_600_000)];
    const collections = ['idempotency_keys', 'log_in_failures', 'one_time_codes', 'reset_tokens'];
    for (const name of collections) {
      const collection = database.collection<{ _id: string }>(name);
      await collection.insertMany([
        { _id: 'old', expiresAt: past } as never,
        { _id: 'new', expiresAt: future } as never,
      ]);
    }
    const user = await harness.user('viewer');
    const sessions = database.collection<{ _id: number }>('sessions');
    await sessions.updateOne({ _id: user.sessionId }, { $set: { revokedAt: past } });
    const open = await harness.user('viewer');
    await runDueJobs(harness.deps, jobs);
    for (const name of collections) {
      const remaining = await database.collection<{ _id: string }>(name).find().toArray();
      expect([name, remaining.map(({ _id }) => _id)]).toEqual([name, ['new']]);
    }
    expect(await sessions.findOne({ _id: user.sessionId })).toBeNull();
    expect((await harness.as(open).get('/api/auth/me')).status).toBe(200);
  });
});
