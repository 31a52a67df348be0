import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { keyHash } from '../domains/api-keys/rules.ts';
import { verifyKey } from '../domains/api-keys/use-cases.ts';
import { makeWebsocketToken } from '../domains/realtime/websocket-tokens.ts';
import type { User } from '../domains/users/schema.ts';
import { LiveWorld } from '../testing/live-world.ts';
import { maxConnections } from './registry.ts';

// Five thousand handshakes on a machine that may be busy.
jest.setTimeout(300_000);

const users = 500;
const connections = users * maxConnections;
const mebibyte = 1024 * 1024;

let live: LiveWorld;
beforeAll(async () => {
  live = await LiveWorld.open();
});
afterAll(() => live.close());

/** Users of the first tenant beside its owner, as one write. */
async function manyUsers(): Promise<number[]> {
  const { records, ours } = live.world;
  const collection = records.collection<User>('users');
  const pattern = await collection.findOne({ _id: ours.owner.id });
  if (pattern === null) throw new Error('there is no owner');
  const ids = Array.from({ length: users }, (_unused, n) => 1_000_000 + n);
  await collection.insertMany(ids.map((_id) => ({ ...pattern, _id, email: `${_id}@fleet.example`, role: 'viewer' })));
  return ids;
}

/** A client that counts what it is told, and keeps nothing. */
class CountingClient {
  readonly ws: WebSocket;
  readonly told = new Map<string, number>();

  constructor(url: string) {
    this.ws = new WebSocket(url, { perMessageDeflate: false });
    this.ws.on('message', (data: Buffer) => {
      const type = /^\{"type":"([a-z]+)"/.exec(data.toString('latin1', 0, 40))?.[1] ?? 'unknown';
      this.told.set(type, (this.told.get(type) ?? 0) + 1);
    });
    this.ws.on('error', () => this.ws.terminate());
  }

  countOf = (type: string): number => this.told.get(type) ?? 0;
}

describe('five thousand connections to one process', () => {
  it('all hear of every event, and need little memory', async () => {
    const { world } = live;
    const vehicle = await live.newVehicle();
    const keyId = (await verifyKey(world.records, keyHash(world.ours.apiKey)))?._id ?? 0;
    const tokens = await Promise.all(
      (await manyUsers()).map((userId) =>
        makeWebsocketToken(world.deps.redis, { accountId: world.ours.accountId, userId, sessionId: null, keyId }),
      ),
    );
    global.gc?.();
    const before = process.memoryUsage().rss;
    const clients: CountingClient[] = [];
    const url = `${live.base.replace('http', 'ws')}/ws?token=`;
    for (const token of tokens) {
      for (let n = 0; n < maxConnections; n += 1) clients.push(new CountingClient(url + token));
      // So many handshakes at once, as a listening socket keeps few in its queue.
      await until(() => clients.filter((client) => client.countOf('hello') === 0).length < 200);
    }
    await until(() => clients.every((client) => client.countOf('snapshot') === 1));
    expect(clients).toHaveLength(connections);
    // Both ends are in this process.
    expect((process.memoryUsage().rss - before) / connections).toBeLessThan(0.12 * mebibyte);
    live.publish(vehicle.id, [live.location(vehicle), live.notification(vehicle.id), live.location(vehicle)]);
    await until(() =>
      clients.every((client) => client.countOf('location') === 2 && client.countOf('notification') === 1),
    );
    expect(clients.filter(({ ws }) => ws.readyState !== WebSocket.OPEN)).toEqual([]);
    expect(live.world.service.deps.bus.isUp()).toBe(true);
    const metrics = await (await fetch(`${live.base}/metrics`)).text();
    expect(metrics).toMatch(new RegExp(`^websocket_connections\\{kind="user",.* ${connections}$`, 'm'));
    for (const { ws } of clients) ws.terminate();
    const isEmpty = async () =>
      /^websocket_connections\{kind="user",.* 0$/m.test(await (await fetch(`${live.base}/metrics`)).text());
    await until(isEmpty);
  });
});
