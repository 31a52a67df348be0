import { connect } from 'node:net';
import { connectRedis, isDeviceExpected, type Redis, readDevice } from '@fleet/storage';
import { freePort, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway, startLive } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, uniquePhone } from './testing/raw-terminal.ts';
import { TestServer } from './testing/test-server.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(60_000);

let caller: Caller;
const open: RawTerminal[] = [];
const login = async (gateway: Gateway, phone = uniquePhone()): Promise<RawTerminal> => {
  const terminal = await RawTerminal.login(gateway.jt808Port, phone);
  open.push(terminal);
  return terminal;
};

beforeAll(async () => {
  caller = await Caller.open();
});
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close();
});
afterAll(() => caller.close());

describe('terminal connection', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({
      LOGIN_TIMEOUT_MS: '3000',
      SESSION_IDLE_SECONDS: '3',
      WRITE_BUFFER_LIMIT_BYTES: '4096',
    });
  });
  afterAll(() => gateway.stop());

  it('closes without registration, whatever bytes it sends', async () => {
    const terminal = await RawTerminal.connect(gateway.jt808Port, uniquePhone(), '2013');
    const dribble = setInterval(() => terminal.socket.write(Buffer.from([0x7e])), 50);
    await terminal.waitForClose();
    clearInterval(dribble);
    expect(terminal.received).toEqual([]);
  });

  it('closes after the idle timeout and its claim is removed, unless the terminal sends heartbeats', async () => {
    const beating = await login(gateway);
    const silent = await login(gateway);
    const beat = setInterval(() => beating.send(0x0002), 100);
    await silent.waitForClose();
    await waitFor(
      async () => (await readDevice(caller.redis, canonicalNumber(silent.phone))) === null,
      'the claim is removed',
    );
    clearInterval(beat);
    expect(beating.isClosed).toBe(false);
    expect(await caller.sendCommand(canonicalNumber(silent.phone), startLive)).toEqual({ kind: 'notConnected' });
  });

  it('closes when the terminal does not read, without affecting other terminals', async () => {
    const deaf = await login(gateway);
    const other = await login(gateway);
    // Heartbeats keep the other session alive until the kernel's buffers are full.
    const beat = setInterval(() => other.send(0x0002), 100);
    deaf.socket.pause();
    const heartbeats = Buffer.concat(
      Array.from({ length: 2_000 }, (_, serial) => deaf.buildFrame(0x0002, Buffer.alloc(0), { serial })),
    );
    const feed = setInterval(() => {
      if (deaf.socket.writableLength < 1_000_000) deaf.socket.write(heartbeats);
    });
    await waitFor(
      async () => (await readDevice(caller.redis, canonicalNumber(deaf.phone))) === null,
      'the terminal that does not read is disconnected',
    );
    clearInterval(feed);
    clearInterval(beat);
    expect(await other.waitForResult(other.send(0x0002), 0x0002)).toBe(0);
  });

  it('survives bytes that are no frame', async () => {
    const terminal = await login(gateway);
    terminal.socket.write(Buffer.alloc(100_000, 0x41));
    terminal.socket.write(Buffer.from('7e7e7e0002000001397e7e7d7d7d7e', 'hex'));
    terminal.socket.write(Buffer.concat([Buffer.from([0x7e]), Buffer.alloc(50_000, 0x30)]));
    terminal.socket.write(Buffer.from([0x7e]));
    expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
  });
});

describe('connection limit per address', () => {
  it('closes excess connections and admits new ones after a disconnect', async () => {
    const gateway = await startGateway({ CONNECTIONS_PER_ADDRESS: '1' });
    try {
      const only = await login(gateway);
      const over = connect(gateway.jt808Port, '127.0.0.1');
      await new Promise((resolve) => {
        over.once('close', resolve);
        over.once('error', () => undefined);
        over.resume();
      });
      only.close();
      await waitFor(
        async () => (await readDevice(caller.redis, canonicalNumber(only.phone))) === null,
        'the first session has ended',
      );
      const next = await login(gateway);
      expect(next.isClosed).toBe(false);
    } finally {
      await gateway.stop();
    }
  });
});

