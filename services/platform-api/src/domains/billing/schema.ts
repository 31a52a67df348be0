import { type Static, Type } from 'typebox';
import { stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** Payment gateways (docs/reference/billing.md). */
export const gatewayNames = ['stripe', 'razorpay', 'offline'] as const;
export type GatewayName = (typeof gatewayNames)[number];

export const orderStatuses = ['created', 'pending', 'paid', 'failed', 'expired', 'refunded'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

const subscriptionStatuses = ['trialing', 'active', 'past_due', 'expired', 'canceled'] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** Description of error 402 in OpenAPI. */
export const noSubscription =
  'The subscription of a vehicle has expired. Only if the installation enforces subscriptions.';

export const monthChoices = [1, 3, 6, 12, 24] as const;

const lineItem = Type.Object({
  description: Type.String(),
  quantity: Type.Integer({ minimum: 1 }),
  unit_amount: Type.Integer({ description: 'Minor units; negative for a discount.' }),
  amount: Type.Integer(),
});
export type LineItem = Static<typeof lineItem>;

/** A purchase of months for vehicles, and the status of its payment. */
export interface Order extends AccountRecord {
  readonly createdBy: number;
  readonly gateway: GatewayName;
  readonly gatewayOrderId: string | null;
  readonly plan: string;
  readonly vehicleIds: readonly number[];
  readonly months: number;
  readonly coupon: string | null;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly lineItems: readonly LineItem[];
  readonly status: OrderStatus;
  readonly publicKey: string | null;
  readonly checkoutUrl: string | null;
  readonly paymentId: string | null;
  readonly paidAt: Date | null;
  /** True once the status is applied to the subscriptions. */
  readonly isApplied: boolean;
  readonly expiresAt: Date;
}

/** The paid period of a vehicle. */
export interface Subscription extends AccountRecord {
  readonly vehicleId: number;
  readonly plan: string;
  readonly expiresAt: Date;
  /** Orders that have extended the subscription. Each counts once. */
  readonly orderIds: readonly number[];
}

/** The subscription of a vehicle in the vehicle's response. */
export const subscriptionResponse = Type.Object({
  plan: Type.String(),
  status: stringEnum(subscriptionStatuses),
  expires_at: nullable(time),
});
export type SubscriptionResponse = Static<typeof subscriptionResponse>;

const gatewayId = text(1, 255);

export const createOrderBody = Type.Object({
  plan: trimmedText(1, 60, { description: 'Key of a plan, as listed by GET /api/subscriptions/plans.' }),
  vehicle_ids: Type.Array(recordId, { minItems: 1, maxItems: 500 }),
  months: Type.Unsafe<number>({ type: 'integer', enum: [...monthChoices] }),
  coupon: Type.Optional(trimmedText(1, 60)),
  currency: Type.Optional(
    Type.String({
      pattern: '^[A-Z]{3}$',
      errorMessage: 'must be a currency code of 3 capital letters, such as USD',
      description: 'ISO 4217. Default: the currency of the plan file.',
      examples: ['USD'],
    }),
  ),
});
export type CreateOrderBody = Static<typeof createOrderBody>;

export const verifyPaymentBody = Type.Object({
  order_id: recordId,
  payment_id: gatewayId,
  signature: Type.Optional(text(1, 512, { description: 'Razorpay: hex HMAC-SHA256 of gateway_order_id|payment_id.' })),
});
export type VerifyPaymentBody = Static<typeof verifyPaymentBody>;

export const portalQuery = Type.Object({
  return_url: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description: 'URL to which the portal returns. It must be one of the allowed addresses.',
    }),
  ),
});

export const portalResponse = Type.Object(
  { url: Type.String(), provider: stringEnum(gatewayNames), expires_at: time },
  { title: 'BillingPortal' },
);

export const planResponse = Type.Object(
  {
    id: recordId,
    key: Type.String(),
    name: Type.String(),
    description: nullable(Type.String()),
    prices: Type.Array(
      Type.Object({
        currency: Type.String(),
        amount: Type.Integer({ description: 'Price per vehicle and month, in minor units.' }),
      }),
    ),
    month_choices: Type.Array(
      Type.Object({ months: Type.Integer(), discount_percent: Type.Integer({ minimum: 0, maximum: 99 }) }),
    ),
  },
  { title: 'Plan' },
);
export type PlanResponse = Static<typeof planResponse>;

export const orderResponse = Type.Object(
  {
    ...recordProperties,
    gateway: stringEnum(gatewayNames),
    gateway_order_id: nullable(Type.String()),
    plan: Type.String(),
    vehicle_ids: Type.Array(recordId),
    months: Type.Integer(),
    coupon: nullable(Type.String()),
    amount: Type.Integer({ description: 'Minor units.' }),
    currency: Type.String(),
    status: stringEnum(orderStatuses),
    public_key: nullable(Type.String({ description: 'Key for the client library of the gateway.' })),
    client_secret: nullable(Type.String({ description: 'Present only in the response that creates the order.' })),
    checkout_url: nullable(Type.String()),
    line_items: Type.Array(lineItem),
    paid_at: nullable(time),
    expires_at: time,
  },
  { title: 'Order' },
);
export type OrderResponse = Static<typeof orderResponse>;
