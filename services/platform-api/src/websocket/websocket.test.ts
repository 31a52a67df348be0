import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { create } from '../assembly/service.ts';
import { writeLastLocation } from '../testing/last-location.ts';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness, type TestEvent } from '../testing/live-harness.ts';
import type { PlatformHarness, TestUser } from '../testing/platform-harness.ts';
import { testPosition } from '../testing/positions.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
let vehicleId: number;
let imei: string;

beforeAll(async () => {
  live = await LiveHarness.open();
  ({ harness } = live);
});
afterAll(() => live.close());
beforeEach(async () => {
  ({ id: vehicleId, imei } = await live.newVehicle());
});
afterEach(() => live.hangUp());

const publish = (events: readonly TestEvent[]): void => live.publish(vehicleId, events);
const location = (more: object = {}): TestEvent => live.location({ id: vehicleId, imei }, more);
const notification = (type = 'sos', of = vehicleId): TestEvent => live.notification(of, type);

const plainUser = (): Promise<TestUser> => harness.user('manager');

describe('opening the websocket', () => {
  it('sends the subscriptions and a snapshot', async () => {
    await writeLastLocation(harness.deps, testPosition(imei, { speed: 33 }));
    const user = await plainUser();
    const client = await live.as(user);
    const [hello, snapshot] = client.messages;
    const response = snapshot?.data['locations'] as { vehicle_id: number }[];
    expect(hello).toEqual({
      type: 'hello',
      ts: expect.any(Number),
      data: {
        connection_id: expect.stringMatching(/^[0-9a-f]{24}$/),
        user: user.id,
        server_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        heartbeat_seconds: 30,
        subscriptions: [{ vehicles: 'all', events: ['location', 'status', 'notification'], min_interval_ms: 0 }],
      },
    });
    expect(snapshot?.type).toBe('snapshot');
    expect(snapshot?.data['final']).toBe(true);
    expect(response.find((one) => one.vehicle_id === vehicleId)).toMatchObject({
      imei,
      speed: 33,
      state: 'moving',
      driver_id: null,
    });
    publish([location(), { type: 'status', data: { vehicle_id: vehicleId, state: 'idle' } }, notification()]);
    expect((await client.next('location')).data).toMatchObject({ vehicle_id: vehicleId, driver_id: 7 });
    expect((await client.next('status')).data).toEqual({ vehicle_id: vehicleId, state: 'idle' });
    expect((await client.next('notification')).data).toMatchObject({ user: harness.ours.owner.id });
  });

  it.each([
    ['without a token', ''],
    ['with an unknown token', '?token=wst_nothing'],
    ['with a token of any length', `?token=${'x'.repeat(5_000)}`],
  ])('%s is closed with 4401', async (_case, query) => {
    expect(await (await live.connect(query)).ended()).toMatchObject({ code: 4401 });
  });

  it('works again with the same token, and not after the session has ended', async () => {
    const user = await plainUser();
    const token = await live.tokenOf(user);
    const first = await live.connect(`?token=${token}`);
    await first.next('hello');
    const second = await live.connect(`?token=${token}`, { base: live.replicaBase });
    await second.next('hello');
    await harness.as(user).post('/api/auth/logout');
    expect(await first.ended()).toMatchObject({ code: 4403 });
    expect(await second.ended()).toMatchObject({ code: 4403 });
    expect(await (await live.connect(`?token=${token}`)).ended()).toMatchObject({ code: 4401 });
  });

  it('is rejected while a connection that lost its access is still closing', async () => {
    const user = await plainUser();
    const token = await live.tokenOf(user);
    const silent = await live.ready(`?token=${token}`);
    const witness = await live.ready(`?token=${token}`);
    // The client is not informed of the closing.
    silent.socket.pause();
    await harness.as(user).post('/api/auth/logout');
    await witness.ended();
    expect(await (await live.connect(`?token=${token}`)).ended()).toMatchObject({ code: 4401 });
    silent.socket.resume();
    expect(await silent.ended()).toMatchObject({ code: 4403 });
  });

  it('is rejected for pages of foreign origins, and accepted without an origin', async () => {
    const query = `?token=${await live.tokenOf(harness.ours.owner)}`;
    expect((await live.connect(query, { origin: 'https://evil.example' })).refused).toBe(403);
    expect((await live.connect(query, { origin: 'null' })).refused).toBe(403);
    const ours = await live.connect(query, { origin: 'http://localhost:8080' });
    expect((await ours.next('hello')).data['user']).toBe(harness.ours.owner.id);
  });

  it('exists at one path only', async () => {
    const client = await live.connect('', { base: `${harness.base}/other` });
    expect(client.refused).toBe(404);
    expect((await fetch(`${harness.base}/ws`)).status).toBe(404);
  });
});