describe('Redis outages', () => {
  let server: TestServer;
  let redis: Redis;
  let gateway: Gateway;
  beforeAll(async () => {
    server = await TestServer.redis();
    const url = `redis://127.0.0.1:${server.port}`;
    redis = await connectRedis(url, { name: 'test', onError: () => undefined });
    gateway = await startGateway({ REDIS_URL: url });
  });
  afterAll(async () => {
    await gateway.stop();
    redis.destroy();
    await server.remove();
  });

  it('restores all sessions within 5 s after Redis was emptied', async () => {
    const terminals = await Promise.all(Array.from({ length: 20 }, () => login(gateway)));
    const owners = async (): Promise<unknown[]> =>
      Promise.all(terminals.map(async ({ phone }) => (await readDevice(redis, canonicalNumber(phone)))?.podId));
    const tookMs: number[] = [];
    for (let times = 0; times < 3 && (tookMs.at(-1) ?? 5_000) >= 5_000; times += 1) {
      await redis.flushAll();
      const emptiedAtMs = performance.now();
      await waitFor(
        async () => (await owners()).every((owner) => owner === gateway.podId),
        'all sessions are claimed again',
      );
      tookMs.push(performance.now() - emptiedAtMs);
    }
    // Best of three attempts, as a busy machine may delay any of them.
    expect(Math.min(...tookMs)).toBeLessThan(5_000);
    expect(terminals.filter((terminal) => terminal.isClosed)).toEqual([]);
  });

  it('allow logins and commands; all sessions are claimed again within 5 s after an empty restart', async () => {
    const before = await login(gateway);
    const code = await before.register();
    await server.kill();
    const outcomePromise = caller.sendCommandWithoutRedis(canonicalNumber(before.phone), startLive);
    before.sendGeneralResponse(await before.waitForFrame(0x9101));
    expect((await outcomePromise).kind).toBe('answered');
    // Without the breaker the client would queue each transaction for a second, until its next connection attempt has
    // failed.
    const startedAtMs = performance.now();
    for (let i = 0; i < 10; i += 1) {
      const again = caller.sendCommandWithoutRedis(canonicalNumber(before.phone), startLive);
      before.sendGeneralResponse(await before.waitForFrame(0x9101));
      expect((await again).kind).toBe('answered');
    }
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
    const during = await login(gateway);
    const back = await RawTerminal.connect(gateway.jt808Port, before.phone, '2013');
    open.push(back);
    expect(await back.tryAuthenticate(code)).toBe(0);
    await before.waitForClose();
    await server.start();
    await waitFor(() => redis.isReady, 'the test is connected again');
    for (const { phone } of [back, during])
      await waitFor(
        async () => (await readDevice(redis, canonicalNumber(phone)))?.podId === gateway.podId,
        'the session is claimed again',
        5_000,
      );
  });
});

describe('two pods without Redis', () => {
  it('start, and only the new pod serves a terminal that changes pods', async () => {
    const nowhere = { REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    const first = await startGateway(nowhere);
    const second = await startGateway(nowhere);
    try {
      const old = await login(first);
      const imei = canonicalNumber(old.phone);
      // The response proves that the broker knows the first pod, which the second one notifies through it.
      const outcomeAtFirst = caller.sendCommandWithoutRedis(imei, startLive);
      old.sendGeneralResponse(await old.waitForFrame(0x9101));
      expect(await outcomeAtFirst).toMatchObject({ kind: 'answered' });
      const young = await login(second, old.phone);
      await old.waitForClose();
      const outcomePromise = caller.sendCommandWithoutRedis(imei, startLive);
      young.sendGeneralResponse(await young.waitForFrame(0x9101));
      expect(await outcomePromise).toMatchObject({ kind: 'answered' });
      expect(old.received.filter((frame) => frame.messageId === 0x9101)).toEqual([]);
    } finally {
      await first.stop();
      await second.stop();
    }
  });
});

describe('the HTTP port', () => {
  it('returns errors as JSON, also for an unknown path', async () => {
    const gateway = await startGateway();
    const response = await fetch(`http://127.0.0.1:${gateway.adminPort}/nothing`);
    expect([response.status, await response.json()]).toEqual([
      404,
      { status: 404, error: 'There is no GET /nothing.' },
    ]);
  });
});

describe('shutdown', () => {
  it('serves all terminals until commands in flight have ended, stores reports and marks the terminals as expected', async () => {
    const gateway = await startGateway({ DRAIN_SPREAD_MS: '100', DRAIN_COMMANDS_MS: '60000' });
    const busy = await login(gateway);
    const idle = await login(gateway);
    const outcomePromise = caller.sendCommand(canonicalNumber(busy.phone), startLive);
    const frame = await busy.waitForFrame(0x9101);
    const stopping = gateway.stop();
    const isDraining = async (): Promise<boolean> => {
      const ready = await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`);
      await ready.arrayBuffer();
      return ready.status === 503;
    };
    await waitFor(isDraining, 'the gateway drains');
    const serial = idle.send(0x0200, idle.buildLocation());
    expect(await idle.waitForResult(serial, 0x0200)).toBe(0);
    const late = caller.sendCommand(canonicalNumber(idle.phone), startLive);
    idle.sendGeneralResponse(await idle.waitForFrame(0x9101));
    expect(await late).toMatchObject({ kind: 'answered' });
    expect([busy.isClosed, idle.isClosed]).toEqual([false, false]);
    busy.sendGeneralResponse(frame);
    expect(await outcomePromise).toMatchObject({ kind: 'answered' });
    await Promise.all([busy.waitForClose(), idle.waitForClose()]);
    await stopping;
    expect(await caller.redis.exists(`gateway:${gateway.podId}`)).toBe(0);
    for (const { phone } of [busy, idle]) {
      expect(await readDevice(caller.redis, canonicalNumber(phone))).toBeNull();
      expect(await isDeviceExpected(caller.redis, canonicalNumber(phone), 60_000)).toBe(true);
    }
  });

  it('stops waiting for commands when forced', async () => {
    const gateway = await startGateway({ DRAIN_COMMANDS_MS: '90000' });
    const silent = await login(gateway);
    const outcomePromise = caller.sendCommand(canonicalNumber(silent.phone), startLive, 2_000);
    await silent.waitForFrame(0x9101);
    const stopping = gateway.stop();
    gateway.forceStop();
    await silent.waitForClose();
    await stopping;
    expect(await outcomePromise).toEqual({ kind: 'timedOut' });
  });
});
