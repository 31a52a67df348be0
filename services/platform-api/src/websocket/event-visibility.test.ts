import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { writeLastLocation } from '../testing/last-location.ts';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness, type TestEvent } from '../testing/live-harness.ts';
import type { ApiResponse, Client, PlatformHarness, TestUser } from '../testing/platform-harness.ts';
import { testPosition } from '../testing/positions.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
let owner: Client;
let vehicleId: number;
let imei: string;

beforeAll(async () => {
  live = await LiveHarness.open();
  ({ harness, owner } = live);
});
afterAll(() => live.close());
beforeEach(async () => {
  ({ id: vehicleId, imei } = await live.newVehicle());
});
afterEach(() => live.hangUp());

const publish = (events: readonly TestEvent[]): void => live.publish(vehicleId, events);
const location = (more: object = {}): TestEvent => live.location({ id: vehicleId, imei }, more);
const notification = (type = 'sos', of = vehicleId): TestEvent => live.notification(of, type);

const share = (user: TestUser, permissions: string[], vehicles = [vehicleId]) =>
  owner.post('/api/vehicle/share-vehicles', { secondaryUser: user.id, vehicles, permissions });

/** Time within which a loss of access takes effect. Replicas publish it, so that even a busy machine needs less. */
const lossMs = 5_000;

/** How long a connection stays open after the response that ended its access. */
async function msUntilLost(client: LiveClient, end: () => Promise<ApiResponse>): Promise<number> {
  expect((await end()).status).toBe(200);
  const atMs = Date.now();
  expect(await client.ended()).toMatchObject({ code: 4403 });
  return Date.now() - atMs;
}

/** An API key of a server; its token, or that of another key, opens a connection on the other replica. */
async function mintingKey() {
  const { data } = await owner.post('/api/api-keys', { name: 'server', can_mint_tokens: true });
  const key = String(data['key']);
  const minted = await harness.with({ 'x-api-key': key }).post('/api/auth/api-token');
  const authorization = `Bearer ${String(minted.data['access_token'])}`;
  const tokenWith = (other: string): Promise<string> => websocketToken({ 'x-api-key': other, authorization });
  const connect = async (other = key): Promise<LiveClient> =>
    live.ready(`?token=${await tokenWith(other)}`, live.replicaBase);
  return { id: data.id, key, tokenWith, connect };
}

async function websocketToken(headers: Record<string, string>): Promise<string> {
  const { body } = await harness.with(headers).get('/api/user/generate-websocket-token');
  return (body as { token: string }).token;
}

const plainUser = (): Promise<TestUser> => harness.user('manager');

