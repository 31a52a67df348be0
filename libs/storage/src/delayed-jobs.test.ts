import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayedJobs } from './delayed-jobs.ts';
import { connectRedis, type Redis } from './redis.ts';

// A real server on a machine that may be busy.
jest.setTimeout(30_000);

const keys = { due: 'test:due', initialized: 'test:initialized' };
const retryMs = 1_000;

describe('delayed jobs in Redis', () => {
  let server: ServerProcess;
  let clients: readonly Redis[];
  let jobs: DelayedJobs;

  beforeAll(async () => {
    server = await (await ServerProcess.redis()).start();
    const url = `redis://127.0.0.1:${server.port}`;
    const connect = () => connectRedis(url, { name: 'delayed-jobs-test', onError: () => undefined });
    clients = [await connect(), await connect()];
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.remove();
  });
  beforeEach(async () => {
    const [redis] = clients as [Redis];
    await redis.flushDb();
    jobs = new DelayedJobs(redis, keys);
  });

  it('returns due jobs only, the longest due first and no more than the limit', async () => {
    await jobs.schedule('second', 200);
    await jobs.schedule('first', 100);
    await jobs.schedule('third', 300);
    await jobs.schedule('later', 401);
    expect(await jobs.takeDue(400, 2, retryMs)).toEqual(['first', 'second']);
    expect(await jobs.takeDue(400, 2, retryMs)).toEqual(['third']);
    expect(await jobs.takeDue(400, 2, retryMs)).toEqual([]);
  });

  it('gives each job to one of several replicas', async () => {
    const ids = Array.from({ length: 200 }, (_unused, at) => `job-${at}`);
    await jobs.scheduleMissing(ids, 100);
    const replicas = clients.map((client) => new DelayedJobs(client, keys));
    const taken = await Promise.all(
      Array.from({ length: 40 }, (_unused, at) => replicas[at % replicas.length]?.takeDue(100, 7, retryMs)),
    );
    expect(taken.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('returns a job again that its replica has not finished', async () => {
    await jobs.schedule('crashed', 100);
    await jobs.schedule('finished', 100);
    expect(await jobs.takeDue(100, 10, retryMs)).toEqual(['crashed', 'finished']);
    await jobs.cancel('finished');
    expect(await jobs.takeDue(100 + retryMs - 1, 10, retryMs)).toEqual([]);
    expect(await jobs.takeDue(100 + retryMs, 10, retryMs)).toEqual(['crashed']);
  });

  it('replaces the due time of a job that is scheduled again, and only that', async () => {
    await jobs.schedule('moved', 100);
    await jobs.schedule('moved', 500);
    await jobs.schedule('kept', 100);
    await jobs.scheduleMissing(['kept', 'added'], 500);
    await jobs.scheduleMissing([], 500);
    expect(await jobs.takeDue(100, 10, retryMs)).toEqual(['kept']);
    expect((await jobs.takeDue(500, 10, retryMs)).toSorted()).toEqual(['added', 'moved']);
  });

  it('is not initialized in a new Redis', async () => {
    expect(await jobs.isInitialized()).toBe(false);
    await jobs.markInitialized();
    expect(await jobs.isInitialized()).toBe(true);
  });
});
