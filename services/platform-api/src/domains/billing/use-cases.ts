import type { IncomingHttpHeaders } from 'node:http';
import { AppError, dayMs, type Page, type Pagination, parseSort } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound, omitUndefined } from '../../platform/fields.ts';
import type { Scope } from '../../store/account-repository.ts';
import { type Actor, audit } from '../audit/use-cases.ts';
import { ownVehicleIds } from '../vehicles/assignments.ts';
import type { GatewayOrder, PaymentEvent } from './gateways/gateway.ts';
import { calculatePrice } from './plans.ts';
import { effectiveStatus, orderTtlMs } from './rules.ts';
import type { CreateOrderBody, GatewayName, Order, OrderStatus, VerifyPaymentBody } from './schema.ts';
import { Customers, GatewayOrders, orderCollection, PaymentEvents } from './store.ts';
import { applyOrder } from './subscriptions.ts';

export type BillingDeps = Pick<Deps, 'billing' | 'config' | 'database' | 'encryption' | 'log' | 'records'>;

/** Creates an order and its counterpart at the gateway. Only the server computes the price. */
export async function createOrder(
  deps: BillingDeps,
  caller: Caller,
  body: CreateOrderBody,
): Promise<{ order: Order; clientSecret: string | null }> {
  const { plans, gateway } = deps.billing;
  const vehicleIds = [...new Set(body.vehicle_ids)];
  const { plan, months, coupon, currency } = body;
  const price = calculatePrice(plans, { plan, months, coupon, currency, vehicles: vehicleIds.length });
  assertAllFound('vehicle', vehicleIds, await ownVehicleIds(deps, caller, vehicleIds));
  const inserted = await orderCollection(deps.records).insert(caller, {
    ...price,
    createdBy: caller.userId,
    gateway: gateway.name,
    gatewayOrderId: null,
    plan,
    vehicleIds,
    months,
    coupon: coupon ?? null,
    status: 'created',
    publicKey: null,
    checkoutUrl: null,
    paymentId: null,
    paidAt: null,
    isApplied: false,
    expiresAt: new Date(Date.now() + orderTtlMs),
  });
  const { clientSecret, ...known } = await createGatewayOrder(deps, inserted);
  // An event of the order may have arrived concurrently, so only these fields are written.
  const order = (await orderCollection(deps.records).update(caller, inserted._id, known)) ?? inserted;
  const target = { type: 'orders', id: order._id } as const;
  await audit(deps, caller, 'orders.create', target, { amount: order.amount, currency: order.currency });
  return { order, clientSecret };
}

/** Creates the order at the gateway. Marks our order as failed if the gateway rejects it. */
async function createGatewayOrder(deps: BillingDeps, order: Order): Promise<GatewayOrder> {
  try {
    return await deps.billing.gateway.createOrder(order);
  } catch (error) {
    await new GatewayOrders(deps.records).move(order, 'failed');
    throw error;
  }
}

export function listOrders(
  { records }: BillingDeps,
  caller: Caller,
  query: { readonly status?: OrderStatus | undefined; readonly sort?: string | undefined },
  paging: Pagination,
): Promise<Page<Order>> {
  const { field, direction } = parseSort(query.sort);
  const sorting = { field: field === 'created_at' ? 'createdAt' : field, direction };
  return orderCollection(records).list(caller, { where: { ...statusFilter(query.status) }, sorting, paging });
}

/** Includes orders that have expired but are still stored as unpaid. */
function statusFilter(status: OrderStatus | undefined, now = new Date()): object {
  if (status === 'created' || status === 'pending') return { status, expiresAt: { $gt: now } };
  if (status !== 'expired') return omitUndefined({ status });
  return { $or: [{ status }, { status: { $in: ['created', 'pending'] }, expiresAt: { $lte: now } }] };
}

export async function readOrder({ records }: Pick<Deps, 'records'>, caller: Caller, id: number): Promise<Order> {
  const order = await orderCollection(records).find(caller, id);
  if (order === null) throw orderNotFoundError(id);
  return order;
}

/** Verifies a client's proof of payment and returns the resulting order. */
export async function verifyPayment(
  deps: BillingDeps,
  caller: Caller,
  { order_id: id, payment_id: paymentId, signature }: VerifyPaymentBody,
): Promise<Order> {
  const order = await readOrder(deps, caller, id);
  const { gateway } = deps.billing;
  if (order.gateway !== gateway.name)
    throw new AppError('state_conflict', `The order ${id} belongs to another gateway: ${order.gateway}.`);
  if (!(await gateway.verify(order, { paymentId, signature }))) return readOrder(deps, caller, id);
  await completePayment(deps, order, paymentId, caller);
  return readOrder(deps, caller, id);
}

