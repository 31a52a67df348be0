import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { PlanFile } from './plans.ts';
import { effectiveStatus } from './rules.ts';
import { monthChoices, type Order, type OrderResponse, type PlanResponse } from './schema.ts';

/**
 * Returns the response of an order. Only the response that creates it contains the secret that lets a client pay it.
 */
export const toOrderResponse = (order: Order, clientSecret: string | null = null, now = new Date()): OrderResponse => ({
  ...toRecordResponse(order),
  gateway: order.gateway,
  gateway_order_id: order.gatewayOrderId,
  plan: order.plan,
  vehicle_ids: [...order.vehicleIds],
  months: order.months,
  coupon: order.coupon,
  amount: order.amount,
  currency: order.currency,
  status: effectiveStatus(order, now),
  public_key: order.publicKey,
  client_secret: clientSecret,
  checkout_url: order.checkoutUrl,
  line_items: order.lineItems.map((item) => ({ ...item })),
  paid_at: formatTime(order.paidAt),
  expires_at: order.expiresAt.toISOString(),
});

export const toPlanResponses = ({ plans, month_discounts_percent: discounts }: PlanFile): PlanResponse[] =>
  plans.map(({ key, name, description = null, monthly_prices: prices }, at) => ({
    id: at + 1,
    key,
    name,
    description,
    prices: Object.entries(prices).map(([currency, amount]) => ({ currency, amount })),
    month_choices: monthChoices.map((months) => ({ months, discount_percent: discounts[String(months)] ?? 0 })),
  }));
