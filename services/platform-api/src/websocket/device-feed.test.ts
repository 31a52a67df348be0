import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Account } from '../domains/accounts/schema.ts';
import { recordUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import { newImei } from '../testing/fake-terminals.ts';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness } from '../testing/live-harness.ts';
import type { PlatformHarness, TestUser } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
let operator: TestUser;
beforeAll(async () => {
  live = await LiveHarness.open();
  ({ harness } = live);
  operator = await harness.user('superadmin');
});
afterAll(() => live.close());
afterEach(() => live.hangUp());

/** Opens a connection of a user with a subscription. */
async function subscribed(user: TestUser, events = ['device'], vehicles: unknown = 'all'): Promise<LiveClient> {
  const client = await live.as(user, live.replicaBase);
  client.send({ type: 'subscribe', vehicles, events });
  await client.next('subscribed');
  return client;
}

const seen = async (imei = newImei()): Promise<string> => {
  await recordUnassigned(harness.deps, imei, Date.now());
  return imei;
};

const devicesOf = (client: LiveClient) => client.of('device').map(({ data }) => data);

/** Runs an action while the first account is the only one. */
async function withSingleAccount(action: () => Promise<void>): Promise<void> {
  const accounts = harness.records.collection<Account>('accounts');
  const others = await accounts.find({ _id: { $ne: harness.ours.accountId }, deletedAt: null }).toArray();
  const setDeleted = async (deletedAt: Date | null): Promise<void> => {
    for (const { _id } of others) await accounts.updateOne({ _id }, { $set: { deletedAt } });
  };
  await setDeleted(new Date());
  try {
    await action();
  } finally {
    await setDeleted(null);
  }
}

describe('the event of an unassigned terminal', () => {
  it('reaches only the operator if there are several accounts', async () => {
    const client = await subscribed(operator);
    const others = [await subscribed(harness.ours.owner), await subscribed(harness.theirs.owner)];
    const imei = await seen();
    expect((await client.next('device')).data).toEqual({ imei, action: 'seen' });
    for (const other of others) {
      await other.settle();
      expect(devicesOf(other)).toEqual([]);
    }
  });

  it('reaches owners and admins of the only account, and no other role', async () => {
    const owner = await subscribed(harness.ours.owner);
    const admin = await subscribed(await harness.user('admin'));
    const manager = await subscribed(await harness.user('manager'));
    await withSingleAccount(async () => {
      const imei = await seen();
      for (const client of [owner, admin]) expect((await client.next('device')).data).toEqual({ imei, action: 'seen' });
    });
    await manager.settle();
    expect(devicesOf(manager)).toEqual([]);
  });

  it('requires a subscription of all vehicles that names it', async () => {
    const client = await subscribed(operator);
    const others = [await subscribed(operator, ['status']), await subscribed(operator, ['device'], [1])];
    await seen();
    await client.next('device');
    for (const other of others) {
      await other.settle();
      expect(devicesOf(other)).toEqual([]);
    }
  });

  it('is not sent for a terminal that belongs to a vehicle', async () => {
    const client = await subscribed(operator);
    const { imei } = await live.newVehicle();
    await seen(imei);
    const free = await seen();
    await client.next('device');
    expect(devicesOf(client)).toEqual([{ imei: free, action: 'seen' }]);
  });
});
