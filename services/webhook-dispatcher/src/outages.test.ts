import { notifyWebhookOwner, request, serve, webhookRequests } from '@fleet/bus';
import type { WebhookRecord } from '@fleet/storage';
import { freePort, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DispatcherHarness } from './testing/harness.ts';
import { respondWith, TestReceiver } from './testing/test-receiver.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(180_000);

let harness: DispatcherHarness;
const receivers: { stop(): Promise<void> }[] = [];
beforeAll(async () => {
  harness = await DispatcherHarness.open();
});
afterEach(async () => {
  await harness.stopDispatchers();
  await Promise.all(receivers.splice(0).map((each) => each.stop()));
});
afterAll(() => harness.close());

async function receive(...given: Parameters<typeof TestReceiver.start>): Promise<TestReceiver> {
  const receiver = await TestReceiver.start(...given);
  receivers.push(receiver);
  return receiver;
}

async function publishMany(webhook: WebhookRecord, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let i = 0; i < count; i += 1) ids.push(await harness.publishNotification(webhook.userId));
  return ids;
}

const sorted = (ids: Iterable<number>): number[] => [...new Set(ids)].toSorted((a, b) => a - b);
const hasReceived = (receiver: TestReceiver): number[] =>
  sorted(receiver.received.map(({ notificationId }) => notificationId));

describe('a slow receiver', () => {
  it('gets a limited number of concurrent attempts and does not delay its neighbours', async () => {
    // Longer than the whole test: an attempt that ended before its receiver responds would be repeated.
    await harness.startDispatcher({ WEBHOOK_ATTEMPT_TIMEOUT_MS: '600000' });
    const waiting: (() => void)[] = [];
    const slow = await receive((response) => void waiting.push(() => response.end()));
    const quick = await receive();
    const slowHook = await harness.createWebhook(slow.url());
    const slowIds = await publishMany(slowHook, 120);
    await waitFor(() => slow.openRequests === 20);
    const hook = await harness.createWebhook(quick.url());
    const ids = await publishMany(hook, 30);
    // The neighbour receives all of its deliveries while none of the slow receiver's has ended.
    await harness.waitForStatuses(hook, 30);
    expect(hasReceived(quick)).toEqual(ids);
    expect([slow.received.length, slow.openRequests]).toEqual([20, 20]);
    slow.respond = respondWith(200);
    for (const end of waiting.splice(0)) end();
    await harness.waitForStatuses(slowHook, 120);
    expect(hasReceived(slow)).toEqual(slowIds);
    expect(slow.maxOpenRequests).toBe(20);
    expect((await harness.findDeliveries(slowHook)).every(({ attemptCount }) => attemptCount === 1)).toBe(true);
  });
});

describe('a dead receiver', () => {
  it('is paused after ten failures in a row; deferred attempts do not count', async () => {
    const waits = '10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10';
    await harness.startDispatcher({ WEBHOOK_BREAKER_OPEN_MS: '2500', WEBHOOK_RETRY_WAITS_MS: waits });
    const receiver = await receive(respondWith(500));
    const webhook = await harness.createWebhook(receiver.url());
    await publishMany(webhook, 3);
    await waitFor(() => receiver.received.length >= 10);
    // Attempts in progress end, and no more arrive.
    await waitFor(async () => (await harness.countClaims()) === 0);
    const atOpening = receiver.received.length;
    expect(atOpening).toBeLessThanOrEqual(13);
    const counted = async () =>
      (await harness.findDeliveries(webhook)).reduce((sum, { attemptCount }) => sum + attemptCount, 0);
    await publishMany(webhook, 5);
    await waitFor(async () => (await harness.findDeliveries(webhook)).length === 8);
    // An attempt between the two is reported a moment later.
    await waitFor(async () => (await counted()) === receiver.received.length);
    receiver.respond = respondWith(200);
    await harness.waitForStatuses(webhook, 8);
    const [firstAfter] = receiver.received.slice(atOpening);
    expect((firstAfter?.atMs ?? 0) - (receiver.received[atOpening - 1]?.atMs ?? 0)).toBeGreaterThan(1_500);
    expect(await counted()).toBe(receiver.received.length);
    expect(await harness.findHealth(webhook)).toMatchObject({ disabledReason: null });
  });

  it('costs one attempt at a time while it is tested, and does not delay its neighbours', async () => {
    await harness.startDispatcher({ WEBHOOK_BREAKER_OPEN_MS: '150' });
    const dead = await harness.createWebhook(`https://127.0.0.1:${await freePort()}/`);
    const receiver = await receive();
    const webhook = await harness.createWebhook(receiver.url());
    await publishMany(dead, 40);
    const ids = await publishMany(webhook, 40);
    await harness.waitForStatuses(webhook, 40);
    expect(hasReceived(receiver)).toEqual(ids);
    expect((await harness.findDeliveries(webhook)).every(({ attemptCount }) => attemptCount === 1)).toBe(true);
  });
});

