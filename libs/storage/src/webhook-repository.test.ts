import { randomBytes } from 'node:crypto';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { computeDeliveryId, DeliveryRepository } from './delivery-repository.ts';
import { type Database, openDatabase } from './mongo.ts';
import { Sequence } from './sequence.ts';
import { WebhookRepository } from './webhook-repository.ts';
import { currentHealth, type WebhookHealth } from './webhook-types.ts';

// A real server on a machine that may be busy.
jest.setTimeout(60_000);

let database: Database;
let records: WebhookRepository;
beforeAll(async () => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/webhooks_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'webhooks-test' });
  records = new WebhookRepository(database);
  await records.ensureIndexes();
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

let notificationId = 0;
const add = (webhookId: number, more: { status?: 'pending' | 'skipped'; atMs?: number } = {}): Promise<string> =>
  records.deliveries.add(
    {
      webhookId,
      accountId: 1,
      userId: 1,
      notificationId: (notificationId += 1),
      notificationType: 'sos',
      imei: '013800138000',
      imeiKey: '13800138000',
      vehicleId: 5,
      body: '{}',
      status: more.status ?? 'pending',
    },
    more.atMs,
  );

describe('numbers', () => {
  it('are returned once each, in request order', async () => {
    const source = new Sequence(database, `numbers_${randomBytes(4).toString('hex')}`);
    const given = await Promise.all(Array.from({ length: 50 }, () => source.next()));
    expect(given).toEqual(Array.from({ length: 50 }, (_unused, at) => at + 1));
    expect(await source.next()).toBe(51);
  });
});

describe('deliveries', () => {
  it('have the id of their webhook and notification, and are not overwritten', async () => {
    const id = await add(1, { atMs: 1_000 });
    expect(id).toBe(computeDeliveryId(1, notificationId));
    expect(id).toMatch(/^[0-9a-f]{24}$/);
    await records.deliveries.finish(id, 'skipped');
    notificationId -= 1;
    expect(await add(1)).toBe(id);
    expect(await records.deliveries.find(id)).toMatchObject({ status: 'skipped', createdAtMs: 1_000, version: 2 });
  });

  it('are claimed by one caller at a time, and taken over from a dead one', async () => {
    const id = await add(2);
    const now = Date.now();
    expect(await records.deliveries.claim(id, now + 1_000, now)).toBe(true);
    expect(await records.deliveries.claim(id, now + 1_500, now + 999)).toBe(false);
    expect(await records.deliveries.claimedUntilMs(id)).toBe(now + 1_000);
    expect(await records.deliveries.claim(id, now + 3_000, now + 1_000)).toBe(true);
    // The holder that was considered dead has ended its attempt after all.
    await records.deliveries.release(id, now + 1_000);
    expect(await records.deliveries.claimedUntilMs(id)).toBe(now + 3_000);
    await records.deliveries.release(id, now + 3_000);
    expect(await records.deliveries.claimedUntilMs(id)).toBe(0);
  });

  it("are taken over by one of those that detect the holder's death concurrently", async () => {
    const id = await add(2);
    const now = Date.now();
    await records.deliveries.claim(id, now - 1, now - 2);
    // Both found it expired; the second one acts after the first one has claimed it.
    const second = Object.assign(new DeliveryRepository(database), { claimedUntilMs: async () => now - 1 });
    expect(await records.deliveries.claim(id, now + 60_000, now)).toBe(true);
    expect(await second.claim(id, now + 60_001, now)).toBe(false);
    expect(await records.deliveries.claimedUntilMs(id)).toBe(now + 60_000);
    await records.deliveries.release(id, now + 60_000);
  });

  it('are due by their times, without those of some webhooks', async () => {
    const [first, second, other] = [await add(3), await add(3), await add(4)];
    await records.schedule.set({ _id: second, webhookId: 3, dueAtMs: 2_000 });
    await records.schedule.set({ _id: first, webhookId: 3, dueAtMs: 5_000 });
    await records.schedule.set({ _id: first, webhookId: 3, dueAtMs: 1_000 });
    await records.schedule.set({ _id: other, webhookId: 4, dueAtMs: 1_500 });
    const due = async (except: number[], nowMs: number) =>
      (await records.schedule.findDue(except, 10, nowMs)).map(({ _id }) => _id);
    expect(await due([], 2_000)).toEqual([first, other, second]);
    expect(await due([3], 2_000)).toEqual([other]);
    expect(await due([], 1_499)).toEqual([first]);
    for (const id of [first, second, other]) await records.schedule.delete(id);
    expect(await due([], 9_000)).toEqual([]);
  });

  it('are planned again if no dispatcher works at them any more', async () => {
    // Older than those of other tests.
    const [lost, claimed, planned] = [
      await add(5, { atMs: 100 }),
      await add(5, { atMs: 100 }),
      await add(5, { atMs: 100 }),
    ];
    await add(5);
    const claimedUntilMs = Date.now() + 60_000;
    await records.deliveries.claim(claimed, claimedUntilMs);
    await records.schedule.set({ _id: planned, webhookId: 5, dueAtMs: Date.now() + 60_000 });
    expect(await records.schedule.requeueLost({ beforeMs: 50 })).toBe(0);
    expect(await records.schedule.requeueLost({ beforeMs: 500 })).toBe(1);
    expect((await records.schedule.findDue([], 10)).map(({ _id }) => _id)).toEqual([lost]);
    await records.schedule.delete(lost);
    // However many wait before it: page by page to the end.
    for (const batchSize of [1, 2, 3]) {
      expect(await records.schedule.requeueLost({ beforeMs: 500, batchSize: batchSize })).toBe(1);
      await records.schedule.delete(lost);
    }
    // Without time left the next run continues after the previous one, and restarts at the end.
    const requeueOptions = { beforeMs: 500, shouldStop: () => true, batchSize: 2 };
    for (const round of ['first', 'second']) {
      let requeued = 0;
      for (let requeue = 0; requeue < 4; requeue += 1) requeued += await records.schedule.requeueLost(requeueOptions);
      expect([round, requeued]).toEqual([round, 1]);
      await records.schedule.delete(lost);
    }
    await records.deliveries.release(claimed, claimedUntilMs);
    for (const id of [lost, claimed, planned]) {
      await records.schedule.delete(id);
      await records.deliveries.finish(id, 'canceled');
    }
  });

  it('are checked again after a failed check', async () => {
    const lost = [await add(5, { atMs: 100 }), await add(5, { atMs: 100 }), await add(5, { atMs: 100 })];
    const failing = new WebhookRepository(database);
    const set = failing.schedule.set.bind(failing.schedule);
    let failures = 0;
    failing.schedule.set = async (due) => {
      if (failures === 0) {
        failures += 1;
        throw new Error('away');
      }
      await set(due);
    };
    await expect(failing.schedule.requeueLost({ beforeMs: 500, batchSize: 2 })).rejects.toThrow('away');
    expect(await failing.schedule.requeueLost({ beforeMs: 500, batchSize: 2 })).toBe(3);
    expect((await records.schedule.findDue([], 10)).map(({ _id }) => _id).toSorted()).toEqual(lost.toSorted());
    for (const id of lost) {
      await records.schedule.delete(id);
      await records.deliveries.finish(id, 'canceled');
    }
  });

  it('are deleted when they are old', async () => {
    const old = await add(6, { atMs: 10 });
    const recent = await add(6);
    expect(await records.deliveries.prune(11)).toBe(1);
    expect(await records.deliveries.find(old)).toBeNull();
    expect(await records.deliveries.find(recent)).not.toBeNull();
  });
});

