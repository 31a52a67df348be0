import type { DeliveryRecord, DueDelivery } from '@fleet/storage';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EndpointBulkheads } from '../net/endpoint-bulkhead.ts';
import { type RetryDeps, retryDelivery } from './retry.ts';
import { Sweep, type SweepDeps } from './sweep.ts';

type Records = SweepDeps['records'] & RetryDeps['records'];

const webhookId = 4;
let statuses: Map<string, DeliveryRecord['status']>;
/** Due deliveries, and their state when a poll of any replica could find them. */
let found: (readonly [string, DeliveryRecord['status'] | undefined])[];
let records: Records;
let bulkheads: EndpointBulkheads;
beforeEach(() => {
  statuses = new Map([
    ['a', 'failed'],
    ['b', 'skipped'],
  ]);
  found = [];
  bulkheads = new EndpointBulkheads({
    concurrency: 20,
    breakerOpenMs: 1_000,
    trust: undefined,
    onFree: () => undefined,
  });
  records = {
    deliveries: {
      find: async (_id) => ({ _id, webhookId, status: statuses.get(_id) }) as DeliveryRecord,
      claimedUntilMs: async () => 0,
      restart: async (id) => {
        statuses.set(id, 'pending');
        return true;
      },
    },
    schedule: {
      set: async ({ _id }) => void found.push([_id, statuses.get(_id)]),
      findDue: async () => [],
    },
    replays: {
      claimDue: async () => [{ _id: 'r:0', webhookId, deliveryIds: ['a', 'b'], dueAtMs: 0 }],
      delete: async () => undefined,
    },
  };
});
afterEach(() => {
  jest.restoreAllMocks();
  bulkheads.close();
});

function createSweep(): Sweep {
  const attempts = { runScheduled: async () => undefined, leaseUntilMs: () => Date.now() + 1_000 };
  const onError = (error: unknown): void => {
    throw error;
  };
  return new Sweep({ records, attempts, bulkheads: bulkheads, replayPerSecond: 10, onError });
}

describe('a retried delivery is pending before it is due, because a poll dequeues ended ones', () => {
  it('queues a delivery that a user retries', async () => {
    const begun: DueDelivery[] = [];
    const sweep = { start: (due: DueDelivery) => void begun.push(due) };
    expect(await retryDelivery({ records, sweep }, { webhookId, deliveryId: 'a' })).toBe('queued');
    expect(found).toEqual([['a', 'pending']]);
    expect(begun).toMatchObject([{ _id: 'a', webhookId }]);
  });

  it('by a replay', async () => {
    const sweep = createSweep();
    await sweep.run();
    await sweep.stop();
    expect(found).toEqual([
      ['a', 'pending'],
      ['b', 'pending'],
    ]);
  });
});

describe('a replay', () => {
  it('replays ten deliveries a second, also after an outage, and delays no other webhook', async () => {
    const ids = (name: string): string[] => Array.from({ length: 10 }, (_unused, at) => `${name}${at}`);
    const part = (name: string, of = webhookId) => ({ _id: name, webhookId: of, deliveryIds: ids(name), dueAtMs: 0 });
    const polls = [[part('a'), part('b'), part('c'), part('x', 5)], [part('d')], [part('e')]];
    records.replays.claimDue = async () => polls.shift() ?? [];
    const due = new Map<string, number>();
    records.schedule.set = async ({ _id, dueAtMs }) => void due.set(_id, dueAtMs);
    // Both clocks advance only between polls: a pause of the machine between two readings would count as time.
    let atMs = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => 1_000_000 + atMs);
    jest.spyOn(performance, 'now').mockImplementation(() => 5_000 + atMs);
    const sweep = createSweep();
    for (atMs of [0, 500, 10_000]) await sweep.run();
    await sweep.stop();
    const begins = Object.entries({ a: 0, b: 1_000, c: 2_000, x: 0, d: 3_000, e: 10_000 });
    const planned = begins.flatMap(([name, beginMs]) =>
      ids(name).map((id, at) => [id, 1_000_000 + beginMs + at * 100]),
    );
    expect([...due]).toEqual(planned);
  });
});
