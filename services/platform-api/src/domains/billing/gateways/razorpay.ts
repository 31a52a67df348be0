import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { compileBody, parseJsonBody } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { Config } from '../../../config.ts';
import {
  GatewayBreaker,
  GatewayError,
  notConfigured,
  type PaymentEvent,
  type PaymentGateway,
  type ReadEvent,
  signatureInvalid,
} from './gateway.ts';

type Settings = Pick<Config, 'RAZORPAY_KEY_ID' | 'RAZORPAY_KEY_SECRET' | 'RAZORPAY_WEBHOOK_SECRET' | 'RAZORPAY_URL'>;

const requestLimitMs = 10_000;

/** Payments by Razorpay: the client pays an order of the gateway, and shows a signature of what it has paid. */
export function razorpayGateway(settings: Settings): PaymentGateway {
  const { RAZORPAY_KEY_ID: keyId, RAZORPAY_KEY_SECRET: secret, RAZORPAY_URL: url } = settings;
  const breaker = new GatewayBreaker();
  return {
    name: 'razorpay',
    createOrder: async (order) => {
      if (keyId === undefined || secret === undefined) throw notConfigured('razorpay');
      const made = await breaker.call(() =>
        post(`${url}/v1/orders`, `${keyId}:${secret}`, {
          amount: order.amount,
          currency: order.currency,
          receipt: `order-${order._id}`,
          notes: { order_id: String(order._id), account_id: String(order.accountId) },
        }),
      );
      return { gatewayOrderId: made, publicKey: keyId, clientSecret: null, checkoutUrl: null };
    },
    verify: async ({ gatewayOrderId }, { paymentId, signature }) => {
      if (secret === undefined) throw notConfigured('razorpay');
      const isSigned =
        gatewayOrderId !== null &&
        signature !== undefined &&
        isSignature(signature, secret, Buffer.from(`${gatewayOrderId}|${paymentId}`));
      if (!isSigned) throw signatureInvalid();
      return true;
    },
    portal: async () => null,
    stop: () => breaker.stop(),
  };
}

/** True for the hex HMAC-SHA256 of the bytes; takes the same time for every wrong one. */
function isSignature(given: string, secret: string, bytes: Buffer): boolean {
  const right = createHmac('sha256', secret).update(bytes).digest();
  return /^[0-9a-f]{64}$/i.test(given) && timingSafeEqual(Buffer.from(given, 'hex'), right);
}

async function post(url: string, credentials: string, body: object): Promise<string> {
  let response: Response;
  let answer: { id?: unknown };
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
      },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(requestLimitMs),
    });
    answer = (await response.json()) as { id?: unknown };
  } catch (cause) {
    throw new GatewayError('Razorpay could not be reached', { cause });
  }
  if (response.status === 400) throw new Error('Razorpay refused the order');
  if (!response.ok || typeof answer.id !== 'string') throw new GatewayError(`Razorpay answered ${response.status}`);
  return answer.id;
}

const entity = Type.Object({
  id: Type.Optional(Type.String()),
  order_id: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
  payment_id: Type.Optional(Type.String()),
  amount: Type.Optional(Type.Integer()),
  amount_paid: Type.Optional(Type.Integer()),
  amount_refunded: Type.Optional(Type.Unsafe<number | null>({ type: ['integer', 'null'] })),
  currency: Type.Optional(Type.String()),
});
const envelope = Type.Object({
  event: Type.String(),
  payload: Type.Optional(
    Type.Object({
      payment: Type.Optional(Type.Object({ entity })),
      order: Type.Optional(Type.Object({ entity })),
    }),
  ),
});
const check = compileBody(envelope);

/** Reads events of Razorpay's webhook: `X-Razorpay-Signature` over the raw body. */
export const razorpayEvents =
  ({ RAZORPAY_WEBHOOK_SECRET: secret }: Pick<Settings, 'RAZORPAY_WEBHOOK_SECRET'>): ReadEvent =>
  (body, headers) => {
    const signature = headers['x-razorpay-signature'];
    if (secret === undefined || typeof signature !== 'string' || !isSignature(signature, secret, body))
      throw signatureInvalid();
    const event = check(parseJsonBody(body)) as Static<typeof envelope>;
    const given = headers['x-razorpay-event-id'];
    // The header is not signed, and may be left out: the body names itself.
    const id = typeof given === 'string' && given !== '' ? given : createHash('sha256').update(body).digest('hex');
    return { id, type: event.event, payment: paymentOf(event) };
  };

const statuses = new Map<string, 'pending' | 'paid' | 'failed' | 'refunded'>([
  ['payment.authorized', 'pending'],
  ['payment.captured', 'paid'],
  ['order.paid', 'paid'],
  ['payment.failed', 'failed'],
  ['refund.processed', 'refunded'],
]);

function paymentOf({ event, payload }: Static<typeof envelope>): PaymentEvent['payment'] {
  const status = statuses.get(event);
  const payment = payload?.payment?.entity;
  const gatewayOrderId = payment?.order_id ?? payload?.order?.entity.id ?? null;
  if (status === undefined || gatewayOrderId === null) return null;
  // A part that is given back leaves the order paid.
  if (status === 'refunded' && (payment?.amount_refunded ?? 0) < (payment?.amount ?? 0)) return null;
  const paid = payment?.amount ?? payload?.order?.entity.amount_paid ?? null;
  return {
    status,
    gatewayOrderId,
    orderId: null,
    paymentId: payment?.id ?? null,
    amount: status === 'paid' ? paid : null,
    currency: payment?.currency ?? payload?.order?.entity.currency ?? null,
  };
}
