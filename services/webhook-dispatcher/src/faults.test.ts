import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { until } from '../../../libs/service-kit/src/testing/server-process.ts';
import { TestReceiver } from './testing/receiver.ts';
import { DispatcherWorld } from './testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: DispatcherWorld;
let receiver: TestReceiver;
beforeAll(async () => {
  world = await DispatcherWorld.open();
  receiver = await TestReceiver.start();
});
afterEach(() => world.stopDispatchers());
afterAll(async () => {
  await world.close();
  await receiver.stop();
});

it('a webhook whose secret can not be opened, as with another key, costs its neighbours nothing, and fails like any other', async () => {
  await world.dispatcher({ WEBHOOK_MAX_IN_FLIGHT: '4', WEBHOOK_RETRY_WAITS_MS: '40' });
  const sealedSecret = 'sealed by a key that nobody has any more';
  const broken = await world.webhook(receiver.url('/broken'), { sealedSecret });
  for (let count = 1; count <= 6; count += 1) await world.raise(broken.userId);
  await world.settled(broken, 6, ['pending', 'failed']);
  const webhook = await world.webhook(receiver.url('/sound'));
  for (let count = 1; count <= 6; count += 1) await world.raise(webhook.userId);
  await world.settled(webhook, 6);
  expect(receiver.received.map(({ url }) => url)).toEqual(Array.from({ length: 6 }, () => '/sound'));
  await world.settled(broken, 6, ['failed']);
  for (const { attempts, nextAttemptAtMs } of await world.deliveriesOf(broken)) {
    const outcomes = attempts.map(({ statusCode, errorCode }) => [statusCode, errorCode]);
    expect([outcomes, nextAttemptAtMs]).toEqual([
      [
        [null, null],
        [null, null],
      ],
      null,
    ]);
  }
  // Noted soon, and not with each of them.
  await until(async () => (await world.health(broken)).consecutiveFailures > 0);
});