describe('messages of clients', () => {
  it('subscribe to vehicles and events, and return the subscriptions immediately', async () => {
    const { id: other, imei: otherImei } = await live.newVehicle();
    await writeLastLocation(harness.deps, testPosition(imei));
    await writeLastLocation(harness.deps, testPosition(otherImei));
    const client = await live.as(await plainUser());
    client.send({ type: 'subscribe', id: 'a', vehicles: [vehicleId, 999_999_999], events: ['location', 'command'] });
    expect((await client.next('subscribed')).data).toEqual({
      id: 'a',
      subscriptions: [{ vehicles: [vehicleId], events: ['location', 'command'], min_interval_ms: 0 }],
    });
    const response = (await client.next('snapshot', 2)).data;
    expect(response).toMatchObject({ final: true, locations: [{ vehicle_id: vehicleId }] });
    publish([
      { ...location({ vehicle_id: other }), vehicleId: other },
      notification(),
      { type: 'command', data: { id: 'c', status: 'sent' } },
      location(),
    ]);
    expect((await client.next('location')).data['vehicle_id']).toBe(vehicleId);
    expect((await client.next('command')).data).toEqual({ id: 'c', status: 'sent' });
    client.send({ type: 'unsubscribe', vehicles: [vehicleId], events: ['location'] });
    expect((await client.next('subscribed', 2)).data['subscriptions']).toEqual([
      { vehicles: [vehicleId], events: ['command'], min_interval_ms: 0 },
    ]);
    expect(client.of('notification')).toEqual([]);
  });

  it('can reduce the rate of positions', async () => {
    const client = await live.as(await plainUser());
    // The other one has its positions, a second between them, long before that.
    client.send({ type: 'subscribe', vehicles: [vehicleId], events: ['location'], min_interval_ms: 8_000 });
    await client.next('subscribed');
    const fast = await live.as(await plainUser());
    for (let n = 1; fast.of('location').length < 3; n += 1) {
      publish([location({ latitude: n })]);
      await fast.next('location', fast.of('location').length + 1);
    }
    await client.settle();
    expect(client.of('location')).toHaveLength(1);
    const last = fast.of('location').at(-1)?.data['latitude'];
    expect((await client.next('location', 2)).data['latitude']).toBe(last);
  });

  it.each([
    ['{', 'malformed_json', null],
    ['"text"', 'validation_failed', null],
    ['[]', 'validation_failed', null],
    [{ type: 'shout', id: 5 }, 'unknown_type', 5],
    [{ type: 'subscribe', id: 'x', vehicles: ['1'] }, 'validation_failed', 'x'],
    [{ type: 'subscribe', events: ['everything'] }, 'validation_failed', null],
    [{ type: 'subscribe', min_interval_ms: -1 }, 'validation_failed', null],
    [{ type: 'resume' }, 'validation_failed', null],
    [{ type: 'resume', since: 'yesterday' }, 'validation_failed', null],
  ])('%j is rejected with %s', async (message, code, id) => {
    const client = await live.as(harness.ours.owner);
    client.send(message);
    expect((await client.next('error')).data).toEqual({ code, message: expect.any(String), id });
    await client.settle();
  });

  it('that are too large or too many are rejected, and the third in a minute closes with 4429', async () => {
    const client = await live.as(await plainUser());
    client.send({ type: 'ping', id: 'x'.repeat(5_000) });
    expect((await client.next('error')).data['code']).toBe('message_too_large');
    for (let n = 0; n < 19; n += 1) client.send({ type: 'ping', id: n });
    client.send({ type: 'ping', id: 'too many' });
    expect((await client.next('error', 2)).data['code']).toBe('rate_limited');
    await client.next('pong', 19);
    client.send({ type: 'ping' });
    expect(await client.ended()).toMatchObject({ code: 4429 });
  });

  it('may be ping frames, too, within the same limit', async () => {
    const client = await live.as(await plainUser());
    let pongs = 0;
    client.ws.on('pong', () => {
      pongs += 1;
    });
    for (let n = 0; n < 40; n += 1) client.ws.ping();
    expect(await client.ended()).toMatchObject({ code: 4429 });
    expect(pongs).toBe(20);
  });
});

describe('positions', () => {
  it('arrive at most once a second for each vehicle, and the newest wins', async () => {
    const client = await live.as(await plainUser());
    const { id: other } = await live.newVehicle();
    publish([
      location({ latitude: 1 }),
      location({ latitude: 2 }),
      { ...location({ latitude: 10 }), vehicleId: other },
    ]);
    publish([location({ latitude: 3 }), location({ latitude: 9, timestamp: 5 })]);
    const startMs = Date.now();
    await client.next('location', 3);
    expect(Date.now() - startMs).toBeGreaterThan(500);
    await client.settle();
    expect(client.of('location').map(({ data }) => data['latitude'])).toEqual([1, 10, 3]);
  });
});

