import { createRequire } from 'node:module';
import { minuteMs } from '@fleet/service-kit';
import type { Stripe } from 'stripe';
import type { Config } from '../../../assembly/config.ts';
import {
  type EventReader,
  GatewayBreaker,
  GatewayError,
  notConfiguredError,
  type PaymentEvent,
  type PaymentGateway,
  signatureInvalidError,
} from './gateway.ts';

const require = createRequire(import.meta.url);
/** Loads the SDK on first use: most installations do not process payments. */
const loadStripe = (): typeof Stripe => require('stripe') as never;

type StripeSettings = Pick<
  Config,
  'STRIPE_SECRET_KEY' | 'STRIPE_PUBLISHABLE_KEY' | 'STRIPE_WEBHOOK_SECRET' | 'STRIPE_URL'
>;

const requestTimeoutMs = 10_000;
const toleranceSeconds = 300;
/** Time after which Stripe ends a portal session that was not opened. */
const portalTtlMs = 5 * minuteMs;

/** Creates a gateway for payments by Stripe. An order is a PaymentIntent, which the client confirms with its secret. */
export function createStripeGateway(settings: StripeSettings): PaymentGateway {
  const { STRIPE_SECRET_KEY: key, STRIPE_PUBLISHABLE_KEY: publicKey = null } = settings;
  const breaker = new GatewayBreaker();
  const client = key === undefined ? null : createClient(key, settings.STRIPE_URL);
  const call = <T>(work: (stripe: Stripe) => Promise<T>): Promise<T> => {
    if (client === null) throw notConfiguredError('stripe');
    return breaker.execute(() => wrapErrors(work(client)));
  };
  return {
    name: 'stripe',
    createOrder: async (order) => {
      const intent = await call((stripe) =>
        stripe.paymentIntents.create(
          {
            amount: order.amount,
            currency: order.currency.toLowerCase(),
            automatic_payment_methods: { enabled: true },
            description: `Order ${order._id}`,
            metadata: { order_id: String(order._id), account_id: String(order.accountId) },
          },
          // Stripe creates one intent per key, so the request can be retried.
          { idempotencyKey: `order-${order._id}-${order.createdAt.getTime()}` },
        ),
      );
      return { gatewayOrderId: intent.id, publicKey, clientSecret: intent.client_secret, checkoutUrl: null };
    },
    verify: async ({ gatewayOrderId, amount, currency }) => {
      if (gatewayOrderId === null) return false;
      const intent = await call((stripe) => stripe.paymentIntents.retrieve(gatewayOrderId));
      const isWhole = intent.amount_received >= amount && intent.currency.toUpperCase() === currency;
      return intent.status === 'succeeded' && isWhole;
    },
    createPortal: async ({ customerId, accountId, name, returnUrl, saveCustomer }) => {
      const customer = customerId ?? (await createCustomer(call, accountId, name));
      if (customerId === null) await saveCustomer(customer);
      const session = await call((stripe) => stripe.billingPortal.sessions.create({ customer, return_url: returnUrl }));
      return { url: session.url, expiresAt: new Date(Date.now() + portalTtlMs) };
    },
    stop: () => breaker.stop(),
  };
}

async function createCustomer(
  call: <T>(work: (stripe: Stripe) => Promise<T>) => Promise<T>,
  accountId: number,
  name: string,
): Promise<string> {
  const created = await call((stripe) =>
    stripe.customers.create(
      { name, metadata: { account_id: String(accountId) } },
      { idempotencyKey: `account-${accountId}` },
    ),
  );
  return created.id;
}

function createClient(key: string, url: string): Stripe {
  const { hostname, port, protocol } = new URL(url);
  const isTls = protocol === 'https:';
  const StripeClient = loadStripe();
  return new StripeClient(key, {
    host: hostname,
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    protocol: isTls ? 'https' : 'http',
    timeout: requestTimeoutMs,
    maxNetworkRetries: 1,
    telemetry: false,
  });
}

/** Wraps failures of Stripe itself. Errors of rejected requests are rethrown unchanged. */
async function wrapErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const { errors } = loadStripe();
    const isRefusal = cause instanceof errors.StripeInvalidRequestError || cause instanceof errors.StripeCardError;
    if (isRefusal) throw cause;
    throw new GatewayError('Stripe failed', { cause });
  }
}

/** Reads events of Stripe's webhook and verifies `Stripe-Signature` over the raw body, at most 300 seconds old. */
export const createStripeEventReader =
  ({ STRIPE_WEBHOOK_SECRET: secret }: Pick<StripeSettings, 'STRIPE_WEBHOOK_SECRET'>): EventReader =>
  (body, headers) => {
    const signature = headers['stripe-signature'];
    if (secret === undefined || typeof signature !== 'string') throw signatureInvalidError();
    let event: Stripe.Event;
    try {
      event = loadStripe().webhooks.constructEvent(body, signature, secret, toleranceSeconds);
    } catch (cause) {
      throw signatureInvalidError(cause);
    }
    return { id: event.id, type: event.type, payment: toPayment(event) };
  };

function toPayment(event: Stripe.Event): PaymentEvent['payment'] {
  switch (event.type) {
    case 'payment_intent.succeeded':
      return intentFields(event.data.object, 'paid', event.data.object.amount_received);
    case 'payment_intent.processing':
      return intentFields(event.data.object, 'pending', null);
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return intentFields(event.data.object, 'failed', null);
    case 'charge.refunded': {
      const { refunded, payment_intent: intent, id, metadata } = event.data.object;
      // A partial refund does not change the status of the order.
      if (!refunded) return null;
      const gatewayOrderId = typeof intent === 'string' ? intent : (intent?.id ?? null);
      const orderId = parseOrderId(metadata);
      return { status: 'refunded', gatewayOrderId, orderId, paymentId: id, amount: null, currency: null };
    }
    default:
      return null;
  }
}

const intentFields = (
  { id, currency, metadata }: Stripe.PaymentIntent,
  status: 'pending' | 'paid' | 'failed',
  amount: number | null,
): PaymentEvent['payment'] => ({
  status,
  gatewayOrderId: id,
  orderId: parseOrderId(metadata),
  paymentId: id,
  amount,
  currency: currency.toUpperCase(),
});

function parseOrderId(metadata: Readonly<Record<string, string>> | null): number | null {
  const text = metadata?.['order_id'] ?? '';
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null;
}
