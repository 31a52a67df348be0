import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../deps.ts';
import type { Scope } from '../../store/account-records.ts';
import { addMonths, extended, subscriptionStatus } from './rules.ts';
import type { Order, Subscription, SubscriptionShown, SubscriptionStatus } from './schema.ts';
import { subscriptionsIn } from './store.ts';

type Store = Pick<Deps, 'records'>;

/** Subscriptions of vehicles of an account, by vehicle. */
export async function subscriptionsOf(
  { records }: Store,
  scope: Scope,
  vehicleIds: readonly number[],
  now = new Date(),
): Promise<Map<number, SubscriptionShown>> {
  const found = await subscriptionsIn(records).all(scope, { vehicleId: { $in: [...vehicleIds] } });
  return new Map(
    found.map((one) => [
      one.vehicleId,
      { plan: one.plan, status: subscriptionStatus(one, now), expires_at: one.expiresAt.toISOString() },
    ]),
  );
}

const running: ReadonlySet<SubscriptionStatus | undefined> = new Set(['trialing', 'active', 'past_due'] as const);

/**
 * 402 where subscriptions are asked for and that of one of the vehicles does not run, the days of grace included. It stands before what a vehicle is paid for:
 * commands to it, and showing it to others. What is recorded of it stays readable, and it can be paid for.
 */
export async function checkSubscriptions(
  { records, config }: Pick<Deps, 'records' | 'config'>,
  scope: Scope,
  vehicleIds: readonly number[],
): Promise<void> {
  if (!config.ENFORCE_SUBSCRIPTIONS) return;
  const known = await subscriptionsOf({ records }, scope, vehicleIds);
  const expired = vehicleIds.find((id) => !running.has(known.get(id)?.status));
  if (expired !== undefined)
    throw new AppError('subscription_expired', `The subscription of vehicle ${expired} has expired.`);
}

/** Brings the subscriptions of an order's vehicles to what the order's status says; doing so again changes nothing. */
export async function applyOrder(deps: Store, order: Order): Promise<void> {
  const scope = { accountId: order.accountId };
  for (const vehicleId of order.vehicleIds)
    await (order.status === 'refunded' ? shrink(deps, scope, vehicleId, order) : grow(deps, scope, vehicleId, order));
}

async function grow({ records }: Store, scope: Scope, vehicleId: number, order: Order): Promise<void> {
  const subscriptions = subscriptionsIn(records);
  const now = order.paidAt ?? new Date();
  for (;;) {
    const known = await subscriptions.findOne(scope, { vehicleId });
    if (known?.orderIds.includes(order._id) === true) return;
    const expiresAt = extended(known?.expiresAt ?? null, order.months, now);
    const orderIds = [...(known?.orderIds ?? []), order._id];
    const isDone = await (known === null
      ? inserted(subscriptions.insert(scope, { vehicleId, plan: order.plan, expiresAt, orderIds }))
      : changedAlone(records, scope, known, { plan: order.plan, expiresAt, orderIds }));
    if (isDone) return;
  }
}

async function shrink({ records }: Store, scope: Scope, vehicleId: number, order: Order): Promise<void> {
  for (;;) {
    const known = await subscriptionsIn(records).findOne(scope, { vehicleId });
    if (known === null || !known.orderIds.includes(order._id)) return;
    const expiresAt = addMonths(known.expiresAt, -order.months);
    const orderIds = known.orderIds.filter((id) => id !== order._id);
    if (await changedAlone(records, scope, known, { expiresAt, orderIds })) return;
  }
}

/** False when another was faster. */
async function inserted(insertion: Promise<Subscription>): Promise<boolean> {
  try {
    await insertion;
    return true;
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'duplicate')) throw error;
    // The other one is just being written.
    await delay(20);
    return false;
  }
}

/** False when the subscription was changed meanwhile. */
async function changedAlone(
  records: Deps['records'],
  scope: Scope,
  { _id, version }: Subscription,
  change: Partial<Pick<Subscription, 'plan' | 'expiresAt' | 'orderIds'>>,
): Promise<boolean> {
  return (await subscriptionsIn(records).updateMany(scope, { _id, version }, { $set: change })) === 1;
}
