import type { WebhookHealth, WebhookRecord } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DispatcherHarness } from '../testing/harness.ts';
import { Subscribers } from './subscribers.ts';
import { WebhookHealthWriter } from './webhook-health-writer.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const hourMs = 3_600_000;
const throwError = (error: unknown): void => {
  throw error;
};

let harness: DispatcherHarness;
const subscribers: Subscribers[] = [];
beforeAll(async () => {
  harness = await DispatcherHarness.open();
});
afterAll(async () => {
  for (const each of subscribers) each.stop();
  await harness.close();
});

/** Health writers of several dispatchers, and their notices. */
function dispatchers(count: number) {
  const disabled: WebhookHealth[] = [];
  const notices: WebhookHealth[] = [];
  const writers = Array.from({ length: count }, () => {
    const own = new Subscribers(harness.records, harness.bus, throwError);
    subscribers.push(own);
    return new WebhookHealthWriter({
      records: harness.records,
      subscribers: own,
      disableAfterMs: hourMs,
      onDisabled: (health) => disabled.push(health),
      onNotice: (health) => notices.push(health),
      onError: throwError,
    });
  });
  return { keepers: writers, disabled, notices };
}

const newWebhook = (): Promise<WebhookRecord> => harness.createWebhook('https://127.0.0.1:1/');
const stop = (writers: readonly WebhookHealthWriter[]) => Promise.all(writers.map((writer) => writer.stop()));

describe('the health of a webhook that several dispatchers write', () => {
  it('counts the results of all of them at the same time', async () => {
    const webhook = await newWebhook();
    const { keepers: writers } = dispatchers(8);
    const atMs = Date.now();
    for (let round = 0; round < 5; round += 1)
      for (const [at, writer] of writers.entries())
        writer.recordFailure(webhook._id, { isGone: false, vehicleId: at }, atMs + at);
    await stop(writers);
    expect(await harness.findHealth(webhook)).toMatchObject({
      consecutiveFailures: 40,
      failingSince: expect.any(Date),
      lastFailureAt: new Date(atMs + 7),
      disabledReason: null,
    });
  });

  it('is disabled by one of them, only after its notices', async () => {
    const webhook = await newWebhook();
    const first = dispatchers(1);
    first.keepers[0]?.recordFailure(webhook._id, { isGone: false, vehicleId: 1 }, Date.now() - 3 * hourMs);
    await stop(first.keepers);
    const { keepers: writers, disabled, notices } = dispatchers(8);
    for (const writer of writers) writer.recordFailure(webhook._id, { isGone: false, vehicleId: 1 });
    await stop(writers);
    expect([...first.disabled, ...disabled]).toMatchObject([{ disabledReason: 'failing', noticedPercent: 100 }]);
    // The first of three concurrent steps: the notice contains the state at that time.
    expect(notices).toMatchObject([{ noticedPercent: 50 }]);
    expect(await harness.findHealth(webhook)).toMatchObject({
      consecutiveFailures: 9,
      disabledReason: 'failing',
      noticedPercent: 100,
    });
  });

  it('is disabled by one of them after 410 to all of them', async () => {
    const webhook = await newWebhook();
    const { keepers: writers, disabled, notices } = dispatchers(8);
    for (const writer of writers) writer.recordFailure(webhook._id, { isGone: true, vehicleId: 1 });
    await stop(writers);
    expect(disabled).toMatchObject([{ _id: webhook._id, disabledReason: 'gone' }]);
    expect(notices).toHaveLength(1);
    expect(await harness.findHealth(webhook)).toMatchObject({ consecutiveFailures: 8, disabledReason: 'gone' });
  });

  it('continues from records of an older release, and resets after a restart of the webhook', async () => {
    const webhook = await newWebhook();
    const old = { ...(await harness.findHealth(webhook)), consecutiveFailures: 7, failingSince: new Date(1) };
    await harness.database.collection<WebhookHealth>('webhook_health').insertOne(old);
    const { keepers: writers } = dispatchers(4);
    for (const writer of writers) writer.recordFailure(webhook._id, { isGone: false, vehicleId: 1 });
    await stop(writers);
    expect(await harness.findHealth(webhook)).toMatchObject({ consecutiveFailures: 11 });
    await harness.updateWebhook(webhook, { healthEpoch: 1 });
    const again = dispatchers(4).keepers;
    for (const writer of again) writer.recordFailure(webhook._id, { isGone: false, vehicleId: 1 });
    await stop(again);
    expect(await harness.records.findHealth(webhook._id)).toMatchObject({ epoch: 1, consecutiveFailures: 4 });
  });
});
