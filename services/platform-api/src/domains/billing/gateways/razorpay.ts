import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { compileBody, parseJsonBody } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
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

type RazorpaySettings = Pick<
  Config,
  'RAZORPAY_KEY_ID' | 'RAZORPAY_KEY_SECRET' | 'RAZORPAY_WEBHOOK_SECRET' | 'RAZORPAY_URL'
>;

const requestTimeoutMs = 10_000;

/**
 * Creates a gateway for payments by Razorpay. The client pays an order of the gateway and proves the payment with a
 * signature.
 */
export function createRazorpayGateway(settings: RazorpaySettings): PaymentGateway {
  const { RAZORPAY_KEY_ID: keyId, RAZORPAY_KEY_SECRET: secret, RAZORPAY_URL: url } = settings;
  const breaker = new GatewayBreaker();
  return {
    name: 'razorpay',
    createOrder: async (order) => {
      if (keyId === undefined || secret === undefined) throw notConfiguredError('razorpay');
      const created = await breaker.execute(() =>
        post(`${url}/v1/orders`, `${keyId}:${secret}`, {
          amount: order.amount,
          currency: order.currency,
          receipt: `order-${order._id}`,
          notes: { order_id: String(order._id), account_id: String(order.accountId) },
        }),
      );
      return { gatewayOrderId: created, publicKey: keyId, clientSecret: null, checkoutUrl: null };
    },
    verify: async ({ gatewayOrderId }, { paymentId, signature }) => {
      if (secret === undefined) throw notConfiguredError('razorpay');
      const isSigned =
        gatewayOrderId !== null &&
        signature !== undefined &&
        isSignatureValid(signature, secret, Buffer.from(`${gatewayOrderId}|${paymentId}`));
      if (!isSigned) throw signatureInvalidError();
      return true;
    },
    createPortal: async () => null,
    stop: () => breaker.stop(),
  };
}

/** Returns whether a signature is the hex HMAC-SHA256 of the bytes. Compares digests in constant time. */
function isSignatureValid(signature: string, secret: string, bytes: Buffer): boolean {
  const expected = createHmac('sha256', secret).update(bytes).digest();
  return /^[0-9a-f]{64}$/i.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), expected);
}

async function post(url: string, credentials: string, body: object): Promise<string> {
  let response: Response;
  let responseBody: { id?: unknown };
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
      },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
    responseBody = (await response.json()) as { id?: unknown };
  } catch (cause) {
    throw new GatewayError('could not reach Razorpay', { cause });
  }
  if (response.status === 400) throw new Error('Razorpay rejected the order');
  if (!response.ok || typeof responseBody.id !== 'string')
    throw new GatewayError(`Razorpay responded with status ${response.status}`);
  return responseBody.id;
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

/** Reads events of Razorpay's webhook and verifies `X-Razorpay-Signature` over the raw body. */
export const createRazorpayEventReader =
  ({ RAZORPAY_WEBHOOK_SECRET: secret }: Pick<RazorpaySettings, 'RAZORPAY_WEBHOOK_SECRET'>): EventReader =>
  (body, headers) => {
    const signature = headers['x-razorpay-signature'];
    if (secret === undefined || typeof signature !== 'string' || !isSignatureValid(signature, secret, body))
      throw signatureInvalidError();
    const event = check(parseJsonBody(body)) as Static<typeof envelope>;
    const envelopeData = headers['x-razorpay-event-id'];
    // The header is not signed and is optional. Without it, the hash of the body is the event id.
    const id =
      typeof envelopeData === 'string' && envelopeData !== ''
        ? envelopeData
        : createHash('sha256').update(body).digest('hex');
    return { id, type: event.event, payment: toPayment(event) };
  };

const statuses = new Map<string, 'pending' | 'paid' | 'failed' | 'refunded'>([
  ['payment.authorized', 'pending'],
  ['payment.captured', 'paid'],
  ['order.paid', 'paid'],
  ['payment.failed', 'failed'],
  ['refund.processed', 'refunded'],
]);

function toPayment({ event, payload }: Static<typeof envelope>): PaymentEvent['payment'] {
  const status = statuses.get(event);
  const payment = payload?.payment?.entity;
  const gatewayOrderId = payment?.order_id ?? payload?.order?.entity.id ?? null;
  if (status === undefined || gatewayOrderId === null) return null;
  // A partial refund does not change the status of the order.
  if (status === 'refunded' && (payment?.amount_refunded ?? 0) < (payment?.amount ?? 0)) return null;
  const details = payment?.amount ?? payload?.order?.entity.amount_paid ?? null;
  return {
    status,
    gatewayOrderId,
    orderId: null,
    paymentId: payment?.id ?? null,
    amount: status === 'paid' ? details : null,
    currency: payment?.currency ?? payload?.order?.entity.currency ?? null,
  };
}