describe('replays', () => {
  it('are listed by webhook, time span and status, oldest first, up to a limit', async () => {
    const at = async (atMs: number, status: 'pending' | 'skipped' = 'skipped') => add(8, { atMs, status });
    const before = await at(999);
    const made = [await at(1_000), await at(1_001), await at(1_500), await at(1_999)];
    const after = await at(2_000);
    await at(1_200, 'pending');
    await add(9, { atMs: 1_200, status: 'skipped' });
    const span = { sinceMs: 1_000, untilMs: 2_000, statuses: ['skipped'] } as const;
    expect(await records.deliveries.findIds(8, span, 10)).toEqual(made);
    expect(await records.deliveries.findIds(8, span, 3)).toEqual(made.slice(0, 3));
    expect(await records.deliveries.findIds(8, { ...span, sinceMs: 0, untilMs: null }, 10)).toEqual([
      before,
      ...made,
      after,
    ]);
    expect(await records.deliveries.findIds(8, { ...span, statuses: ['failed'] }, 10)).toEqual([]);
  });

  it('are claimed part by part, by one caller', async () => {
    await records.replays.insert([
      { _id: 'r:0', webhookId: 7, deliveryIds: ['a'], dueAtMs: 1_000 },
      { _id: 'r:1', webhookId: 7, deliveryIds: ['b'], dueAtMs: 2_000 },
    ]);
    expect((await records.replays.claimDue(9_000, 1_500)).map(({ _id }) => _id)).toEqual(['r:0']);
    expect(await records.replays.claimDue(9_000, 1_500)).toEqual([]);
    // Its dispatcher died.
    // The longest wait comes first.
    expect((await records.replays.claimDue(99_000, 9_000)).map(({ _id }) => _id)).toEqual(['r:1', 'r:0']);
    await records.cancelAll(7);
    expect(await records.replays.claimDue(999_000, 99_000)).toEqual([]);
  });
});

describe('health', () => {
  it('is reset by a restart, except for its times', () => {
    const stored: WebhookHealth = {
      _id: 1,
      epoch: 0,
      disabledReason: 'gone',
      failingSince: new Date(1),
      consecutiveFailures: 9,
      lastSuccessAt: new Date(2),
      lastFailureAt: new Date(3),
      noticedPercent: 100,
      dueNotice: null,
    };
    expect(currentHealth({ _id: 1, healthEpoch: 0 }, stored)).toBe(stored);
    expect(currentHealth({ _id: 1, healthEpoch: 1 }, stored)).toMatchObject({
      epoch: 1,
      disabledReason: null,
      failingSince: null,
      consecutiveFailures: 0,
      lastFailureAt: new Date(3),
      noticedPercent: 0,
    });
    expect(currentHealth({ _id: 1, healthEpoch: 0 }, null)).toMatchObject({ lastSuccessAt: null });
  });
});
