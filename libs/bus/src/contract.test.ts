import { createLogger } from '@fleet/service-kit';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createInbox } from 'nats';
import { Type } from 'typebox';
import { type Bus, openBus } from './connection.ts';
import { defineEvent, defineRequest, encodeJson, publish, request, serve, subscribe } from './contract.ts';
import { pingService, servePing } from './ping.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('bus-test', 'silent');
const subject = (name: string): string => `test.${createInbox().slice(7)}.${name}`;
const double = (name = 'double') =>
  defineRequest({
    subject: subject(name),
    request: Type.Object({ number: Type.Integer() }),
    reply: Type.Object({ doubled: Type.Integer() }),
  });

describe('request and reply by contract', () => {
  let bus: Bus;
  let other: Bus;
  const errors: unknown[] = [];
  const options = { queue: 'test', onError: (error: unknown) => void errors.push(error) };

  beforeAll(async () => {
    [bus, other] = await Promise.all([
      openBus(testEnv('NATS_URL'), { name: 'contract-test', log }),
      openBus(testEnv('NATS_URL'), { name: 'contract-test-2', log }),
    ]);
  });
  afterAll(() => Promise.all([bus.close(), other.close()]));

  it('returns the result of the handler, which receives the correlation id and the remaining time', async () => {
    const contract = double();
    const contexts: unknown[] = [];
    const served = serve(bus, contract, options, async ({ number }, context) => {
      contexts.push(context);
      return { doubled: number * 2 };
    });
    await bus.nc.flush();
    const requestOptions = { timeoutMs: 5_234.5, correlationId: 'abc' };
    expect(await request(other, contract, { number: 4 }, requestOptions)).toEqual({ doubled: 8 });
    expect(contexts).toEqual([{ correlationId: 'abc', timeoutMs: expect.any(Number) }]);
    await served.stop();
  });

  it('rejects a request that breaks the schema without details for the caller', async () => {
    const contract = double();
    let handled = 0;
    const served = serve(bus, contract, options, async () => ({ doubled: (handled += 1) }));
    await bus.nc.flush();
    const wrong = { number: 'four' } as unknown as { number: number };
    await expect(request(other, contract, wrong, { timeoutMs: 20_000 })).rejects.toMatchObject({
      kind: 'failed',
      message: `${contract.subject} failed.`,
    });
    await expect(request(other, { ...contract }, Number.NaN as never, { timeoutMs: 20_000 })).rejects.toMatchObject({
      kind: 'failed',
    });
    expect(handled).toBe(0);
    expect(String(errors.at(-1))).toContain('invalid request');
    await served.stop();
  });

  it('hides the error of a handler from the caller', async () => {
    const contract = double();
    const served = serve(bus, contract, options, async () => {
      throw new Error('password of the database');
    });
    await bus.nc.flush();
    const failure = await request(other, contract, { number: 1 }, { timeoutMs: 20_000 }).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ name: 'BusError', kind: 'failed' });
    expect(String(failure)).not.toContain('password');
    expect(String(errors.at(-1))).toContain('password of the database');
    await served.stop();
  });

  it('rejects a reply of the handler that breaks the contract', async () => {
    const contract = double();
    const served = serve(bus, contract, options, async () => ({ doubled: 'eight' }) as never);
    await bus.nc.flush();
    await expect(request(other, contract, { number: 1 }, { timeoutMs: 20_000 })).rejects.toMatchObject({
      kind: 'failed',
    });
    expect(String(errors.at(-1))).toContain('invalid reply');
    await served.stop();
  });

  it.each([
    ['not JSON', Buffer.from('hello')],
    ['empty', Buffer.alloc(0)],
    ['of the wrong shape', encodeJson({ doubled: null })],
  ])('reports a reply as invalid that is %s', async (_case, bytes) => {
    const contract = double();
    const foreign = bus.nc.subscribe(contract.subject, { callback: (_error, message) => message.respond(bytes) });
    await bus.nc.flush();
    await expect(request(other, contract, { number: 1 }, { timeoutMs: 20_000 })).rejects.toMatchObject({
      name: 'BusError',
      kind: 'invalid',
    });
    foreign.unsubscribe();
  });

  it('distinguishes "no responders" from a time-out', async () => {
    const contract = double();
    const startedAt = performance.now();
    await expect(request(other, contract, { number: 1 }, { timeoutMs: 30_000 })).rejects.toMatchObject({
      kind: 'noResponders',
    });
    // Far below the 30 s of a time-out.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    const silent = bus.nc.subscribe(contract.subject, { callback: () => undefined });
    await bus.nc.flush();
    await expect(request(other, contract, { number: 1 }, { timeoutMs: 100 })).rejects.toMatchObject({
      kind: 'timedOut',
    });
    silent.unsubscribe();
  });

  it('finishes pending requests when it stops and accepts no new ones', async () => {
    const contract = double();
    const started: (() => void)[] = [];
    const served = serve(bus, contract, options, async ({ number }) => {
      await new Promise<void>((resolve) => started.push(resolve));
      return { doubled: number * 2 };
    });
    await bus.nc.flush();
    const reply = request(other, contract, { number: 3 }, { timeoutMs: 20_000 });
    await waitFor(() => started.length === 1);
    const stopped = served.stop();
    started[0]?.();
    expect(await reply).toEqual({ doubled: 6 });
    await stopped;
    await expect(request(other, contract, { number: 3 }, { timeoutMs: 20_000 })).rejects.toMatchObject({
      kind: 'noResponders',
    });
  });

  it('publishes to all subscribers and filters malformed messages', async () => {
    const event = defineEvent({ subject: subject('told'), schema: Type.Object({ what: Type.String() }) });
    const received: string[] = [];
    const faults: unknown[] = [];
    const listeners = [bus, other].map((each) =>
      subscribe(
        each,
        event,
        (error) => faults.push(error),
        ({ what }) => received.push(what),
      ),
    );
    await Promise.all([bus.nc.flush(), other.nc.flush()]);
    bus.nc.publish(event.subject, Buffer.from('{'));
    bus.nc.publish(event.subject, encodeJson({ what: 1 }));
    publish(bus, event, { what: 'news' });
    await waitFor(() => received.length === 2);
    expect(received).toEqual(['news', 'news']);
    expect(faults).toHaveLength(4);
    for (const listener of listeners) listener.stop();
  });

  it('pings a service: absent, broken, working', async () => {
    const name = subject('service');
    expect(await pingService(other, name, 20_000)).toBe(false);
    let isWorking = false;
    const ping = servePing(bus, name, { onError: options.onError, isWorking: () => isWorking });
    await bus.nc.flush();
    expect(await pingService(other, name, 20_000)).toBe(false);
    isWorking = true;
    expect(await pingService(other, name, 20_000)).toBe(true);
    await ping.stop();
  });
});

