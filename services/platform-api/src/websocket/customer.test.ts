import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { LiveHarness } from '../testing/live-harness.ts';
import type { PlatformHarness, TestUser } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
beforeAll(async () => {
  live = await LiveHarness.open();
  ({ harness } = live);
});
afterAll(() => live.close());
afterEach(() => live.hangUp());

const requestToken = (user: TestUser, accountId: number) =>
  harness.as(user).get('/api/user/generate-websocket-token', { 'x-account-id': String(accountId) });

async function connect(user: TestUser, accountId: number) {
  const { status, body } = await requestToken(user, accountId);
  expect(status).toBe(200);
  return live.ready(`?token=${(body as { token: string }).token}`);
}

describe('a connection in the account of a customer', () => {
  it('gives the operator’s staff the events of the customer, and none of the own account', async () => {
    const staff = await harness.user('superadmin', harness.theirs);
    const client = await connect(staff, harness.ours.accountId);
    const { id } = await live.newVehicle();
    const foreign = await live.newVehicle(harness.as(harness.theirs.owner));
    live.publish(foreign.id, [live.notification(foreign.id)], harness.theirs.accountId);
    live.publish(id, [live.notification(id)]);
    await client.next('notification');
    await client.settle();
    expect(client.of('notification').map(({ data }) => data['vehicle_id'])).toEqual([id]);
  });

  it('gives dealers the events of accounts below theirs, and 404 for others', async () => {
    const dealers = await harness.tenant('Dealer');
    const dealer = await harness.user('dealer', dealers);
    const owner = { name: 'O', email: `customer-${process.pid}@fleet.example`, password: 'correct horse battery' };
    const customer = (await harness.as(dealer).post('/api/accounts', { name: 'Customer', owner })).data.id;
    const client = await connect(dealer, customer);
    live.publish(77, [live.notification(77)], customer);
    await client.next('notification');
    expect(client.of('notification').map(({ data }) => data['vehicle_id'])).toEqual([77]);
    expect((await requestToken(dealer, harness.ours.accountId)).status).toBe(404);
    expect((await requestToken(harness.ours.owner, harness.theirs.accountId)).status).toBe(404);
  });
});
