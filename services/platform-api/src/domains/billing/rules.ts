import { dayMs, minuteMs } from '@fleet/service-kit';
import type { Order, OrderStatus, Subscription, SubscriptionStatus } from './schema.ts';

/** Time after which an unpaid order expires. */
export const orderTtlMs = 30 * minuteMs;
/** Grace period after the end of a subscription, in which it is `past_due`. */
const graceMs = 7 * dayMs;

/**
 * Allowed transitions of an order's status. Events arrive in any order: a payment counts even after a failure or
 * expiry, and a refund received before its payment is final.
 */
const nextStatuses: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  created: ['pending', 'paid', 'failed', 'expired', 'refunded'],
  pending: ['paid', 'failed', 'expired', 'refunded'],
  failed: ['pending', 'paid', 'refunded'],
  expired: ['paid', 'refunded'],
  paid: ['refunded'],
  refunded: [],
};

/** Returns the statuses from which an order may change to a status. */
export const previousStatuses = (status: OrderStatus): OrderStatus[] =>
  (Object.keys(nextStatuses) as OrderStatus[]).filter((from) => nextStatuses[from].includes(status));

/** Returns the status of an order at a time. An unpaid order expires without a write. */
export const effectiveStatus = ({ status, expiresAt }: Pick<Order, 'status' | 'expiresAt'>, now: Date): OrderStatus =>
  (status === 'created' || status === 'pending') && expiresAt <= now ? 'expired' : status;

/** Adds months to a date. Returns the same day of the resulting month, or its last day. */
export function addMonths(date: Date, months: number): Date {
  const moved = new Date(date);
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(date.getUTCDate(), lastDay));
  return moved;
}

/** Returns the end of a subscription extended by months: from its current end, or from now if that has passed. */
export const extendExpiry = (current: Date | null, months: number, now: Date): Date =>
  addMonths(current !== null && current > now ? current : now, months);

export function subscriptionStatus({ expiresAt, orderIds }: Subscription, now: Date): SubscriptionStatus {
  if (expiresAt > now) return 'active';
  if (orderIds.length === 0) return 'canceled';
  return expiresAt.getTime() + graceMs > now.getTime() ? 'past_due' : 'expired';
}
