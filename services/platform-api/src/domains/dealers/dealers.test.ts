import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, type Tenant } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness?.close());

const put = (tenant: Tenant, below: Tenant) =>
  harness.records
    .collection('accounts')
    .updateOne({ _id: tenant.accountId }, { $set: { dealerAccountId: below.accountId } });

describe('GET /api/dealers/me', () => {
  it('returns the sub-dealers to a dealer, and only its own dealer to a customer', async () => {
    const [top, sub, customer] = [
      await harness.tenant('Top dealer'),
      await harness.tenant('Sub dealer'),
      await harness.tenant('Customer'),
    ];
    const [topUser, subUser] = [await harness.user('dealer', top), await harness.user('dealer', sub)];
    await put(sub, top);
    await put(customer, sub);
    expect((await harness.as(topUser).get('/api/dealers/me')).items).toMatchObject([
      {
        id: sub.accountId,
        name: 'Sub dealer',
        email: subUser.email,
        parent_dealer_id: top.accountId,
        account_count: 1,
      },
    ]);
    const { items, body } = await harness.as(customer.owner).get('/api/dealers/me?limit=10&offset=0');
    expect(items).toMatchObject([{ id: sub.accountId, vehicle_count: 0, status: 'active' }]);
    expect(body).toMatchObject({ meta: { pagination: { page: 1, pageSize: 10, total: 1 } } });
    expect((await harness.as(topUser).get('/api/dealers/me?query=SUB')).items).toHaveLength(1);
    expect((await harness.as(topUser).get('/api/dealers/me?query=nobody')).items).toEqual([]);
    expect((await harness.as(topUser).get('/api/dealers/me?offset=1')).items).toEqual([]);
    expect((await harness.as(subUser).get('/api/dealers/me')).items).toEqual([]);
  });

  it('returns the stated location of dealers and finds them by city', async () => {
    const top = await harness.tenant('Dealer of dealers');
    const client = harness.as(await harness.user('dealer', top));
    const open = (name: string, place: object) => {
      const owner = { name, email: `${name.toLowerCase()}@dealers.example`, role: 'dealer' };
      return client.post('/api/accounts', { name, ...place, owner });
    };
    const kochi = await open('Malabar', { city: 'Kochi', country: 'India' });
    expect(kochi).toMatchObject({ status: 201, data: { city: 'Kochi', country: 'India' } });
    const unsaid = await open('Unsaid', {});
    expect(unsaid.data).toMatchObject({ city: null, country: null });
    expect((await client.get('/api/dealers/me?query=koch')).items).toMatchObject([
      { id: kochi.data.id, city: 'Kochi', country: 'India' },
    ]);
    expect((await client.get('/api/accounts?query=india')).items).toMatchObject([{ id: kochi.data.id }]);
    const changed = await client.put(`/api/accounts/${kochi.data.id}`, { city: 'Thrissur', country: null });
    expect(changed.data).toMatchObject({ name: 'Malabar', city: 'Thrissur', country: null });
    expect((await client.get('/api/dealers/me?query=kochi')).items).toEqual([]);
    expect((await open('Bad', { city: ' ' })).status).toBe(400);
  });

  it('returns an empty list without a dealer, and rejects invalid paging', async () => {
    const owner = harness.as(harness.ours.owner);
    expect(await owner.get('/api/dealers/me')).toMatchObject({ status: 200, items: [] });
    for (const query of ['limit=0', 'limit=x', 'offset=-1', 'offset=0&page=1'])
      expect([query, (await owner.get(`/api/dealers/me?${query}`)).status]).toEqual([query, 400]);
    expect(await harness.anonymous.get('/api/dealers/me')).toMatchObject({ status: 401 });
  });
});
