import type { Bus } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { recordTestNotification } from '../testing/notifications.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { AccountFeeds } from './account-feeds.ts';
import { throttleTickMs } from './location-throttle.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => harness.close());

describe('a silent broker connection', () => {
  it('loses no recorded event until it is detected', async () => {
    const { accountId, owner } = harness.ours;
    const { data } = await harness.as(owner).post('/api/vehicles', { vehicle_no: 'SILENT 1' });
    let isSilent = true;
    let reconnected: () => void = () => undefined;
    const { nc } = harness.bus;
    const flush = () => (isSilent ? new Promise<void>(() => undefined) : nc.flush());
    const bus: Bus = {
      ...harness.bus,
      nc: new Proxy(nc, {
        get: (_target, name) => {
          const value: unknown = name === 'flush' ? flush : Reflect.get(nc, name);
          return typeof value === 'function' ? (value.bind(nc) as unknown) : value;
        },
      }),
      // The connection appears open.
      isUp: () => true,
      onReconnect: (listener) => {
        reconnected = listener;
        return () => undefined;
      },
    };
    const feeds = new AccountFeeds({ ...harness.deps, bus }, async () => undefined);
    const received: unknown[] = [];
    feeds.join(accountId, { offer: ({ type, data: { id } }) => void (type === 'notification' && received.push(id)) });
    const { _id } = await recordTestNotification(harness.deps, accountId, { vehicleId: data.id });
    // Half a minute later the connection is given up and opened again.
    const noticedMs = Date.now() + 30_000;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => noticedMs);
    // By the clock alone, everything up to now would count as received.
    const startMs = performance.now();
    await waitFor(() => performance.now() - startMs > 5 * throttleTickMs);
    isSilent = false;
    reconnected();
    await waitFor(() => received.length > 0);
    clock.mockRestore();
    expect(received).toEqual([_id]);
    feeds.stop();
  });
});
