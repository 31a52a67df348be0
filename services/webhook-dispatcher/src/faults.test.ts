import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { DispatcherHarness } from './testing/harness.ts';
import { TestReceiver } from './testing/test-receiver.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DispatcherHarness;
let receiver: TestReceiver;
beforeAll(async () => {
  harness = await DispatcherHarness.open();
  receiver = await TestReceiver.start();
});
afterEach(() => harness.stopDispatchers());
afterAll(async () => {
  await harness.close();
  await receiver.stop();
});

it('a webhook whose secret cannot be decrypted fails like any other and delays no other', async () => {
  await harness.startDispatcher({ WEBHOOK_MAX_IN_FLIGHT: '4', WEBHOOK_RETRY_WAITS_MS: '40' });
  const sealedSecret = 'encrypted with a deleted key';
  const broken = await harness.createWebhook(receiver.url('/broken'), { sealedSecret });
  for (let count = 1; count <= 6; count += 1) await harness.publishNotification(broken.userId);
  await harness.waitForStatuses(broken, 6, ['pending', 'failed']);
  const webhook = await harness.createWebhook(receiver.url('/sound'));
  for (let count = 1; count <= 6; count += 1) await harness.publishNotification(webhook.userId);
  await harness.waitForStatuses(webhook, 6);
  expect(receiver.received.map(({ url }) => url)).toEqual(Array.from({ length: 6 }, () => '/sound'));
  await harness.waitForStatuses(broken, 6, ['failed']);
  for (const { attempts, nextAttemptAtMs } of await harness.findDeliveries(broken)) {
    const outcomes = attempts.map(({ statusCode, errorCode }) => [statusCode, errorCode]);
    expect([outcomes, nextAttemptAtMs]).toEqual([
      [
        [null, null],
        [null, null],
      ],
      null,
    ]);
  }
  // Recorded soon, and not with each of them.
  await waitFor(async () => (await harness.findHealth(broken)).consecutiveFailures > 0);
});
