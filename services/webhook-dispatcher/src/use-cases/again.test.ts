import type { DeliveryRecord, DueDelivery, WebhookRecords } from '@fleet/storage';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Lanes } from '../net/lane.ts';
import { retryDelivery } from './retry.ts';
import { Sweep } from './sweep.ts';

type Records = Pick<
  WebhookRecords,
  'find' | 'claimedUntilMs' | 'renew' | 'schedule' | 'takeReplays' | 'endReplay' | 'due'
>;

const webhookId = 4;
let statuses: Map<string, DeliveryRecord['status']>;
/** What was due, and what it was when a sweep of any replica could come upon it. */
let found: (readonly [string, DeliveryRecord['status'] | undefined])[];
let records: Records;
let lanes: Lanes;
beforeEach(() => {
  statuses = new Map([
    ['a', 'failed'],
    ['b', 'skipped'],
  ]);
  found = [];
  lanes = new Lanes({ concurrency: 20, breakerOpenMs: 1_000, trust: undefined, onFree: () => undefined });
  records = {
    find: async (_id) => ({ _id, webhookId, status: statuses.get(_id) }) as DeliveryRecord,
    claimedUntilMs: async () => 0,
    renew: async (id) => {
      statuses.set(id, 'pending');
      return true;
    },
    schedule: async ({ _id }) => void found.push([_id, statuses.get(_id)]),
    takeReplays: async () => [{ _id: 'r:0', webhookId, deliveryIds: ['a', 'b'], dueAtMs: 0 }],
    endReplay: async () => undefined,
    due: async () => [],
  };
});
afterEach(() => lanes.close());

function sweeping(): Sweep {
  const attempts = { later: async () => undefined, leaseUntilMs: () => Date.now() + 1_000 };
  const onError = (error: unknown): void => {
    throw error;
  };
  return new Sweep({ records, attempts, lanes, replayPerSecond: 10, onError });
}

describe('a delivery that is tried again is pending before it is due: what is finished, a sweep takes off', () => {
  it('by hand', async () => {
    const begun: DueDelivery[] = [];
    const sweep = { begin: (due: DueDelivery) => void begun.push(due) };
    expect(await retryDelivery({ records, sweep }, { webhookId, deliveryId: 'a' })).toBe('queued');
    expect(found).toEqual([['a', 'pending']]);
    expect(begun).toMatchObject([{ _id: 'a', webhookId }]);
  });

  it('by a replay', async () => {
    const sweep = sweeping();
    await sweep.run();
    await sweep.stop();
    expect(found).toEqual([
      ['a', 'pending'],
      ['b', 'pending'],
    ]);
  });
});

describe('a replay', () => {
  it('is ten a second also where parts of it are late, as behind an outage, and holds up no other webhook’s', async () => {
    const ids = (name: string): string[] => Array.from({ length: 10 }, (_unused, at) => `${name}${at}`);
    const part = (name: string, of = webhookId) => ({ _id: name, webhookId: of, deliveryIds: ids(name), dueAtMs: 0 });
    const looks = [[part('a'), part('b'), part('c'), part('x', 5)], [part('d')]];
    records.takeReplays = async () => looks.shift() ?? [];
    const due = new Map<string, number>();
    records.schedule = async ({ _id, dueAtMs }) => void due.set(_id, dueAtMs);
    const sweep = sweeping();
    const beganMs = Date.now();
    await sweep.run();
    const lookedMs = Date.now();
    await sweep.run();
    await sweep.stop();
    const times = ['a', 'b', 'c', 'd'].flatMap(ids).map((id) => due.get(id) ?? 0);
    const [first = 0] = times;
    expect(first).toBeGreaterThanOrEqual(beganMs);
    // A look that comes late begins later, never sooner.
    const second = (at: number): number => times[at * 10] ?? 0;
    // A second by the one clock is one by the other, but for what is rounded.
    for (const at of [1, 2, 3]) expect(second(at)).toBeGreaterThanOrEqual(second(at - 1) + 990);
    for (const [at, atMs] of times.entries()) expect(atMs).toBe(second(Math.floor(at / 10)) + (at % 10) * 100);
    expect(due.get('x0')).toBeLessThanOrEqual(lookedMs);
  });
});
