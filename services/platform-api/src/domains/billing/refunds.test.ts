import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import type { Order } from './schema.ts';
import { GatewayOrders, orderCollection } from './store.ts';
import { findSubscriptions } from './subscriptions.ts';
import { applyOrderStatus, processOrders } from './use-cases.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

async function newOrder(vehicleNo: string): Promise<{ order: Order; vehicleIds: number[] }> {
  const owner = harness.as(harness.ours.owner);
  const { data } = await owner.post('/api/vehicles', { vehicle_no: vehicleNo });
  const body = { plan: 'basic', vehicle_ids: [data.id], months: 12 };
  const created: Data = (await owner.post('/api/subscription/create-gateway-order', body)).data;
  const order = await orderCollection(harness.records).find(harness.ours, created.id);
  if (order === null) throw new Error('the order does not exist');
  return { order, vehicleIds: [data.id] };
}

async function moved(order: Order, status: 'paid' | 'refunded'): Promise<Order> {
  const change = status === 'paid' ? { paymentId: 'p-1', paidAt: new Date() } : {};
  const after = await new GatewayOrders(harness.records).move(order, status, change);
  if (after === null) throw new Error('the transition is not allowed');
  return after;
}

const readStatus = async ([vehicleId = 0]: readonly number[]): Promise<string | undefined> =>
  (await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId)?.status;

describe('refund of an order', () => {
  it('revokes the months if another replica applies the payment after the refund', async () => {
    const { order, vehicleIds } = await newOrder('REFUND 1');
    const paid = await moved(order, 'paid');
    // The refund arrives and is applied before the replica with the payment has extended the subscriptions.
    await moved(paid, 'refunded');
    await processOrders(harness.deps);
    expect(await orderCollection(harness.records).find(harness.ours, order._id)).toMatchObject({ isApplied: true });
    await applyOrderStatus(harness.deps, paid);
    expect(await readStatus(vehicleIds)).toBe('canceled');
    expect(await orderCollection(harness.records).find(harness.ours, order._id)).toMatchObject({
      status: 'refunded',
      isApplied: true,
    });
  });

  it('is applied to the subscriptions by a job if its process died, as is a payment', async () => {
    const { order, vehicleIds } = await newOrder('REFUND 2');
    const paid = await moved(order, 'paid');
    await processOrders(harness.deps);
    expect(await readStatus(vehicleIds)).toBe('active');
    await moved(paid, 'refunded');
    await processOrders(harness.deps);
    expect(await readStatus(vehicleIds)).toBe('canceled');
  });
});
