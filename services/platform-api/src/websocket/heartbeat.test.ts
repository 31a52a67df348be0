import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger, Lifecycle, Registry } from '@fleet/service-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ClientOptions } from 'ws';
import { Principals } from '../access/principals.ts';
import { makeWebsocketToken } from '../domains/last-positions/websocket-tokens.ts';
import { LiveClient } from '../testing/live-client.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { startWebsocket } from './start.ts';

// Uses real sockets, which respond late on a busy machine.
jest.setTimeout(60_000);

const log = createLogger('heartbeat-test', 'silent');
/** Number of events between two pings: with fewer, a busy client would be closed wrongly. */
const secondMs = 20;

let harness: PlatformHarness;
let principals: Principals;
let lifecycle: Lifecycle;
let server: Server;
let metrics: Registry;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  principals = new Principals(harness.records, harness.bus, log);
});
afterAll(async () => {
  principals.stop();
  await harness.close();
});
beforeEach(async () => {
  lifecycle = new Lifecycle(log);
  metrics = new Registry();
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  startWebsocket(harness.deps, lifecycle, server, { principals, origins: new Set(), metrics, secondMs });
});
afterEach(async () => {
  await lifecycle.stop();
  server.close();
});

async function connect(options: ClientOptions = {}): Promise<{ client: LiveClient; pings: () => number }> {
  const { id: userId, accountId, sessionId } = harness.ours.owner;
  const holder = { accountId, userId, sessionId, mintedByKeyId: null, keyId: null, scopes: [] };
  const token = await makeWebsocketToken(harness.deps.redis, holder);
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = await LiveClient.open(base, `?token=${token}`, options);
  let count = 0;
  client.ws.on('ping', () => {
    count += 1;
  });
  return { client, pings: () => count };
}

describe('the heartbeat', () => {
  it('closes a connection that missed two pings, and no other', async () => {
    const alive = await connect();
    const silent = await connect({ autoPong: false });
    // It gets no reason, because it does not read.
    expect(await silent.client.ended()).toMatchObject({ code: 1006 });
    expect(silent.pings()).toBe(2);
    const before = alive.pings();
    await new Promise<void>((resolve) => {
      alive.client.ws.on('ping', () => {
        if (alive.pings() >= before + 4) resolve();
      });
    });
    await alive.client.settle();
    expect(alive.client.closed).toBeUndefined();
    expect(await metrics.metrics()).toMatch(/^websocket_closed_total\{code="silent"\} 1$/m);
    alive.client.ws.terminate();
  });
});