describe('a bus during a broker outage', () => {
  it('delays requests during a short outage, fails them during a long one, and closes without hanging', async () => {
    const nats = await (await ServerProcess.nats()).start();
    const url = `nats://127.0.0.1:${nats.port}`;
    const [bus, server] = await Promise.all([
      openBus(url, { name: 'outage-test', log }),
      openBus(url, { name: 'outage-test-server', log }),
    ]);
    const contract = double();
    const served = serve(server, contract, { queue: 'test', onError: () => undefined }, async ({ number }) => ({
      doubled: number * 2,
    }));
    let reconnects = 0;
    bus.onReconnect(() => {
      throw new Error('a listener of another part');
    });
    const off = bus.onReconnect(() => (reconnects += 1));
    try {
      let outages = 0;
      let reply: unknown;
      // Repeated if a busy machine made the outage longer than requests wait.
      for (let isShort = false; !isShort; outages += 1) {
        await nats.kill();
        await waitFor(() => !bus.isUp() && !server.isUp());
        expect(bus.downForMs()).toBeGreaterThan(0);
        const lostAtMs = performance.now() - bus.downForMs();
        const duringOutage = request(bus, contract, { number: 5 }, { timeoutMs: 20_000 }).catch(
          (error: unknown) => error,
        );
        await nats.start();
        await waitFor(() => bus.isUp() && server.isUp());
        reply = await duringOutage;
        isShort = performance.now() - lostAtMs < 1_900;
      }
      // The server may return after the caller: the caller then receives "no responders".
      expect([{ doubled: 10 }, expect.objectContaining({ kind: 'noResponders' })]).toContainEqual(reply);
      // Connected does not mean subscribed: the broker may learn of the server's subscription a moment later.
      await server.nc.flush();
      expect(await request(bus, contract, { number: 6 }, { timeoutMs: 20_000 })).toEqual({ doubled: 12 });
      expect(bus.downForMs()).toBe(0);
      expect(reconnects).toBe(outages);
      off();

      await nats.kill();
      await waitFor(() => !bus.isUp());
      await expect(request(bus, contract, { number: 1 }, { timeoutMs: 300 })).rejects.toMatchObject({
        kind: 'disconnected',
      });
      const startedAt = performance.now();
      await served.stop();
      await Promise.all([bus.close(), server.close()]);
      // It would never end if it waited for the broker.
      expect(performance.now() - startedAt).toBeLessThan(30_000);
      await expect(request(bus, contract, { number: 1 }, { timeoutMs: 300 })).rejects.toMatchObject({
        kind: 'disconnected',
      });
    } finally {
      await Promise.all([bus.close(), server.close()]);
      await nats.remove();
    }
  });

  it('closes within its time-out if the broker is killed at the same time', async () => {
    const nats = await (await ServerProcess.nats()).start();
    const bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'close-test', log });
    bus.nc.subscribe('a.*', { callback: () => undefined });
    const closing = bus.close();
    await nats.kill();
    await closing;
    expect(bus.nc.isClosed()).toBe(true);
    await nats.remove();
  });

  it('waits for a broker that starts after the service', async () => {
    const nats = await ServerProcess.nats();
    const opening = openBus(`nats://127.0.0.1:${nats.port}`, { name: 'late-test', log });
    await nats.start();
    const bus = await opening;
    expect(bus.isUp()).toBe(true);
    await bus.close();
    await nats.remove();
  });

  it('reads credentials from the URL', async () => {
    const nats = await (await ServerProcess.nats(['--user', 'fleet', '--pass', 'p@ss'])).start();
    const bus = await openBus(`nats://fleet:p%40ss@127.0.0.1:${nats.port}`, { name: 'credentials-test', log });
    expect(bus.isUp()).toBe(true);
    await bus.close();
    await nats.remove();
  });
});
