import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type WebSocket, WebSocketServer } from 'ws';
import { LiveClient } from '../testing/live-client.ts';
import { Connection, type Delivery } from './connection.ts';
import { encodeMessage } from './outgoing-event.ts';
import { Stats } from './stats.ts';

// Uses real sockets, which respond late on a busy machine.
jest.setTimeout(60_000);

const mebibyte = 1024 * 1024;
let server: Server;
let client: LiveClient;
let connection: Connection;
let stats: Stats;
beforeEach(async () => {
  stats = new Stats();
  server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const opened = new Promise<Connection>((resolve) => {
    server.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (ws) => resolve(new Connection(ws, socket, stats))),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = await LiveClient.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, '');
  connection = await opened;
});
afterEach(() => {
  client.ws.terminate();
  server.close();
});

const locationOf = (vehicle: number, serial: number): Delivery => ({
  type: 'location',
  message: encodeMessage('location', { vehicle, serial, filling: 'x'.repeat(1_000) }),
  positionVehicleId: vehicle,
});
const notice = (id: number, bytes = 10): Delivery => ({
  type: 'notification',
  message: encodeMessage('notification', { id, filling: 'x'.repeat(bytes) }),
  notification: { id, version: 1 },
});

describe('a slow client', () => {
  it('loses only positions that newer ones have replaced', async () => {
    client.socket.pause();
    // The buffers of the system fill before those of the connection.
    for (let id = 1; connection.queuedBytes <= mebibyte; id += 1) connection.deliver(notice(id, 64 * 1024));
    const queued = connection.queuedBytes;
    for (let serial = 1; serial <= 1_000; serial += 1)
      for (const vehicle of [1, 2, 3]) connection.deliver(locationOf(vehicle, serial));
    connection.deliver(notice(9_999));
    // A thousand positions of each of three vehicles would be three mebibytes more.
    expect(connection.queuedBytes - queued).toBeLessThan(1_000);
    expect(stats.droppedLocations).toBe(3 * 999);
    client.socket.resume();
    await client.next('location', 3);
    const newest = client.of('location').map(({ data }) => [data['vehicle'], data['serial']]);
    expect(newest).toEqual([1, 2, 3].map((vehicle) => [vehicle, 1_000]));
    const ids = client.of('notification').map(({ data }) => data['id']);
    expect(ids).toEqual([...ids.keys()].map((at) => (at === ids.length - 1 ? 9_999 : at + 1)));
    // It keeps up again.
    connection.deliver(locationOf(1, 1_001));
    expect((await client.next('location', 4)).data['serial']).toBe(1_001);
  });

  it('is closed with 1013 above 8 MiB, and never loses a notification silently', async () => {
    client.socket.pause();
    let sent = 0;
    while (connection.isOpen) connection.deliver(notice((sent += 1), 64 * 1024));
    expect(connection.queuedBytes).toBeLessThanOrEqual(9 * mebibyte);
    client.socket.resume();
    expect(await client.ended()).toMatchObject({ code: 1013 });
    const ids = client.of('notification').map(({ data }) => data['id']);
    expect(ids).toEqual(Array.from({ length: sent - 1 }, (_unused, at) => at + 1));
  });

  it('does not fill the memory while it waits for a snapshot', () => {
    connection.pause();
    for (let id = 1; connection.isOpen; id += 1) connection.deliver(notice(id, 64 * 1024));
    expect(connection.queuedBytes).toBeLessThanOrEqual(9 * mebibyte);
    expect([...stats.closed]).toEqual([['1013', 1]]);
  });

  it('delays large responses', async () => {
    client.socket.pause();
    for (let id = 1; connection.queuedBytes <= 2 * mebibyte; id += 1) connection.deliver(notice(id, 64 * 1024));
    let hasRoom: boolean | undefined;
    const drained = connection.waitForDrain().then((response) => {
      hasRoom = response;
      return response;
    });
    connection.send('pong', encodeMessage('pong', {}));
    expect(hasRoom).toBeUndefined();
    client.socket.resume();
    expect(await drained).toBe(true);
  });
});

describe('buffered events', () => {
  it('follow records that are read from the database, once', async () => {
    const resume = connection.pause();
    const resumeOther = connection.pause();
    connection.deliver(notice(3));
    connection.deliver(notice(2));
    connection.deliver(locationOf(1, 1));
    connection.deliver(locationOf(1, 2));
    connection.deliverNow(notice(1));
    connection.deliverNow(notice(2));
    connection.send('snapshot', encodeMessage('snapshot', {}));
    resume();
    resume();
    connection.send('pong', encodeMessage('pong', {}));
    resumeOther();
    await client.next('location');
    expect(client.messages.map(({ type, data }) => [type, data['id'] ?? data['serial']])).toEqual([
      ['notification', 1],
      ['notification', 2],
      ['snapshot', undefined],
      ['pong', undefined],
      ['notification', 3],
      ['location', 2],
    ]);
  });
});

describe('a silent connection', () => {
  it('is closed after two pings without a response', () => {
    const ws = Object.assign(new EventEmitter(), {
      OPEN: 1,
      readyState: 1,
      pings: 0,
      ping: () => (ws.pings += 1),
      terminate: () => (ws.readyState = 3),
    });
    const silent = new Connection(ws as unknown as WebSocket, new EventEmitter() as Duplex, stats);
    silent.ping();
    ws.emit('pong');
    silent.ping();
    silent.ping();
    ws.emit('message');
    silent.ping();
    silent.ping();
    expect(silent.isOpen).toBe(true);
    silent.ping();
    expect(silent.isOpen).toBe(false);
    expect(ws.pings).toBe(5);
  });
});

describe('a connection with batches', () => {
  it('sends a batch early once it is large, and before a response', async () => {
    connection.batchIntervalMs = 1_000_000;
    for (let id = 1; id <= 5; id += 1) connection.deliver(notice(id, 64 * 1024));
    const first = await client.next('batch');
    expect((first.data['messages'] as unknown[]).length).toBeGreaterThan(2);
    connection.deliver(locationOf(1, 1));
    connection.send('pong', encodeMessage('pong', {}));
    await client.next('pong');
    expect(client.messages.map(({ type }) => type)).toEqual(['batch', 'batch', 'pong']);
    expect(stats.sent.get('notification')).toBe(5);
  });

  it('sends what it has collected before it closes', async () => {
    connection.batchIntervalMs = 1_000_000;
    connection.deliver(notice(1));
    connection.close(1012, 'restart');
    await client.ended();
    expect(client.of('batch')).toHaveLength(1);
  });
});
