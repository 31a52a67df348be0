import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Data, PlatformWorld } from '../../testing/platform-world.ts';
import type { Order } from './schema.ts';
import { GatewayOrders, ordersIn } from './store.ts';
import { subscriptionsOf } from './subscriptions.ts';
import { apply, sweepOrders } from './use-cases.ts';

jest.setTimeout(60_000);

let world: PlatformWorld;
beforeAll(async () => {
  world = await PlatformWorld.open();
});
afterAll(() => world.close());

async function newOrder(vehicleNo: string): Promise<{ order: Order; vehicleIds: number[] }> {
  const owner = world.as(world.ours.owner);
  const { data } = await owner.post('/api/vehicles', { vehicle_no: vehicleNo });
  const body = { plan: 'basic', vehicle_ids: [data.id], months: 12 };
  const made: Data = (await owner.post('/api/subscription/create-gateway-order', body)).data;
  const order = await ordersIn(world.records).find(world.ours, made.id);
  if (order === null) throw new Error('there is none');
  return { order, vehicleIds: [data.id] };
}

async function moved(order: Order, status: 'paid' | 'refunded'): Promise<Order> {
  const change = status === 'paid' ? { paymentId: 'p-1', paidAt: new Date() } : {};
  const after = await new GatewayOrders(world.records).move(order, status, change);
  if (after === null) throw new Error('it may not');
  return after;
}

const statusOf = async ([vehicleId = 0]: readonly number[]): Promise<string | undefined> =>
  (await subscriptionsOf(world.deps, world.ours, [vehicleId])).get(vehicleId)?.status;

describe('a refund', () => {
  it('takes the months back that its payment gives only afterwards, on another replica', async () => {
    const { order, vehicleIds } = await newOrder('REFUND 1');
    const paid = await moved(order, 'paid');
    // The refund comes, and is applied, before whoever took the payment has come to its subscriptions.
    await moved(paid, 'refunded');
    await sweepOrders(world.deps);
    expect(await ordersIn(world.records).find(world.ours, order._id)).toMatchObject({ isApplied: true });
    await apply(world.deps, paid);
    expect(await statusOf(vehicleIds)).toBe('canceled');
    expect(await ordersIn(world.records).find(world.ours, order._id)).toMatchObject({
      status: 'refunded',
      isApplied: true,
    });
  });

  it('is brought to the subscriptions by a sweep where its process died, and so is a payment', async () => {
    const { order, vehicleIds } = await newOrder('REFUND 2');
    const paid = await moved(order, 'paid');
    await sweepOrders(world.deps);
    expect(await statusOf(vehicleIds)).toBe('active');
    await moved(paid, 'refunded');
    await sweepOrders(world.deps);
    expect(await statusOf(vehicleIds)).toBe('canceled');
  });
});
