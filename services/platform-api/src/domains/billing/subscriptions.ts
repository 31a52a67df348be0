import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { addMonths, extendExpiry, subscriptionStatus } from './rules.ts';
import type { Order, Subscription, SubscriptionResponse, SubscriptionStatus } from './schema.ts';
import { subscriptionCollection } from './store.ts';

type SubscriptionDeps = Pick<Deps, 'records'>;

/** Returns the subscriptions of vehicles of an account by vehicle id. */
export async function findSubscriptions(
  { records }: SubscriptionDeps,
  scope: Scope,
  vehicleIds: readonly number[],
  now = new Date(),
): Promise<Map<number, SubscriptionResponse>> {
  const found = await subscriptionCollection(records).all(scope, { vehicleId: { $in: [...vehicleIds] } });
  return new Map(
    found.map((one) => [
      one.vehicleId,
      { plan: one.plan, status: subscriptionStatus(one, now), expires_at: one.expiresAt.toISOString() },
    ]),
  );
}

const runningStatuses: ReadonlySet<SubscriptionStatus | undefined> = new Set([
  'trialing',
  'active',
  'past_due',
] as const);

/**
 * Throws 402 if subscriptions are enforced and one of the vehicles has no subscription that is active or within its
 * grace period. Guards the paid functions of a vehicle: commands to it, and sharing it. Its recorded data stays
 * readable, and its subscription can be renewed.
 */
export async function assertSubscriptions(
  { records, config }: Pick<Deps, 'records' | 'config'>,
  scope: Scope,
  vehicleIds: readonly number[],
): Promise<void> {
  if (!config.ENFORCE_SUBSCRIPTIONS) return;
  const subscriptions = await findSubscriptions({ records }, scope, vehicleIds);
  const expired = vehicleIds.find((id) => !runningStatuses.has(subscriptions.get(id)?.status));
  if (expired !== undefined)
    throw new AppError('subscription_expired', `The subscription of vehicle ${expired} has expired.`);
}

/** Applies the status of an order to the subscriptions of its vehicles. The call is idempotent. */
export async function applyOrder(deps: SubscriptionDeps, order: Order): Promise<void> {
  const scope = { accountId: order.accountId };
  for (const vehicleId of order.vehicleIds)
    await (order.status === 'refunded'
      ? revokeSubscription(deps, scope, vehicleId, order)
      : extendSubscription(deps, scope, vehicleId, order));
}

async function extendSubscription(
  { records }: SubscriptionDeps,
  scope: Scope,
  vehicleId: number,
  order: Order,
): Promise<void> {
  const subscriptions = subscriptionCollection(records);
  const now = order.paidAt ?? new Date();
  for (;;) {
    const existing = await subscriptions.findOne(scope, { vehicleId });
    if (existing?.orderIds.includes(order._id) === true) return;
    const expiresAt = extendExpiry(existing?.expiresAt ?? null, order.months, now);
    const orderIds = [...(existing?.orderIds ?? []), order._id];
    const isDone = await (existing === null
      ? tryInsert(subscriptions.insert(scope, { vehicleId, plan: order.plan, expiresAt, orderIds }))
      : updateIfUnchanged(records, scope, existing, { plan: order.plan, expiresAt, orderIds }));
    if (isDone) return;
  }
}

async function revokeSubscription(
  { records }: SubscriptionDeps,
  scope: Scope,
  vehicleId: number,
  order: Order,
): Promise<void> {
  for (;;) {
    const existing = await subscriptionCollection(records).findOne(scope, { vehicleId });
    if (existing === null || !existing.orderIds.includes(order._id)) return;
    const expiresAt = addMonths(existing.expiresAt, -order.months);
    const orderIds = existing.orderIds.filter((id) => id !== order._id);
    if (await updateIfUnchanged(records, scope, existing, { expiresAt, orderIds })) return;
  }
}

/** Returns false if another request inserted the subscription first. */
async function tryInsert(insertion: Promise<Subscription>): Promise<boolean> {
  try {
    await insertion;
    return true;
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'duplicate')) throw error;
    // The concurrent insertion is still in progress.
    await delay(20);
    return false;
  }
}

/** Updates a subscription with compare-and-set; returns false if its version has changed. */
async function updateIfUnchanged(
  records: Deps['records'],
  scope: Scope,
  { _id, version }: Subscription,
  change: Partial<Pick<Subscription, 'plan' | 'expiresAt' | 'orderIds'>>,
): Promise<boolean> {
  return (await subscriptionCollection(records).updateMany(scope, { _id, version }, { $set: change })) === 1;
}
