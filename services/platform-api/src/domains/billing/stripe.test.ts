import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Stripe } from 'stripe';
import { FakePaymentGateway } from '../../testing/fake-payment-gateway.ts';
import { createOrder, readOrder, readSubscriptionStatus } from '../../testing/orders.ts';
import { type ApiResponse, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { findSubscriptions } from './subscriptions.ts';

jest.setTimeout(60_000);

describe('billing by Stripe', () => {
  const secret = 'whsec_test';
  let harness: PlatformHarness;
  let fake: FakePaymentGateway;
  let intents = 0;

  beforeAll(async () => {
    fake = await FakePaymentGateway.open();
    fake.respond = ({ path, body }) => {
      if (path === '/v1/payment_intents') {
        intents += 1;
        const form = new URLSearchParams(body);
        const amount = Number(form.get('amount'));
        const id = `pi_${intents}`;
        return {
          body: { id, object: 'payment_intent', client_secret: `${id}_secret`, amount, currency: form.get('currency') },
        };
      }
      if (path.startsWith('/v1/payment_intents/'))
        return {
          body: {
            id: path.slice(20),
            object: 'payment_intent',
            status: 'succeeded',
            amount_received: 300,
            currency: 'usd',
          },
        };
      if (path === '/v1/customers') return { body: { id: 'cus_1', object: 'customer' } };
      if (path === '/v1/billing_portal/sessions')
        return { body: { id: 'bps_1', object: 'billing_portal.session', url: 'https://billing.stripe.example/s/1' } };
      return { status: 404, body: { error: { type: 'invalid_request_error', message: 'no' } } };
    };
    harness = await PlatformHarness.open({
      PAYMENT_GATEWAY: 'stripe',
      STRIPE_SECRET_KEY: 'sk_test_1',
      STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
      STRIPE_WEBHOOK_SECRET: secret,
      STRIPE_URL: fake.url,
    });
  });
  afterAll(async () => {
    await harness.close();
    await fake.close();
  });

  let events = 0;
  const createEvent = (type: string, object: Record<string, unknown>): string => {
    events += 1;
    return JSON.stringify({ id: `evt_${events}`, object: 'event', type, data: { object } });
  };
  const succeeded = (created: Data, more: Record<string, unknown> = {}): string =>
    createEvent('payment_intent.succeeded', {
      id: created['gateway_order_id'],
      amount_received: created['amount'],
      currency: 'usd',
      metadata: { order_id: String(created.id) },
      ...more,
    });
  const send = (
    payload: string,
    header = Stripe.webhooks.generateTestHeaderString({ payload, secret }),
  ): Promise<ApiResponse> =>
    harness.anonymous.post('/api/subscription/gateway-webhook/stripe', payload, { 'stripe-signature': header });

  it('creates one payment intent with the computed price per order and returns its secret once', async () => {
    const { status, data: created } = await createOrder(harness);
    expect(status).toBe(201);
    expect(created).toMatchObject({
      gateway: 'stripe',
      public_key: 'pk_test_1',
      client_secret: expect.stringMatching(/^pi_\d+_secret$/),
    });
    const requested = fake.requests.findLast(({ path }) => path === '/v1/payment_intents');
    expect(requested?.headers['authorization']).toBe('Bearer sk_test_1');
    expect(requested?.headers['idempotency-key']).toMatch(new RegExp(`^order-${created.id}-`));
    expect(new URLSearchParams(requested?.body).get('amount')).toBe('300');
    expect(new URLSearchParams(requested?.body).get('metadata[order_id]')).toBe(String(created.id));
    expect(await readOrder(harness, created.id)).toMatchObject({
      client_secret: null,
      gateway_order_id: created['gateway_order_id'],
    });
  });

  it('marks an order paid on a signed event, in any order of events and only once', async () => {
    const created = (await createOrder(harness)).data;
    const failed = createEvent('payment_intent.payment_failed', {
      id: created['gateway_order_id'],
      currency: 'usd',
      metadata: {},
    });
    expect((await send(failed)).body).toEqual({ received: true, duplicate: false });
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'failed' });
    const paid = succeeded(created);
    expect((await send(paid)).body).toEqual({ received: true, duplicate: false });
    expect((await send(paid)).body).toEqual({ received: true, duplicate: true });
    expect((await send(succeeded(created))).body).toEqual({ received: true, duplicate: false });
    const late = createEvent('payment_intent.processing', {
      id: created['gateway_order_id'],
      currency: 'usd',
      metadata: {},
    });
    expect((await send(late)).status).toBe(200);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'paid' });
    expect(await readSubscriptionStatus(harness, created)).toBe('active');
    const [vehicleId = 0] = created['vehicle_ids'] as number[];
    const until = (await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId)?.expires_at ?? '';
    expect(Date.parse(until)).toBeLessThan(Date.now() + 32 * 86_400_000);
  });

  it('keeps an order refunded if the refund precedes the payment, and revokes the months if it follows', async () => {
    const early = (await createOrder(harness)).data;
    const refund = (created: Data) =>
      createEvent('charge.refunded', {
        id: 'ch_1',
        refunded: true,
        payment_intent: created['gateway_order_id'],
        metadata: {},
      });
    await send(refund(early));
    await send(succeeded(early));
    expect(await readOrder(harness, early.id)).toMatchObject({ status: 'refunded' });
    expect(await readSubscriptionStatus(harness, early)).toBeUndefined();
    const late = (await createOrder(harness)).data;
    await send(succeeded(late));
    expect(await readSubscriptionStatus(harness, late)).toBe('active');
    await send(refund(late));
    expect(await readOrder(harness, late.id)).toMatchObject({ status: 'refunded' });
    expect(await readSubscriptionStatus(harness, late)).toBe('canceled');
  });

  it('ignores a payment that is too small, in another currency, or for an unknown order', async () => {
    const created = (await createOrder(harness)).data;
    expect((await send(succeeded(created, { amount_received: 299 }))).status).toBe(200);
    expect((await send(succeeded(created, { currency: 'inr' }))).status).toBe(200);
    expect(
      (await send(succeeded(created, { id: 'pi_other', metadata: { order_id: String(created.id) } }))).status,
    ).toBe(200);
    expect((await send(createEvent('customer.created', { id: 'cus_9' }))).status).toBe(200);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'created' });
  });

  it('rejects signatures of another body or secret, old timestamps and missing signatures', async () => {
    const created = (await createOrder(harness)).data;
    const payload = succeeded(created);
    const sign = (options: { payload?: string; secret?: string; timestamp?: number }): string =>
      Stripe.webhooks.generateTestHeaderString({ payload, secret, ...options });
    const old = Math.floor(Date.now() / 1000) - 301;
    for (const header of [
      sign({ payload: `${payload} ` }),
      sign({ secret: 'whsec_other' }),
      sign({ timestamp: old }),
      'junk',
      '',
    ])
      expect((await send(payload, header)).status).toBe(401);
    expect((await send(payload, sign({}).replace(/v1=./, 'v1=x'))).status).toBe(401);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'created' });
    expect((await send(payload, sign({ timestamp: old + 30 }))).status).toBe(200);
  });

  it('verifies a payment with the gateway when a client reports it', async () => {
    const created = (await createOrder(harness)).data;
    const proof = { order_id: created.id, payment_id: created['gateway_order_id'] };
    const response = await harness.as(harness.ours.owner).post('/api/subscription/verify-payment', proof);
    expect(response.data).toMatchObject({ status: 'paid' });
    const dear = (await createOrder(harness, { plan: 'video' })).data;
    const short = { order_id: dear.id, payment_id: dear['gateway_order_id'] };
    const unpaid = await harness.as(harness.ours.owner).post('/api/subscription/verify-payment', short);
    expect(unpaid.data).toMatchObject({ status: 'created' });
  });

  it("returns a link to Stripe's portal and creates one customer per account", async () => {
    const owner = harness.as(harness.ours.owner);
    for (let i = 0; i < 2; i += 1) {
      const response = await owner.get('/api/subscriptions/billing-portal');
      expect(response.data).toMatchObject({ url: 'https://billing.stripe.example/s/1', provider: 'stripe' });
    }
    expect(fake.requests.filter(({ path }) => path === '/v1/customers')).toHaveLength(1);
  });

  it('responds 502 and fails the order while the gateway fails', async () => {
    const responding = fake.respond;
    fake.respond = () => ({ status: 500, body: { error: { type: 'api_error', message: 'down' } } });
    const response = await createOrder(harness);
    fake.respond = responding;
    expect(response.status).toBe(502);
    expect(response.body).toMatchObject({ code: 'upstream_error' });
    const [last] = (await harness.as(harness.ours.owner).get('/api/subscription/orders?limit=1')).items;
    expect(last).toMatchObject({ status: 'failed' });
  });
});
