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

describe('a delivery that is tried again is pending before it is due: what is finished, a sweep takes off', () => {
  it('by hand', async () => {
    const begun: DueDelivery[] = [];
    const sweep = { begin: (due: DueDelivery) => void begun.push(due) };
    expect(await retryDelivery({ records, sweep }, { webhookId, deliveryId: 'a' })).toBe('queued');
    expect(found).toEqual([['a', 'pending']]);
    expect(begun).toMatchObject([{ _id: 'a', webhookId }]);
  });

  it('by a replay', async () => {
    const attempts = { later: async () => undefined, leaseUntilMs: () => Date.now() + 1_000 };
    const onError = (error: unknown): void => {
      throw error;
    };
    const sweep = new Sweep({ records, attempts, lanes, replayPerSecond: 10, onError });
    await sweep.run();
    await sweep.stop();
    expect(found).toEqual([
      ['a', 'pending'],
      ['b', 'pending'],
    ]);
  });
});
