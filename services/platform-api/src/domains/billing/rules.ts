import type { Order, OrderStatus, Subscription, SubscriptionStatus } from './schema.ts';

/** An order that nobody has paid by then is expired. */
export const orderTtlMs = 30 * 60_000;
/** After its end a subscription is `past_due` for so long. */
export const graceMs = 7 * 86_400_000;

/**
 * Where an order may go from each status. Events come in any order: a payment counts though a failure or the end of its time was told first, and a refund
 * that comes before its payment stays.
 */
const nextStatuses: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  created: ['pending', 'paid', 'failed', 'expired', 'refunded'],
  pending: ['paid', 'failed', 'expired', 'refunded'],
  failed: ['pending', 'paid', 'refunded'],
  expired: ['paid', 'refunded'],
  paid: ['refunded'],
  refunded: [],
};

/** The statuses from which an order may come to a status. */
export const previousStatuses = (status: OrderStatus): OrderStatus[] =>
  (Object.keys(nextStatuses) as OrderStatus[]).filter((from) => nextStatuses[from].includes(status));

/** An order's status at a moment: one that waits expires by itself. */
export const effectiveStatus = ({ status, expiresAt }: Pick<Order, 'status' | 'expiresAt'>, now: Date): OrderStatus =>
  (status === 'created' || status === 'pending') && expiresAt <= now ? 'expired' : status;

/** The same day so many months later, or the last day of that month. */
export function addMonths(date: Date, months: number): Date {
  const moved = new Date(date);
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(date.getUTCDate(), lastDay));
  return moved;
}

/** The end of a subscription that grows by months: from its end, or from now where that has passed. */
export const extendExpiry = (current: Date | null, months: number, now: Date): Date =>
  addMonths(current !== null && current > now ? current : now, months);

export function subscriptionStatus({ expiresAt, orderIds }: Subscription, now: Date): SubscriptionStatus {
  if (expiresAt > now) return 'active';
  if (orderIds.length === 0) return 'canceled';
  return expiresAt.getTime() + graceMs > now.getTime() ? 'past_due' : 'expired';
}
