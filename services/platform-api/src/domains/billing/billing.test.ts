import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Stripe } from 'stripe';
import { FakePaymentGateway } from '../../testing/fake-payment-gateway.ts';
import { type ApiResponse, type Data, PlatformHarness, type Tenant } from '../../testing/platform-harness.ts';
import { assertSubscriptions, findSubscriptions } from './subscriptions.ts';
import { processOrders } from './use-cases.ts';

jest.setTimeout(60_000);

let serial = 0;
async function createVehicle(harness: PlatformHarness, tenant: Tenant = harness.ours): Promise<number> {
  serial += 1;
  const response = await harness.as(tenant.owner).post('/api/vehicles', { vehicle_no: `PAY ${serial}` });
  expect(response.status).toBe(201);
  return response.data.id;
}

async function order(harness: PlatformHarness, more: Record<string, unknown> = {}): Promise<ApiResponse> {
  const body = { plan: 'basic', vehicle_ids: [await createVehicle(harness)], months: 1, ...more };
  return harness.as(harness.ours.owner).post('/api/subscription/create-gateway-order', body);
}

const read = async (harness: PlatformHarness, id: number): Promise<Data> =>
  (await harness.as(harness.ours.owner).get(`/api/subscription/orders/${id}`)).data;

const readStatus = async (harness: PlatformHarness, created: Data): Promise<string | undefined> => {
  const [vehicleId = 0] = created['vehicle_ids'] as number[];
  return (await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId)?.status;
};