describe('visibility of events', () => {
  it('excludes other accounts', async () => {
    const [theirs, ours] = [await live.as(harness.theirs.owner), await live.as(await plainUser())];
    theirs.send({ type: 'subscribe', vehicles: 'all', events: ['location', 'command', 'vehicle'] });
    theirs.send({ type: 'subscribe', id: 1, vehicles: [vehicleId], events: ['location', 'notification'] });
    expect((await theirs.next('subscribed', 2)).data).toEqual({
      id: 1,
      subscriptions: [{ vehicles: 'all', events: ['location', 'command', 'vehicle'], min_interval_ms: 0 }],
    });
    expect(theirs.of('snapshot').flatMap(({ data }) => data['locations'])).toEqual([]);
    publish([location(), notification(), { type: 'command', data: { vehicle_id: vehicleId } }]);
    await ours.next('notification');
    await theirs.settle();
    const received = theirs.messages.map(({ type }) => type);
    expect(received.filter((type) => !['hello', 'snapshot', 'subscribed', 'pong'].includes(type))).toEqual([]);
  });

  it('limits users of a share to its permissions, without the driver', async () => {
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, ['view']);
    const client = await live.as(guest);
    client.send({ type: 'subscribe', events: ['location', 'notification', 'vehicle', 'upload', 'command'] });
    await client.next('snapshot', 2);
    const colleague = await live.as(harness.theirs.owner);
    publish([notification(), { type: 'upload', data: {} }, { type: 'command', data: {} }, location()]);
    expect((await client.next('location')).data).toMatchObject({ vehicle_id: vehicleId, driver_id: null });
    expect(client.of('notification')).toEqual([]);
    expect([...client.of('upload'), ...client.of('command')]).toEqual([]);
    await share(guest, ['view', 'notifications', 'commands']);
    // The client sends nothing here: its rate is limited.
    await waitFor(() => {
      publish([notification()]);
      return client.of('notification').length > 0;
    });
    const [received] = client.of('notification');
    expect(received?.data).toMatchObject({ driver_id: null, attributes: { count: 1 }, user: harness.ours.owner.id });
    expect(received?.data['attributes']).toEqual({ count: 1 });
    await colleague.settle();
    expect([...colleague.of('location'), ...colleague.of('notification')]).toEqual([]);
  });

  it('notifies only the user of a share about its start and end, and ends access within five seconds', async () => {
    const guest = await harness.user('viewer', harness.theirs);
    const [client, colleague, sharer] = [
      await live.as(guest, live.replicaBase),
      await live.as(harness.theirs.owner),
      await live.as(harness.ours.owner),
    ];
    for (const each of [client, colleague, sharer]) {
      each.send({ type: 'subscribe', events: ['vehicle', 'location'] });
      await each.next('subscribed');
    }
    await share(guest, ['view']);
    expect((await client.next('vehicle')).data).toEqual({ vehicle_id: vehicleId, action: 'shared' });
    await waitFor(() => {
      publish([location()]);
      return client.of('location').length > 0;
    });
    await owner.post('/api/vehicle/remove-share-vehicles', { secondaryUser: guest.id });
    const takenMs = Date.now();
    expect((await client.next('vehicle', 2)).data).toEqual({ vehicle_id: vehicleId, action: 'unshared' });
    expect(Date.now() - takenMs).toBeLessThan(lossMs);
    const received = client.of('location').length;
    publish([location({ latitude: 3 })]);
    await sharer.until(() => sharer.of('location').some(({ data }) => data['latitude'] === 3));
    await client.settle();
    expect(client.of('location')).toHaveLength(received);
    expect(sharer.of('vehicle').map(({ data }) => data['action'])).toEqual(['shared', 'unshared']);
    expect(colleague.of('vehicle')).toEqual([]);
  });

  it('limits a driver to the own vehicles', async () => {
    const driver = await harness.user('driver');
    const { id: other } = await live.newVehicle();
    await owner.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: driver.id });
    await writeLastLocation(harness.deps, testPosition(imei));
    const client = await live.as(driver);
    const response = client.of('snapshot').flatMap(({ data }) => data['locations']) as { vehicle_id: number }[];
    expect(response.map((one) => one.vehicle_id)).toEqual([vehicleId]);
    const inArea = notification('sos');
    const data = { ...inArea.data, address: 'Shenzhen', area: 'Depot' };
    publish([notification('sos', other), { ...location(), vehicleId: other }, { ...inArea, data }]);
    const received = (await client.next('notification')).data;
    expect(received).toMatchObject({ vehicle_id: vehicleId, address: 'Shenzhen', driver_id: 7 });
    expect(received).not.toHaveProperty('area');
    await client.settle();
    expect(client.of('location')).toEqual([]);
  });

  it('sends the deliveries of a webhook to its user only', async () => {
    const [own, other] = [await live.as(harness.ours.owner), await live.as(await plainUser())];
    for (const client of [own, other]) {
      client.send({ type: 'subscribe', vehicles: 'all', events: ['delivery', 'status'] });
      await client.next('subscribed');
    }
    const data = { webhook_id: 3, delivery_id: '0'.repeat(24), status: 'succeeded' };
    const status = { type: 'status', data: { vehicle_id: vehicleId, state: 'idle' } } as const;
    publish([{ type: 'delivery', userId: harness.ours.owner.id, data }, status]);
    expect((await own.next('delivery')).data).toEqual(data);
    await other.next('status');
    expect(other.of('delivery')).toEqual([]);
  });

  it('applies the notification preferences of each user', async () => {
    const user = await plainUser();
    const client = await live.as(user);
    const path = `/api/notifications/update-preferences/${vehicleId}`;
    expect((await harness.as(user).post(path, { notification_types: ['ignition_on'] })).status).toBe(200);
    // Until the preference has arrived.
    await waitFor(() => {
      publish([notification('ignition_on')]);
      return client.of('notification').length > 0;
    });
    const last = notification('ignition_on');
    publish([notification('sos'), last]);
    await client.until(() => client.of('notification').some(({ data }) => data['id'] === last.data['id']));
    expect(new Set(client.of('notification').map(({ data }) => data['notification_type']))).toEqual(
      new Set(['ignition_on']),
    );
  });

  it('applies a new preference immediately to new connections, beside an open one', async () => {
    const user = await plainUser();
    const first = await live.as(user);
    const path = `/api/notifications/update-preferences/${vehicleId}`;
    // Several, because the open one receives each shortly afterwards.
    for (const wanted of ['ignition_on', 'ignition_off', 'ignition_on', 'ignition_off']) {
      expect((await harness.as(user).post(path, { notification_types: [wanted] })).status).toBe(200);
      const second = await live.as(user);
      publish([notification('sos'), notification('ignition_on'), notification('ignition_off')]);
      await second.next('notification');
      await second.settle();
      expect(second.of('notification').map(({ data }) => data['notification_type'])).toEqual([wanted]);
      await first.settle();
    }
  });

  it.each([
    ['is disabled', (user: TestUser) => owner.put(`/api/users/${user.id}`, { disabled: true })],
    ['is removed', (user: TestUser) => owner.delete(`/api/users/${user.id}`)],
    ['has logged out', (user: TestUser) => harness.as(user).post('/api/auth/logout')],
  ])('closes the connections of a user who %s', async (_case, end) => {
    const user = await harness.user('viewer');
    const client = await live.as(user, live.replicaBase);
    expect(await msUntilLost(client, () => end(user))).toBeLessThan(lossMs);
  });

  it('closes the connections of all users of a suspended account, and no others', async () => {
    const tenant = await harness.tenant('To be suspended');
    const staff = harness.as(await harness.user('superadmin'));
    const [chief, user] = [await live.as(tenant.owner), await harness.user('viewer', tenant)];
    const client = await live.as(user, live.replicaBase);
    const token = await live.tokenOf(user);
    const stranger = await live.as(harness.ours.owner, live.replicaBase);
    expect(
      await msUntilLost(client, () => staff.put(`/api/accounts/${tenant.accountId}`, { status: 'suspended' })),
    ).toBeLessThan(lossMs);
    expect(await chief.ended()).toMatchObject({ code: 4403 });
    expect(await (await live.connect(`?token=${token}`)).ended()).toMatchObject({ code: 4403 });
    await stranger.settle();
    expect(stranger.closed).toBeUndefined();
  });

  it('closes the connections of a server when the API key of its token is revoked, and no others', async () => {
    const [made, other] = [await mintingKey(), await mintingKey()];
    const [client, neighbour] = [await made.connect(), await other.connect()];
    expect(await msUntilLost(client, () => owner.delete(`/api/api-keys/${made.id}`))).toBeLessThan(lossMs);
    await neighbour.settle();
    expect(neighbour.closed).toBeUndefined();
  });

  it.each(['minted its token', 'requested the token of the websocket'] as const)(
    'closes the connections of a server with two API keys when the one that %s is revoked',
    async (role) => {
      const [minter, commandClient] = [await mintingKey(), await mintingKey()];
      const client = await minter.connect(commandClient.key);
      const token = await minter.tokenWith(commandClient.key);
      const { id } = role === 'minted its token' ? minter : commandClient;
      expect(await msUntilLost(client, () => owner.delete(`/api/api-keys/${id}`))).toBeLessThan(lossMs);
      expect(await (await live.connect(`?token=${token}`)).ended()).toMatchObject({ code: 4401 });
    },
  );

  it('closes the connections of a user if the API key that requested the token is revoked, and no others', async () => {
    const user = await plainUser();
    const { data } = await owner.post('/api/api-keys', { name: 'of one app' });
    const authorization = `Bearer ${user.token}`;
    const token = await websocketToken({ 'x-api-key': String(data['key']), authorization });
    const client = await live.ready(`?token=${token}`, live.replicaBase);
    const elsewhere = await live.as(user, live.replicaBase);
    expect(await msUntilLost(client, () => owner.delete(`/api/api-keys/${data.id}`))).toBeLessThan(lossMs);
    expect(await (await live.connect(`?token=${token}`)).ended()).toMatchObject({ code: 4401 });
    await elsewhere.settle();
    expect(elsewhere.closed).toBeUndefined();
  });
});
