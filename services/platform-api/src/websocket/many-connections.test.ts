import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { hashKey } from '../domains/api-keys/rules.ts';
import { verifyKey } from '../domains/api-keys/use-cases.ts';
import { makeWebsocketToken } from '../domains/last-positions/websocket-tokens.ts';
import type { User } from '../domains/users/schema.ts';
import { LiveHarness } from '../testing/live-harness.ts';
import { maxConnectionsPerUser } from './connection-registry.ts';

// Five thousand handshakes on a machine that may be busy.
jest.setTimeout(600_000);

const users = 500;
const connections = users * maxConnectionsPerUser;
const mebibyte = 1024 * 1024;

let live: LiveHarness;
beforeAll(async () => {
  live = await LiveHarness.open();
});
afterAll(() => live.close());

/** Creates users of the first tenant with one write. */
async function manyUsers(): Promise<number[]> {
  const { records, ours } = live.harness;
  const collection = records.collection<User>('users');
  const pattern = await collection.findOne({ _id: ours.owner.id });
  if (pattern === null) throw new Error('there is no owner');
  const ids = Array.from({ length: users }, (_unused, n) => 1_000_000 + n);
  await collection.insertMany(ids.map((_id) => ({ ...pattern, _id, email: `${_id}@fleet.example`, role: 'viewer' })));
  return ids;
}

/** Clients that count their messages and store nothing. */
class CountingClients {
  readonly sockets: WebSocket[] = [];
  readonly #received = new Map<string, number[]>();

  open(url: string): void {
    const at = this.sockets.length;
    const ws = new WebSocket(url, { perMessageDeflate: false });
    ws.on('message', (data: Buffer) => {
      const type = /^\{"type":"([a-z]+)"/.exec(data.toString('latin1', 0, 40))?.[1] ?? 'unknown';
      const counts = this.#received.get(type) ?? [];
      this.#received.set(type, counts);
      counts[at] = (counts[at] ?? 0) + 1;
    });
    ws.on('error', () => ws.terminate());
    this.sockets.push(ws);
  }

  /** Number of messages of a type. */
  total = (type: string): number => (this.#received.get(type) ?? []).reduce((sum, count) => sum + count, 0);

  /** Smallest and largest number of messages of one client. */
  range(type: string): readonly [number, number] {
    const counts = this.sockets.map((_ws, at) => this.#received.get(type)?.[at] ?? 0);
    return [Math.min(...counts), Math.max(...counts)];
  }
}

describe('five thousand connections to one process', () => {
  it('all receive every event, with little memory', async () => {
    const { harness } = live;
    const vehicle = await live.newVehicle();
    const keyId = (await verifyKey(harness.records, hashKey(harness.ours.apiKey)))?._id ?? 0;
    const tokens = await Promise.all(
      (await manyUsers()).map((userId) =>
        makeWebsocketToken(harness.deps.redis, {
          accountId: harness.ours.accountId,
          userId,
          sessionId: null,
          mintedByKeyId: keyId,
          keyId,
          scopes: [],
        }),
      ),
    );
    global.gc?.();
    const before = process.memoryUsage().rss;
    const clients = new CountingClients();
    const url = `${live.base.replace('http', 'ws')}/ws?token=`;
    for (const token of tokens) {
      for (let n = 0; n < maxConnectionsPerUser; n += 1) clients.open(url + token);
      // As many concurrent handshakes as the queue of a listening socket allows.
      await waitFor(() => clients.sockets.length - clients.total('hello') < 400);
    }
    await waitFor(() => clients.total('snapshot') === connections);
    // Both ends are in this process.
    expect((process.memoryUsage().rss - before) / connections).toBeLessThan(0.15 * mebibyte);
    live.publish(vehicle.id, [live.location(vehicle), live.notification(vehicle.id), live.location(vehicle)]);
    await waitFor(() => clients.total('location') >= 2 * connections && clients.total('notification') >= connections);
    expect(clients.range('snapshot')).toEqual([1, 1]);
    expect(clients.range('location')).toEqual([2, 2]);
    expect(clients.range('notification')).toEqual([1, 1]);
    expect(clients.sockets.filter(({ readyState }) => readyState !== WebSocket.OPEN)).toEqual([]);
    const metrics = await (await fetch(`${live.harness.adminBase}/metrics`)).text();
    expect(metrics).toMatch(new RegExp(`^websocket_connections\\{kind="user",.* ${connections}$`, 'm'));
    for (const ws of clients.sockets) ws.terminate();
    const isEmpty = async () =>
      /^websocket_connections\{kind="user",.* 0$/m.test(
        await (await fetch(`${live.harness.adminBase}/metrics`)).text(),
      );
    await waitFor(isEmpty);
  });
});