describe('billing without a gateway', () => {
  let harness: PlatformHarness;
  beforeAll(async () => {
    harness = await PlatformHarness.open({
      ENFORCE_SUBSCRIPTIONS: 'true',
      BILLING_RETURN_URLS: 'https://app.fleet.example/billing',
    });
  });
  afterAll(() => harness.close());

  it('lists the plans for all users', async () => {
    const viewer = harness.as(await harness.user('viewer'));
    const response = await viewer.get('/api/subscriptions/plans?limit=1');
    expect(response.status).toBe(200);
    expect(response.items).toMatchObject([{ id: 1, key: 'basic', prices: [{ currency: 'USD', amount: 300 }, {}, {}] }]);
    expect(response.body).toMatchObject({ meta: { pagination: { total: 2, pageCount: 2 } } });
    expect((await harness.anonymous.get('/api/subscriptions/plans')).status).toBe(401);
  });

  it('creates an order with a price computed by the server, ignoring an amount from the client', async () => {
    const ids = [await createVehicle(harness), await createVehicle(harness)];
    const response = await order(harness, {
      vehicle_ids: [...ids, ids[0]],
      months: 12,
      coupon: 'welcome10',
      amount: 1,
    });
    expect(response.status).toBe(201);
    expect(response.headers.get('location')).toBe(`/api/subscription/orders/${response.data.id}`);
    expect(response.data).toMatchObject({
      gateway: 'offline',
      gateway_order_id: null,
      amount: 5_832,
      currency: 'USD',
      status: 'created',
      vehicle_ids: ids,
      client_secret: null,
    });
    expect(response.body).toMatchObject({ meta: { ignored_fields: ['/amount'] } });
  });

  it.each([
    ['an unknown plan', { plan: 'gold' }, 400],
    ['no vehicles', { vehicle_ids: [] }, 400],
    ['too many vehicles', { vehicle_ids: Array.from({ length: 501 }, (_, at) => at + 1) }, 400],
    ['other months', { months: 2 }, 400],
    ['an invalid coupon', { coupon: 'NONE' }, 400],
    ['a currency without a price', { currency: 'JPY' }, 400],
    ['months as text', { months: '1' }, 400],
    ['an unknown vehicle', { vehicle_ids: [999_999] }, 404],
  ])('rejects an order with %s', async (_what, more, status) => {
    expect((await order(harness, more)).status).toBe(status);
  });

  it('restricts orders to owners of the account', async () => {
    const created = (await order(harness)).data;
    for (const role of ['admin', 'manager', 'viewer'] as const) {
      const client = harness.as(await harness.user(role));
      expect((await client.get(`/api/subscription/orders/${created.id}`)).status).toBe(403);
      expect((await client.get('/api/subscriptions/billing-portal')).status).toBe(403);
      expect((await client.post('/api/subscription/create-gateway-order', {})).status).toBe(403);
    }
    const stranger = harness.as(harness.theirs.owner);
    expect((await stranger.get(`/api/subscription/orders/${created.id}`)).status).toBe(404);
    expect((await stranger.post(`/api/subscription/orders/${created.id}/mark-paid`)).status).toBe(404);
    const proof = { order_id: created.id, payment_id: 'p', signature: 's' };
    expect((await stranger.post('/api/subscription/verify-payment', proof)).status).toBe(404);
    const foreign = { plan: 'basic', months: 1, vehicle_ids: created['vehicle_ids'] };
    expect((await stranger.post('/api/subscription/create-gateway-order', foreign)).status).toBe(404);
    expect((await stranger.get('/api/subscription/orders')).items).toEqual([]);
  });

  it('creates one order per Idempotency-Key', async () => {
    const body = { plan: 'basic', vehicle_ids: [await createVehicle(harness)], months: 1 };
    const client = harness.as(harness.ours.owner);
    const first = await client.post('/api/subscription/create-gateway-order', body, { 'idempotency-key': 'once' });
    const again = await client.post('/api/subscription/create-gateway-order', body, { 'idempotency-key': 'once' });
    expect(again.status).toBe(201);
    expect(again.data.id).toBe(first.data.id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('extends the subscriptions once when an admin marks the order paid', async () => {
    const created = (await order(harness)).data;
    const [vehicleId = 0] = created['vehicle_ids'] as number[];
    await expect(assertSubscriptions(harness.deps, harness.ours, [vehicleId])).rejects.toMatchObject({ status: 402 });
    const command = await harness
      .as(harness.ours.owner)
      .post(`/api/vehicles/${vehicleId}/commands`, { type: 'locate' });
    expect([command.status, command.body]).toEqual([402, expect.objectContaining({ code: 'subscription_expired' })]);
    const owner = harness.as(harness.ours.owner);
    const share = () =>
      owner.post('/api/vehicle/share-vehicles', { secondaryUser: harness.theirs.owner.id, vehicles: [vehicleId] });
    const link = () => owner.post('/api/share-links', { vehicle_id: vehicleId });
    for (const response of [await share(), await link()])
      expect(response.body).toMatchObject({ status: 402, code: 'subscription_expired' });
    expect((await owner.get(`/api/vehicles/${vehicleId}`)).data).toMatchObject({ subscription: null });
    const admin = harness.as(await harness.user('admin'));
    const paid = await admin.post(`/api/subscription/orders/${created.id}/mark-paid`);
    expect(paid.status).toBe(200);
    expect(paid.data).toMatchObject({ status: 'paid', paid_at: expect.any(String) });
    const before = (await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId);
    expect(before).toMatchObject({ plan: 'basic', status: 'active' });
    expect((await admin.post(`/api/subscription/orders/${created.id}/mark-paid`)).status).toBe(200);
    expect((await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId)).toEqual(before);
    await assertSubscriptions(harness.deps, harness.ours, [vehicleId]);
    expect([(await share()).status, (await link()).status]).toEqual([200, 201]);
    const proof = { order_id: created.id, payment_id: 'p', signature: 's' };
    expect((await harness.as(harness.ours.owner).post('/api/subscription/verify-payment', proof)).status).toBe(409);
    const manager = harness.as(await harness.user('manager'));
    expect((await manager.post(`/api/subscription/orders/${created.id}/mark-paid`)).status).toBe(403);
  });

  it('expires an unpaid order after half an hour, in reads and in lists', async () => {
    const created = (await order(harness)).data;
    const orders = harness.deps.database.collection<{ _id: number; expiresAt: Date; status: string }>('orders');
    await orders.updateOne({ _id: created.id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect(await read(harness, created.id)).toMatchObject({ status: 'expired' });
    const owner = harness.as(harness.ours.owner);
    const listed = await owner.get('/api/subscription/orders?status=expired');
    expect(listed.items.map(({ id }) => id)).toEqual([created.id]);
    expect((await owner.get('/api/subscription/orders?status=created')).items.map(({ id }) => id)).not.toContain(
      created.id,
    );
    expect((await owner.post(`/api/subscription/orders/${created.id}/mark-paid`)).status).toBe(409);
    await processOrders(harness.deps);
    expect((await orders.findOne({ _id: created.id }))?.status).toBe('expired');
  });

  it('returns a signed link to a page and accepts only allowed return addresses', async () => {
    const owner = harness.as(harness.ours.owner);
    const back = 'https://app.fleet.example/billing/done?x=1';
    const response = await owner.get(`/api/subscriptions/billing-portal?return_url=${encodeURIComponent(back)}`);
    expect(response.status).toBe(200);
    expect(response.data).toMatchObject({ provider: 'offline', expires_at: expect.any(String) });
    const { pathname, search } = new URL(String(response.data['url']));
    const page = await harness.anonymous.get(pathname + search);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.body).toContain('Orders');
    const paid = (await order(harness)).data;
    const [vehicleId = 0] = paid['vehicle_ids'] as number[];
    await harness.as(await harness.user('admin')).post(`/api/subscription/orders/${paid.id}/mark-paid`);
    const vehicleNo = String((await owner.get(`/api/vehicles/${vehicleId}`)).data['vehicle_no']);
    const row = (await harness.anonymous.get(pathname + search)).body;
    expect(row).toContain(`<tr><td>${vehicleNo}</td><td>basic</td><td>active</td>`);
    expect(page.body).toContain(`href="${back}"`);
    expect((await harness.anonymous.get(`${pathname}?ticket=v1.a.b.c`)).status).toBe(401);
    expect((await harness.anonymous.get(`${pathname}${search}x`)).status).toBe(401);
    for (const invalid of [
      'https://evil.example/',
      'https://app.fleet.example/billingx',
      'https://app.fleet.example@evil.example/billing',
      'javascript:alert(1)',
      '//evil.example',
      'billing',
    ]) {
      const refused = await owner.get(`/api/subscriptions/billing-portal?return_url=${encodeURIComponent(invalid)}`);
      expect([invalid, refused.status]).toEqual([invalid, 400]);
    }
    expect((await owner.get('/api/subscriptions/billing-portal')).status).toBe(200);
  });

  it('responds 401 to events of a gateway without a secret, and 404 to other gateways', async () => {
    const send = (gateway: string) =>
      harness.anonymous.post(`/api/subscription/gateway-webhook/${gateway}`, { id: 'e' });
    expect((await send('stripe')).status).toBe(401);
    expect((await send('razorpay')).status).toBe(401);
    expect((await send('offline')).status).toBe(404);
  });
});

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
    const { status, data: created } = await order(harness);
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
    expect(await read(harness, created.id)).toMatchObject({
      client_secret: null,
      gateway_order_id: created['gateway_order_id'],
    });
  });

  it('marks an order paid on a signed event, in any order of events and only once', async () => {
    const created = (await order(harness)).data;
    const failed = createEvent('payment_intent.payment_failed', {
      id: created['gateway_order_id'],
      currency: 'usd',
      metadata: {},
    });
    expect((await send(failed)).body).toEqual({ received: true, duplicate: false });
    expect(await read(harness, created.id)).toMatchObject({ status: 'failed' });
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
    expect(await read(harness, created.id)).toMatchObject({ status: 'paid' });
    expect(await readStatus(harness, created)).toBe('active');
    const [vehicleId = 0] = created['vehicle_ids'] as number[];
    const until = (await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId)?.expires_at ?? '';
    expect(Date.parse(until)).toBeLessThan(Date.now() + 32 * 86_400_000);
  });

  it('keeps an order refunded if the refund precedes the payment, and revokes the months if it follows', async () => {
    const early = (await order(harness)).data;
    const refund = (created: Data) =>
      createEvent('charge.refunded', {
        id: 'ch_1',
        refunded: true,
        payment_intent: created['gateway_order_id'],
        metadata: {},
      });
    await send(refund(early));
    await send(succeeded(early));
    expect(await read(harness, early.id)).toMatchObject({ status: 'refunded' });
    expect(await readStatus(harness, early)).toBeUndefined();
    const late = (await order(harness)).data;
    await send(succeeded(late));
    expect(await readStatus(harness, late)).toBe('active');
    await send(refund(late));
    expect(await read(harness, late.id)).toMatchObject({ status: 'refunded' });
    expect(await readStatus(harness, late)).toBe('canceled');
  });

  it('ignores a payment that is too small, in another currency, or for an unknown order', async () => {
    const created = (await order(harness)).data;
    expect((await send(succeeded(created, { amount_received: 299 }))).status).toBe(200);
    expect((await send(succeeded(created, { currency: 'inr' }))).status).toBe(200);
    expect(
      (await send(succeeded(created, { id: 'pi_other', metadata: { order_id: String(created.id) } }))).status,
    ).toBe(200);
    expect((await send(createEvent('customer.created', { id: 'cus_9' }))).status).toBe(200);
    expect(await read(harness, created.id)).toMatchObject({ status: 'created' });
  });

  it('rejects signatures of another body or secret, old timestamps and missing signatures', async () => {
    const created = (await order(harness)).data;
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
    expect(await read(harness, created.id)).toMatchObject({ status: 'created' });
    expect((await send(payload, sign({ timestamp: old + 30 }))).status).toBe(200);
  });

  it('verifies a payment with the gateway when a client reports it', async () => {
    const created = (await order(harness)).data;
    const proof = { order_id: created.id, payment_id: created['gateway_order_id'] };
    const response = await harness.as(harness.ours.owner).post('/api/subscription/verify-payment', proof);
    expect(response.data).toMatchObject({ status: 'paid' });
    const dear = (await order(harness, { plan: 'video' })).data;
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
    const response = await order(harness);
    fake.respond = responding;
    expect(response.status).toBe(502);
    expect(response.body).toMatchObject({ code: 'upstream_error' });
    const [last] = (await harness.as(harness.ours.owner).get('/api/subscription/orders?limit=1')).items;
    expect(last).toMatchObject({ status: 'failed' });
  });
});

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
    const created = (await order(harness, { currency: 'INR' })).data;
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
    expect(await read(harness, created.id)).toMatchObject({ status: 'created' });
    expect((await proof(hmac('key secret', `order_${orders}|pay_1`))).data).toMatchObject({ status: 'paid' });
    expect(await readStatus(harness, created)).toBe('active');
  });

  it('marks an order paid on a signed event, which counts once', async () => {
    const created = (await order(harness)).data;
    const id = { 'x-razorpay-event-id': 'ev_1' };
    expect((await send(captured(created), {}, 'other')).status).toBe(401);
    expect((await send(captured(created), { 'x-razorpay-signature': '' })).status).toBe(401);
    expect((await send(captured(created, { amount: 1 }))).status).toBe(200);
    expect(await read(harness, created.id)).toMatchObject({ status: 'created' });
    expect((await send(captured(created), id)).body).toEqual({ received: true, duplicate: false });
    expect((await send(captured(created), id)).body).toEqual({ received: true, duplicate: true });
    expect(await read(harness, created.id)).toMatchObject({ status: 'paid' });
    const refund = {
      event: 'refund.processed',
      payload: {
        payment: { entity: { id: 'pay_1', order_id: created['gateway_order_id'], amount: 300, amount_refunded: 100 } },
      },
    };
    await send(refund);
    expect(await read(harness, created.id)).toMatchObject({ status: 'paid' });
    refund.payload.payment.entity.amount_refunded = 300;
    await send(refund);
    expect(await read(harness, created.id)).toMatchObject({ status: 'refunded' });
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