/** Marks an order paid that was paid outside of any gateway. */
export async function markPaid(deps: BillingDeps, caller: Caller, id: number): Promise<Order> {
  const order = await readOrder(deps, caller, id);
  if (order.gateway !== 'offline') throw new AppError('state_conflict', `The order ${id} is paid by its gateway.`);
  const status = effectiveStatus(order, new Date());
  if (status !== 'created' && status !== 'pending' && status !== 'paid')
    throw new AppError('state_conflict', `The order ${id} is ${status}.`);
  await completePayment(deps, order, `offline-${caller.userId}`, caller);
  return readOrder(deps, caller, id);
}

async function completePayment(deps: BillingDeps, order: Order, paymentId: string | null, actor: Actor): Promise<void> {
  const paid = await new GatewayOrders(deps.records).move(order, 'paid', { paymentId, paidAt: new Date() });
  if (paid === null) return;
  await applyOrderStatus(deps, paid);
  await audit(deps, actor, 'orders.paid', { type: 'orders', id: order._id }, { payment_id: paymentId });
}

/**
 * Applies the status of an order to its subscriptions. A refund may overtake its payment on another replica. If the
 * status has changed since it was applied, the new status is applied too.
 */
export async function applyOrderStatus(deps: Pick<Deps, 'records'>, order: Order): Promise<void> {
  let current: Order | null = order;
  while (current !== null) {
    await applyOrder(deps, current);
    const isDone = await new GatewayOrders(deps.records).markApplied(current);
    current = isDone ? null : await orderCollection(deps.records).find(order, order._id);
  }
}

/**
 * Processes an event of a gateway. Events may arrive in any order and any number of times. Returns false for a known
 * event.
 */
export async function handleGatewayEvent(
  deps: BillingDeps,
  gateway: 'stripe' | 'razorpay',
  body: Buffer,
  headers: IncomingHttpHeaders,
): Promise<boolean> {
  const event = deps.billing.eventReaders[gateway](body, headers);
  const events = new PaymentEvents(deps.database);
  if (await events.isKnown(gateway, event.id)) return false;
  await applyPaymentEvent(deps, gateway, event);
  await events.record(gateway, event.id, event.type);
  return true;
}

async function applyPaymentEvent(
  deps: BillingDeps,
  gateway: GatewayName,
  { id, type, payment }: PaymentEvent,
): Promise<void> {
  if (payment === null) return;
  const orders = new GatewayOrders(deps.records);
  const order = await orders.find(gateway, payment.gatewayOrderId, payment.orderId);
  // The gateway's account may serve other systems too.
  if (order === null) return deps.log.info({ gateway, eventId: id, type }, 'ignored a payment event without an order');
  const { status, amount, currency, paymentId } = payment;
  const actor = { accountId: order.accountId };
  if (status === 'paid') {
    if ((amount ?? 0) >= order.amount && currency === order.currency)
      return completePayment(deps, order, paymentId, actor);
    return deps.log.error(
      { gateway, eventId: id, orderId: order._id, amount, currency },
      'a payment does not match the price of its order',
    );
  }
  const moved = await orders.move(order, status);
  if (moved === null || status !== 'refunded') return;
  await applyOrderStatus(deps, moved);
  await audit(deps, actor, 'orders.refunded', { type: 'orders', id: order._id });
}

/** Expires unpaid orders, applies orders whose process died before that, and removes old payment events. */
export async function processOrders(deps: Pick<Deps, 'records' | 'database'>, now = new Date()): Promise<void> {
  const orders = new GatewayOrders(deps.records);
  await orders.expire(now);
  for (const order of await orders.listUnapplied()) await applyOrderStatus(deps, order);
  await new PaymentEvents(deps.database).removeBefore(new Date(now.getTime() - 180 * dayMs));
}

/** Deletes the customer ids of an account whose personal fields are removed. */
export const deleteCustomer = ({ database }: Pick<Deps, 'database'>, scope: Scope): Promise<void> =>
  new Customers(database).delete(scope);

const orderNotFoundError = (id: number): AppError => new AppError('not_found', `The order ${id} does not exist.`);
