import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakePaymentGateway } from '../../testing/fake-payment-gateway.ts';
import { createOrder, readOrder, readSubscriptionStatus } from '../../testing/orders.ts';
import { type ApiResponse, type Data, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

describe('billing by Razorpay', () => {
  const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex');
  let harness: PlatformHarness;
  let fake: FakePaymentGateway;
  let orders = 0;

  beforeAll(async () => {
    fake = await FakePaymentGateway.open();
    fake.respond = () => ({ body: { id: `order_${(orders += 1)}`, status: 'created' } });
    harness = await PlatformHarness.open({
      PAYMENT_GATEWAY: 'razorpay',
      RAZORPAY_KEY_ID: 'rzp_test_1',
      RAZORPAY_KEY_SECRET: 'key secret',
      RAZORPAY_WEBHOOK_SECRET: 'hook secret',
      RAZORPAY_URL: fake.url,
    });
  });
  afterAll(async () => {
    await harness.close();
    await fake.close();
  });

  const send = (body: object, headers: Record<string, string> = {}, key = 'hook secret'): Promise<ApiResponse> => {
    const text = JSON.stringify(body);
    const signed = { 'x-razorpay-signature': hmac(key, text), ...headers };
    return harness.anonymous.post('/api/subscription/gateway-webhook/razorpay', text, signed);
  };
  const captured = (created: Data, more: Record<string, unknown> = {}): object => ({
    event: 'payment.captured',
    payload: {
      payment: {
        entity: {
          id: 'pay_1',
          order_id: created['gateway_order_id'],
          amount: created['amount'],
          currency: created['currency'],
          ...more,
        },
      },
    },
  });

  it("creates an order at Razorpay and accepts the client's signed proof of payment", async () => {
    const created = (await createOrder(harness, { currency: 'INR' })).data;
    expect(created).toMatchObject({
      gateway: 'razorpay',
      public_key: 'rzp_test_1',
      amount: 24_900,
      gateway_order_id: `order_${orders}`,
    });
    const requested = fake.requests.at(-1);
    expect(requested?.headers['authorization']).toBe(
      `Basic ${Buffer.from('rzp_test_1:key secret').toString('base64')}`,
    );
    expect(JSON.parse(requested?.body ?? '')).toMatchObject({
      amount: 24_900,
      currency: 'INR',
      receipt: `order-${created.id}`,
    });
    const owner = harness.as(harness.ours.owner);
    const proof = (signature?: string) =>
      owner.post('/api/subscription/verify-payment', {
        order_id: created.id,
        payment_id: 'pay_1',
        ...(signature === undefined ? {} : { signature }),
      });
    for (const wrong of [
      undefined,
      'x',
      hmac('other', `order_${orders}|pay_1`),
      hmac('key secret', `order_${orders}|pay_2`),
    ])
      expect((await proof(wrong)).status).toBe(401);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'created' });
    expect((await proof(hmac('key secret', `order_${orders}|pay_1`))).data).toMatchObject({ status: 'paid' });
    expect(await readSubscriptionStatus(harness, created)).toBe('active');
  });

  it('marks an order paid on a signed event, which counts once', async () => {
    const created = (await createOrder(harness)).data;
    const id = { 'x-razorpay-event-id': 'ev_1' };
    expect((await send(captured(created), {}, 'other')).status).toBe(401);
    expect((await send(captured(created), { 'x-razorpay-signature': '' })).status).toBe(401);
    expect((await send(captured(created, { amount: 1 }))).status).toBe(200);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'created' });
    expect((await send(captured(created), id)).body).toEqual({ received: true, duplicate: false });
    expect((await send(captured(created), id)).body).toEqual({ received: true, duplicate: true });
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'paid' });
    const refund = {
      event: 'refund.processed',
      payload: {
        payment: { entity: { id: 'pay_1', order_id: created['gateway_order_id'], amount: 300, amount_refunded: 100 } },
      },
    };
    await send(refund);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'paid' });
    refund.payload.payment.entity.amount_refunded = 300;
    await send(refund);
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'refunded' });
  });

  it("rejects a signed event that is not JSON, and returns a link to the platform's own page", async () => {
    const text = 'no json';
    const signed = { 'x-razorpay-signature': hmac('hook secret', text) };
    expect((await harness.anonymous.post('/api/subscription/gateway-webhook/razorpay', text, signed)).status).toBe(400);
    const portal = await harness.as(harness.ours.owner).get('/api/subscriptions/billing-portal');
    expect(portal.data).toMatchObject({
      provider: 'razorpay',
      url: expect.stringContaining('/api/subscriptions/billing-page?'),
    });
  });
});