describe('a receiver that fails intermittently', () => {
  it('receives every delivery, each with its own id only', async () => {
    await harness.startDispatcher({ WEBHOOK_BREAKER_OPEN_MS: '100' });
    const receiver = await receive((response, received, count) => {
      const kind = count % 4;
      if (kind === 0) response.socket?.destroy();
      else respondWith(kind === 1 ? 200 : kind === 2 ? 500 : 204)(response, received, count);
    });
    const webhook = await harness.createWebhook(receiver.url());
    const ids = await publishMany(webhook, 60);
    await harness.waitForStatuses(webhook, 60);
    expect(hasReceived(receiver)).toEqual(ids);
    const byId = new Map(receiver.received.map(({ id, notificationId }) => [notificationId, id]));
    for (const { id, notificationId } of receiver.received) expect(id).toBe(byId.get(notificationId));
    expect(receiver.ids.size).toBe(60);
  });

  it('receives the deliveries of a one-day outage, by retries or by a replay', async () => {
    // Two seconds represent a day: the back-offs are scaled accordingly.
    await harness.startDispatcher({
      WEBHOOK_RETRY_WAITS_MS: '1,2,3,14,42,167,417,833',
      WEBHOOK_BREAKER_OPEN_MS: '20',
      WEBHOOK_REPLAY_PER_SECOND: '200',
    });
    const port = await freePort();
    const webhook = await harness.createWebhook(`https://127.0.0.1:${port}/`);
    // One attempt at a time, nine of each: more would only take longer.
    const ids = await publishMany(webhook, 8);
    await harness.waitForStatuses(webhook, 8, ['failed']);
    ids.push(...(await publishMany(webhook, 3)));
    const receiver = await TestReceiver.start(respondWith(200), undefined, port);
    receivers.push(receiver);
    await harness.waitForStatuses(webhook, 11, ['failed', 'succeeded']);
    const replay = { webhookId: webhook._id, sinceMs: 0, untilMs: null, statuses: ['failed' as const] };
    const { queued } = await request(harness.bus, webhookRequests.replay, replay, { timeoutMs: 10_000 });
    expect(queued).toBeGreaterThanOrEqual(8);
    await harness.waitForStatuses(webhook, 11);
    expect(hasReceived(receiver)).toEqual(ids);
    expect(receiver.ids.size).toBe(11);
  });
});

describe('a webhook that fails for long', () => {
  it('is disabled at the end, with notices to its owner at 50, 90 and 100 %', async () => {
    const notified: { webhookId: number }[] = [];
    let failures = 2;
    const noticeServer = serve(
      harness.bus,
      notifyWebhookOwner,
      { queue: 'x', onError: () => undefined },
      async (notice) => {
        // The first notices fail: they are repeated.
        failures -= 1;
        if (failures >= 0) throw new Error('not now');
        notified.push(notice);
        return { told: true };
      },
    );
    await harness.startDispatcher({
      WEBHOOK_DISABLE_AFTER_MS: '6000',
      WEBHOOK_RETRY_WAITS_MS: Array.from({ length: 50 }, () => 200).join(),
      WEBHOOK_BREAKER_OPEN_MS: '100',
      WEBHOOK_NOTICES_MS: '100',
    });
    const receiver = await receive(respondWith(500));
    const webhook = await harness.createWebhook(receiver.url());
    await harness.publishNotification(webhook.userId, { vehicle_id: 77 });
    await waitFor(async () => (await harness.findHealth(webhook)).disabledReason === 'failing');
    // Those of other tests may fail too.
    const own = () => notified.filter(({ webhookId }) => webhookId === webhook._id);
    await waitFor(() => own().length >= 3);
    const { failingSince } = await harness.findHealth(webhook);
    expect(own()).toEqual(
      [50, 90, 100].map((percent) => ({
        webhookId: webhook._id,
        percent,
        reason: 'failing',
        failingSinceMs: failingSince?.getTime(),
        atMs: expect.any(Number),
        vehicleId: 77,
      })),
    );
    // Its pending deliveries are retained.
    await harness.waitForStatuses(webhook, 1, ['skipped']);
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 2, ['skipped']);
    await noticeServer.stop();
  });
});

describe('two dispatchers', () => {
  it('share the work: each delivery is attempted once', async () => {
    await Promise.all([harness.startDispatcher(), harness.startDispatcher()]);
    const receiver = await receive();
    const webhook = await harness.createWebhook(receiver.url());
    const ids = await publishMany(webhook, 80);
    await harness.waitForStatuses(webhook, 80);
    expect(hasReceived(receiver)).toEqual(ids);
    expect(receiver.received).toHaveLength(80);
  });

  it('take over unfinished deliveries of a stopping one, once', async () => {
    const waiting: (() => void)[] = [];
    const receiver = await receive((response) => void waiting.push(() => response.end()));
    const first = await harness.startDispatcher({ WEBHOOK_CONCURRENCY: '5' });
    const webhook = await harness.createWebhook(receiver.url());
    const ids = await publishMany(webhook, 30);
    await waitFor(() => receiver.openRequests === 5);
    const stopped = first.stop();
    await harness.startDispatcher();
    // The stopping and the other dispatcher reply to everything that waits.
    receiver.respond = respondWith(200);
    for (const end of waiting.splice(0)) end();
    await stopped;
    await harness.waitForStatuses(webhook, 30);
    expect(hasReceived(receiver)).toEqual(ids);
    expect(receiver.received).toHaveLength(30);
  });
});

it('deliveries are deleted after thirty days', async () => {
  const receiver = await receive();
  const webhook = await harness.createWebhook(receiver.url());
  const dayMs = 86_400_000;
  const delivery = (notificationId: number, ageMs: number): Promise<string> => {
    const about = { accountId: 7, userId: webhook.userId, notificationType: 'sos', imei: '013800138000' };
    const more = { imeiKey: '13800138000', vehicleId: 5, body: '{}', status: 'skipped' as const };
    return harness.records.deliveries.add(
      { webhookId: webhook._id, notificationId, ...about, ...more },
      Date.now() - ageMs,
    );
  };
  const [old, young] = [await delivery(9_000_001, 30 * dayMs + 1), await delivery(9_000_002, 30 * dayMs - 3_600_000)];
  await harness.startDispatcher({}, { pruneIntervalMs: 50 });
  await waitFor(async () => (await harness.records.deliveries.find(old)) === null);
  expect(await harness.records.deliveries.find(young)).not.toBeNull();
});
