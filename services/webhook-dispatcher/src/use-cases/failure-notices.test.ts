import { notifyWebhookOwner, serve } from '@fleet/bus';
import type { WebhookHealth } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DispatcherHarness } from '../testing/harness.ts';
import { FailureNotices } from './failure-notices.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DispatcherHarness;
beforeAll(async () => {
  harness = await DispatcherHarness.open();
});
afterAll(() => harness.close());

/** Failure notices of one replica. */
const replica = (): FailureNotices =>
  new FailureNotices({
    bus: harness.bus,
    records: harness.records,
    health: {
      update: async (webhookId, change) => {
        const health = await harness.records.findHealth(webhookId);
        if (health !== null) await harness.records.saveHealth(change(health));
      },
    },
    onError: (error) => {
      throw error;
    },
  });

const resume = (): boolean => false;

describe('failure notices for the owner of a webhook', () => {
  it('are sent by one of several replicas, however long sending takes', async () => {
    const webhook = await harness.createWebhook('https://127.0.0.1:1/');
    const notice = { percent: 50, reason: 'failing', failingSinceMs: 1, atMs: 2, vehicleId: 3 } as const;
    const health: WebhookHealth = { ...(await harness.findHealth(webhook)), noticedPercent: 50, dueNotice: notice };
    await harness.records.saveHealth(health);
    let notifications = 0;
    let send: () => void = () => undefined;
    const sent = new Promise<void>((resolve) => {
      send = resolve;
    });
    const options = { queue: 'platform-api', onError: () => undefined };
    const noticeServer = serve(harness.bus, notifyWebhookOwner, options, async () => {
      notifications += 1;
      await sent;
      return { told: true };
    });
    await harness.bus.nc.flush();
    const [one, other] = [replica(), replica()];
    const first = one.notifyOwners(resume);
    await waitFor(() => notifications === 1);
    // The mail is being sent while the other replica polls, too.
    let isDone = false;
    const second = other.notifyOwners(resume).finally(() => {
      isDone = true;
    });
    await waitFor(() => isDone || notifications === 2);
    expect(notifications).toBe(1);
    send();
    await Promise.all([first, second]);
    await other.notifyOwners(resume);
    expect(notifications).toBe(1);
    expect((await harness.records.findHealth(webhook._id))?.dueNotice).toBeNull();
    expect(await harness.countClaims()).toBe(0);
    await noticeServer.stop();
  });

  it('stop between two webhooks when the service stops', async () => {
    const notice = { percent: 50, reason: 'failing', failingSinceMs: 1, atMs: 2, vehicleId: 3 } as const;
    for (let count = 1; count <= 3; count += 1) {
      const webhook = await harness.createWebhook('https://127.0.0.1:1/');
      await harness.records.saveHealth({
        ...(await harness.findHealth(webhook)),
        noticedPercent: 50,
        dueNotice: notice,
      });
    }
    let notifications = 0;
    const options = { queue: 'platform-api', onError: () => undefined };
    const noticeServer = serve(harness.bus, notifyWebhookOwner, options, async () => {
      notifications += 1;
      return { told: true };
    });
    await harness.bus.nc.flush();
    await replica().notifyOwners(() => notifications === 1);
    expect(notifications).toBe(1);
    await replica().notifyOwners(resume);
    expect(notifications).toBe(3);
    await noticeServer.stop();
  });
});
