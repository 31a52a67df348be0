import { connect } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { writeLastLocation } from '../testing/last-location.ts';
import { LiveHarness } from '../testing/live-harness.ts';
import { recordTestNotification } from '../testing/notifications.ts';
import { testPosition } from '../testing/positions.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(90_000);

let live: LiveHarness;
beforeAll(async () => {
  live = await LiveHarness.open();
});
afterAll(() => live.close());
afterEach(() => live.hangUp());

describe('during a broker outage', () => {
  it('recorded events are sent when it is back, once', async () => {
    const { harness } = live;
    const vehicle = await live.newVehicle();
    const client = await live.as(harness.ours.owner, live.replicaBase);
    const stranger = await live.as(harness.theirs.owner, live.replicaBase);
    const record = () => recordTestNotification(harness.deps, harness.ours.accountId, { vehicleId: vehicle.id });
    const received = await record();
    live.publish(vehicle.id, [
      {
        type: 'notification',
        data: { id: received._id, version: 1, notification_type: 'sos', vehicle_id: vehicle.id },
      },
    ]);
    await client.next('notification');
    await harness.nats.kill();
    await waitFor(() => !live.replica.deps.bus.isUp());
    const missed = [await record(), await record()];
    await writeLastLocation(harness.deps, testPosition(vehicle.imei, { latitude: 7 }));
    // It has its position from before the outage; greeting and snapshot need no broker.
    const late = await live.as(await harness.user('viewer'), live.replicaBase);
    await harness.nats.start();
    await client.next('notification', 3);
    expect((await client.next('location')).data).toMatchObject({ vehicle_id: vehicle.id, latitude: 7 });
    const later = await record();
    await waitFor(() => harness.bus.isUp());
    live.publish(vehicle.id, [
      { type: 'notification', data: { id: later._id, version: 1, notification_type: 'sos', vehicle_id: vehicle.id } },
    ]);
    await client.next('notification', 4);
    await client.settle();
    const eventIds = client.of('notification').map(({ data }) => data['id']);
    expect(eventIds).toEqual([received, ...missed, later].map(({ _id }) => _id));
    expect(client.of('notification')[1]?.data).toMatchObject({ user: harness.ours.owner.id });
    await late.next('notification');
    await stranger.settle();
    expect([...stranger.of('notification'), ...stranger.of('location')]).toEqual([]);
  });
});

describe('access that ends during a broker outage', () => {
  it('closes the connections of other replicas all the same', async () => {
    const { harness } = live;
    const user = await harness.user('manager');
    const [here, there] = [await live.as(user), await live.as(user, live.replicaBase)];
    const other = await live.as(await harness.user('manager'), live.replicaBase);
    await harness.nats.kill();
    await waitFor(() => !harness.bus.isUp() && !live.replica.deps.bus.isUp());
    expect((await harness.as(user).post('/api/auth/logout')).status).toBe(200);
    const atMs = Date.now();
    for (const client of [here, there]) expect(await client.ended()).toMatchObject({ code: 4403 });
    // By its cache TTL alone, a replica would notice it after fifteen seconds.
    expect(Date.now() - atMs).toBeLessThan(10_000);
    await other.settle();
    expect(other.closed).toBeUndefined();
    await harness.nats.start();
    await waitFor(() => harness.bus.isUp() && live.replica.deps.bus.isUp());
  });

  it('takes effect before missed events are sent', async () => {
    const { harness } = live;
    const vehicle = await live.newVehicle();
    const guest = await live.as(harness.theirs.owner, live.replicaBase);
    guest.send({ type: 'subscribe', events: ['vehicle', 'notification'] });
    await guest.next('subscribed');
    const permissions = ['view', 'notifications'];
    const share = { secondaryUser: harness.theirs.owner.id, vehicles: [vehicle.id], permissions };
    expect((await live.owner.post('/api/vehicle/share-vehicles', share)).status).toBe(200);
    await guest.next('vehicle');
    const owner = await live.as(harness.ours.owner, live.replicaBase);
    await harness.nats.kill();
    await waitFor(() => !live.replica.deps.bus.isUp());
    await recordTestNotification(harness.deps, harness.ours.accountId, { vehicleId: vehicle.id });
    // Simulates a process whose event was lost.
    await harness.deps.records.collection('shares').deleteMany({ vehicleId: vehicle.id });
    await harness.nats.start();
    await owner.next('notification');
    await waitFor(() => guest.of('vehicle').length === 2);
    await guest.settle();
    expect(guest.of('vehicle').map(({ data }) => data['action'])).toEqual(['shared', 'unshared']);
    expect(guest.of('notification')).toEqual([]);
  });
});

describe('a client that violates the websocket protocol', () => {
  it.each([
    ['bytes of any kind', Buffer.from(Array.from({ length: 4_000 }, (_unused, n) => (n * 7_919) % 256))],
    ['a frame without a mask', Buffer.from('8105', 'hex')],
    ['a frame with a huge declared length', Buffer.from('81ff7fffffffffffffff00000000', 'hex')],
    ['an unknown opcode', Buffer.from('838000000000', 'hex')],
    ['text that is no UTF-8', Buffer.from('81820000000000c328', 'hex')],
    ['a control frame that is too long', Buffer.from('89fe0080000000', 'hex')],
    ['a compressed frame that was not agreed on', Buffer.from('c18000000000', 'hex')],
  ])('is closed for %s', async (_case, bytes) => {
    const token = await live.tokenOf(live.harness.ours.owner);
    const { port, hostname } = new URL(live.base);
    const socket = connect(Number(port), hostname);
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    socket.write(
      `GET /ws?token=${token} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    let received = '';
    socket.on('data', (data: Buffer) => {
      if (!received.includes('snapshot') && (received + data.toString('latin1')).includes('snapshot'))
        socket.write(bytes);
      received += data.toString('latin1');
    });
    await ended;
    expect(received).toContain('101 Switching Protocols');
    expect((await fetch(`${live.harness.adminBase}/livez`)).status).toBe(200);
  });

  it.each([
    ['no key', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13', 400],
    // Without an offer it is a plain request.
    ['another protocol', 'Connection: Upgrade\r\nUpgrade: h2c', 404],
    [
      'an old version',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 7\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      400,
    ],
  ])('gets an HTTP response for %s', async (_case, lines, status) => {
    const { port, hostname } = new URL(live.base);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /ws HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`);
    let response = '';
    for await (const data of socket) response += String(data);
    expect(response).toContain(`HTTP/1.1 ${status}`);
  });
});
