import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOrder, createVehicle, readOrder } from '../../testing/orders.ts';
import { PlatformHarness } from '../../testing/platform-harness.ts';
import { assertSubscriptions, findSubscriptions } from './subscriptions.ts';
import { processOrders } from './use-cases.ts';

jest.setTimeout(60_000);

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
    const response = await createOrder(harness, {
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
    expect((await createOrder(harness, more)).status).toBe(status);
  });

  it('restricts orders to owners of the account', async () => {
    const created = (await createOrder(harness)).data;
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
    const created = (await createOrder(harness)).data;
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
    const created = (await createOrder(harness)).data;
    const orders = harness.deps.database.collection<{ _id: number; expiresAt: Date; status: string }>('orders');
    await orders.updateOne({ _id: created.id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect(await readOrder(harness, created.id)).toMatchObject({ status: 'expired' });
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
    const paid = (await createOrder(harness)).data;
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