describe('ten connections of a user', () => {
  it('are counted on all replicas: the oldest gives way', async () => {
    const user = await plainUser();
    const bases = [harness.base, live.replicaBase];
    const open: LiveClient[] = [];
    for (let n = 0; n < 10; n += 1) open.push(await live.as(user, bases[n % 2]));
    const other = await live.as(await plainUser());
    const eleventh = await live.as(user, bases[0]);
    const [first, second] = open as [LiveClient, LiveClient];
    expect(await first.ended()).toMatchObject({ code: 4429 });
    const twelfth = await live.as(user, bases[0]);
    // On the other replica.
    expect(await second.ended()).toMatchObject({ code: 4429 });
    for (const client of [...open.slice(2), eleventh, twelfth, other]) {
      await client.settle();
      expect(client.closed).toBeUndefined();
    }
    // A closed one makes room.
    open[2]?.ws.close();
    await open[2]?.ended();
    const key = `websocket-connections:${user.id}`;
    await waitFor(async () => (await harness.deps.redis.hLen(key)) === 9);
    await live.as(user);
    for (const client of open.slice(3)) {
      await client.settle();
      expect(client.closed).toBeUndefined();
    }
  });
});

it('the stopping service sends clients the time of the reconnection', async () => {
  const third = await create(harness.deps.config, { log: harness.deps.log });
  const client = await live.as(await plainUser(), `http://127.0.0.1:${third.httpPort}`);
  const stopped = third.stop();
  const { code, reason } = await client.ended();
  expect(code).toBe(1012);
  expect(Number(/come back after (\d+) s$/.exec(reason)?.[1])).toBeGreaterThanOrEqual(1);
  expect(Number(/come back after (\d+) s$/.exec(reason)?.[1])).toBeLessThanOrEqual(30);
  await stopped;
});

it('is counted for the metrics', async () => {
  const client = await live.as(await plainUser());
  await client.settle();
  const displaced = await live.as(await plainUser());
  for (let n = 0; n < 3; n += 1) displaced.send(' '.repeat(5_000));
  await displaced.ended();
  const text = await (await fetch(`${harness.adminBase}/metrics`)).text();
  expect(text).toMatch(/^websocket_connections\{kind="user",service="platform-api"\} [1-9]/m);
  expect(text).toMatch(/^websocket_connections\{kind="share",service="platform-api"\} 0/m);
  expect(text).toMatch(/^websocket_messages_sent_total\{type="hello",service="platform-api"\} [1-9]/m);
  expect(text).toMatch(/^websocket_messages_received_total\{type="ping",.* [1-9]/m);
  expect(text).toMatch(/^websocket_closed_total\{code="4429",.* [1-9]/m);
  expect(text).toMatch(/^websocket_locations_dropped_total\{.* 0/m);
});

describe('a client with many vehicles', () => {
  it('receives no snapshot if it reads the positions with a request', async () => {
    await writeLastLocation(harness.deps, testPosition(imei, { speed: 33 }));
    const client = await live.connect(`?token=${await live.tokenOf(await plainUser())}&snapshot=none`);
    client.send({ type: 'subscribe', vehicles: 'all', events: ['location'], id: 1 });
    await client.next('subscribed');
    await client.settle();
    expect(client.of('snapshot')).toEqual([]);
    publish([location()]);
    expect((await client.next('location')).data).toMatchObject({ vehicle_id: vehicleId });
  });

  it('receives the events of an interval in one message, and responses in order', async () => {
    const client = await live.connect(`?token=${await live.tokenOf(await plainUser())}&snapshot=none`);
    client.send({ type: 'subscribe', events: ['location', 'notification'], batch_ms: 1_000, id: 1 });
    await client.next('subscribed');
    publish([location(), notification()]);
    const batch = await client.next('batch');
    const messages = batch.data['messages'] as { type: string; data: object }[];
    expect(messages.map(({ type }) => type)).toEqual(['location', 'notification']);
    expect(messages[0]).toMatchObject({ ts: expect.any(Number), data: { vehicle_id: vehicleId } });
    expect([client.of('location'), client.of('notification')]).toEqual([[], []]);
    client.send({ type: 'subscribe', events: ['location'], batch_ms: 0, id: 2 });
    await client.next('subscribed', 2);
    publish([notification()]);
    await client.next('notification');
  });

  it('receives an error for an interval that is too long', async () => {
    const client = await live.as(await plainUser());
    client.send({ type: 'subscribe', batch_ms: 1_001, id: 5 });
    expect((await client.next('error')).data).toMatchObject({ code: 'validation_failed', id: 5 });
  });

  it('receives long messages compressed if it supports that', async () => {
    await writeLastLocation(harness.deps, testPosition(imei));
    for (let count = 0; count < 5; count += 1) {
      const other = await live.newVehicle();
      await writeLastLocation(harness.deps, testPosition(other.imei));
    }
    const query = `?token=${await live.tokenOf(harness.ours.owner)}`;
    const [plain, compressed] = [
      await live.connect(query, { perMessageDeflate: false }),
      await live.connect(query, { perMessageDeflate: true }),
    ];
    for (const client of [plain, compressed]) await client.next('snapshot');
    expect(compressed.messages.map(({ type }) => type)).toEqual(plain.messages.map(({ type }) => type));
    expect(compressed.ws.extensions).toContain('permessage-deflate');
    expect(compressed.socket.bytesRead).toBeLessThan(plain.socket.bytesRead / 2);
  });
});
