import { createLogger } from '@fleet/service-kit';
import { testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Msg } from 'nats';
import { type Bus, openBus } from './connection.ts';
import { encodeJson, headerNames } from './contract.ts';
import { type DeviceCommand, deviceCommandSubject, type Outcome } from './device-command.ts';
import { DeviceCommandClient } from './device-command-client.ts';
import { DeviceCommandServer, type IncomingCommand } from './device-command-server.ts';
import { newImei, replyWith } from './testing/device-replies.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('device-command-test', 'silent');
const wakeUp: DeviceCommand = { kind: 'wakeUp' };
const live = (channel: number): DeviceCommand => ({
  kind: 'controlLive',
  channel,
  control: 0,
  closeType: 0,
  streamType: 0,
});

describe('a command to a terminal', () => {
  let callerBus: Bus;
  let gatewayBus: Bus;
  let client: DeviceCommandClient;

  beforeAll(async () => {
    const url = testEnv('NATS_URL');
    [callerBus, gatewayBus] = await Promise.all([
      openBus(url, { name: 'test-caller', log }),
      openBus(url, { name: 'test-gateway', log }),
    ]);
    client = new DeviceCommandClient(callerBus);
    await callerBus.nc.flush();
  });
  afterAll(async () => {
    client.stop();
    await Promise.all([callerBus.close(), gatewayBus.close()]);
  });

  const sendCommand = (
    imei: string,
    more: Partial<Parameters<DeviceCommandClient['send']>[0]> = {},
  ): Promise<Outcome> =>
    client.send({
      imei,
      command: wakeUp,
      correlationId: 'test',
      timeoutMs: 10_000,
      isClaimed: async () => false,
      ...more,
    });

  /** A gateway that holds the session of one terminal. */
  async function gateway(imei: string, handler: (command: IncomingCommand) => Promise<Outcome>) {
    const errors: unknown[] = [];
    const server = new DeviceCommandServer(gatewayBus, { handler, onError: (error) => errors.push(error) });
    server.subscribe(imei);
    await gatewayBus.nc.flush();
    return { server, errors };
  }

  /** Something else on the terminal's subject, which records what it gets. */
  async function raw(imei: string, onMessage: (message: Msg) => void): Promise<{ messages: Msg[]; end: () => void }> {
    const messages: Msg[] = [];
    const subscription = gatewayBus.nc.subscribe(deviceCommandSubject(imei), {
      callback: (_error, message) => {
        messages.push(message);
        onMessage(message);
      },
    });
    await gatewayBus.nc.flush();
    return { messages, end: () => subscription.unsubscribe() };
  }

  it('reaches the gateway with its ids and the remaining time, and returns the outcome', async () => {
    const imei = newImei();
    const received: IncomingCommand[] = [];
    const { server } = await gateway(imei, async (command) => {
      received.push(command);
      return replyWith(7);
    });
    expect(await sendCommand(imei, { command: live(3), correlationId: 'request-1' })).toEqual(replyWith(7));
    expect(received).toEqual([
      {
        imei,
        command: live(3),
        commandId: expect.stringMatching(/^[0-9a-f]{32}$/),
        correlationId: 'request-1',
        timeoutMs: expect.any(Number),
        isRetry: false,
      },
    ]);
    expect(client.inFlight).toBe(0);
    await server.stop();
  });

  it('keeps the Command-Id of its caller; a retry with the same id joins the first request', async () => {
    const imei = newImei();
    const id = 'ab'.repeat(16);
    const received: IncomingCommand[] = [];
    let finish: (outcome: Outcome) => void = () => undefined;
    const { server } = await gateway(imei, (command) => {
      received.push(command);
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    const first = sendCommand(imei, { identity: { id, isRetry: false } });
    await waitFor(() => received.length === 1);
    const second = sendCommand(imei, { identity: { id, isRetry: true } });
    await waitFor(() => client.inFlight === 2);
    await callerBus.nc.flush();
    finish(replyWith(9));
    expect(await Promise.all([first, second])).toEqual([replyWith(9), replyWith(9)]);
    expect(received).toMatchObject([{ commandId: id, isRetry: false }]);
    const other = 'cd'.repeat(16);
    const lateOutcome = sendCommand(imei, { identity: { id: other, isRetry: true } });
    await waitFor(() => received.length === 2);
    finish(replyWith(1));
    await lateOutcome;
    expect(received[1]).toMatchObject({ commandId: other, isRetry: true });
    await server.stop();
  });

  it('ends as notConnected immediately if no gateway holds the terminal', async () => {
    const tookMs: number[] = [];
    for (let i = 0; i < 50 && (tookMs.at(-1) ?? 100) >= 100; i += 1) {
      const startedAt = performance.now();
      expect(await sendCommand(newImei())).toEqual({ kind: 'notConnected' });
      tookMs.push(performance.now() - startedAt);
    }
    // The best of several tries: a busy machine may pause any one of them.
    expect(Math.min(...tookMs)).toBeLessThan(100);
  });

  it('is sent again as a first request if a live gateway claims the terminal and subscribes late', async () => {
    const imei = newImei();
    let claimChecks = 0;
    const pendingOutcome = sendCommand(imei, { isClaimed: async () => (claimChecks += 1) > 0 });
    await waitFor(() => claimChecks >= 3);
    const received: IncomingCommand[] = [];
    const { server } = await gateway(imei, async (command) => {
      received.push(command);
      return replyWith(1);
    });
    expect(await pendingOutcome).toEqual(replyWith(1));
    expect(received).toMatchObject([{ isRetry: false }]);
    await server.stop();
  });

  it('ends as notConnected after 5 s if the claim has no gateway, or the state cannot be read', async () => {
    const startedAt = performance.now();
    const outcomes = await Promise.all([
      sendCommand(newImei(), { timeoutMs: 40_000, isClaimed: async () => true }),
      sendCommand(newImei(), { timeoutMs: 40_000, isClaimed: () => Promise.reject(new Error('Redis is away')) }),
      sendCommand(newImei(), { timeoutMs: 40_000, isClaimed: () => new Promise<boolean>(() => undefined) }),
    ]);
    expect(outcomes).toEqual(outcomes.map(() => ({ kind: 'notConnected' })));
    expect(performance.now() - startedAt).toBeGreaterThan(4_900);
    // Far below the 40 s time-out of the command.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it('waits for a claimed terminal up to returnWaitMs and reaches the gateway to which it returns', async () => {
    const imei = newImei();
    const waitingClient = new DeviceCommandClient(callerBus, { returnTimeoutMs: 30_000 });
    const startedAt = performance.now();
    const pendingOutcome = waitingClient.send({
      imei,
      command: wakeUp,
      correlationId: 'test',
      timeoutMs: 40_000,
      isClaimed: async () => true,
    });
    await waitFor(() => performance.now() - startedAt > 5_500);
    const { server } = await gateway(imei, async () => replyWith(3));
    expect(await pendingOutcome).toEqual(replyWith(3));
    await server.stop();
    waitingClient.stop();
  });

  it('ends as notConnected if its time-out passes before a claimed terminal returns', async () => {
    expect(await sendCommand(newImei(), { timeoutMs: 1_000, isClaimed: async () => true })).toEqual({
      kind: 'notConnected',
    });
  });

  it('times out after retries with the same Command-Id, marked as retries, with less time each', async () => {
    const imei = newImei();
    const { messages, end } = await raw(imei, () => undefined);
    expect(await sendCommand(imei, { timeoutMs: 3_400 })).toEqual({ kind: 'timedOut' });
    // The caller may time out before the second request reaches the other connection.
    await waitFor(() => messages.length >= 2);
    const header = (name: string) => messages.map((message) => message.headers?.get(name));
    expect(header(headerNames.retry)).toEqual(['', '1']);
    const [first, second] = header(headerNames.commandId);
    expect(first).toBe(second);
    const [before = 0, after = 0] = header(headerNames.timeoutMs).map(Number);
    expect(before).toBeLessThanOrEqual(3_400);
    expect(after).toBeLessThanOrEqual(500);
    expect(client.inFlight).toBe(0);
    end();
  });

  it.each([
    ['not JSON', Buffer.from('garbage')],
    ['no outcome', encodeJson({ kind: 'answered' })],
    ['empty', Buffer.alloc(0)],
  ])('ends as unreadable if the reply is %s', async (_case, bytes) => {
    const imei = newImei();
    const { end } = await raw(imei, (message) => void message.respond(bytes));
    expect(await sendCommand(imei)).toMatchObject({ kind: 'unreadable' });
    end();
  });

  it('stays separate from another command with the same correlation id', async () => {
    const imei = newImei();
    const ids = new Set<string>();
    const { server } = await gateway(imei, async ({ command, commandId }) => {
      ids.add(commandId);
      return replyWith(command.kind === 'controlLive' ? command.channel : -1);
    });
    const outcomes = await Promise.all([1, 2].map((channel) => sendCommand(imei, { command: live(channel) })));
    expect(outcomes).toEqual([replyWith(1), replyWith(2)]);
    expect(ids.size).toBe(2);
    await server.stop();
  });

  it('is rejected before the handler if it is invalid', async () => {
    const imei = newImei();
    let handled = 0;
    const { server } = await gateway(imei, async () => replyWith((handled += 1)));
    expect(await sendCommand(imei, { command: live(256) })).toMatchObject({ kind: 'refused', isOurFault: true });
    const unheaded = await callerBus.nc.request(deviceCommandSubject(imei), encodeJson(wakeUp), { timeout: 20_000 });
    expect(unheaded.json()).toMatchObject({ kind: 'refused' });
    const noJson = await callerBus.nc.request(deviceCommandSubject(imei), Buffer.from('{'), { timeout: 20_000 });
    expect(noJson.json()).toMatchObject({ kind: 'refused' });
    expect(handled).toBe(0);
    await server.stop();
  });

  it('is rejected as a gateway fault if the handler fails, synchronously or not', async () => {
    const imei = newImei();
    const { server, errors } = await gateway(imei, () => {
      throw new Error('not even a promise');
    });
    expect(await sendCommand(imei)).toMatchObject({ kind: 'refused', isOurFault: true });
    expect(errors).toHaveLength(1);
    expect(server.inFlight).toBe(0);
    await server.stop();
  });

  it('receives its own reply among 500 pending commands to 50 terminals', async () => {
    const imeis = Array.from({ length: 50 }, newImei);
    const waiting: (() => void)[] = [];
    const server = new DeviceCommandServer(gatewayBus, {
      handler: async ({ imei, command }) => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return replyWith(imeis.indexOf(imei) * 256 + (command.kind === 'controlLive' ? command.channel : -1));
      },
      onError: () => undefined,
    });
    for (const imei of imeis) server.subscribe(imei);
    await gatewayBus.nc.flush();
    const pendingOutcomes = imeis.flatMap((imei, device) =>
      Array.from({ length: 10 }, async (_unused, channel) => {
        expect(await sendCommand(imei, { command: live(channel) })).toEqual(replyWith(device * 256 + channel));
      }),
    );
    await waitFor(() => waiting.length === 500);
    expect([client.inFlight, server.inFlight]).toEqual([500, 500]);
    for (const release of waiting.toReversed()) release();
    await Promise.all(pendingOutcomes);
    expect([client.inFlight, server.inFlight]).toEqual([0, 0]);
    await server.stop();
  });

  it('still receives its reply if the session ends before; the next command finds no gateway', async () => {
    const imei = newImei();
    const releases: (() => void)[] = [];
    const { server } = await gateway(imei, async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return replyWith(5);
    });
    const pendingOutcome = sendCommand(imei);
    await waitFor(() => releases.length === 1);
    server.unsubscribe(imei);
    await gatewayBus.nc.flush();
    expect(await sendCommand(imei)).toEqual({ kind: 'notConnected' });
    releases[0]?.();
    expect(await pendingOutcome).toEqual(replyWith(5));
    await server.stop();
  });

  it('reaches the handler if the session ends while the broker delivers the command', async () => {
    const tookMs: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const imei = newImei();
      const { server } = await gateway(imei, async () => ({ kind: 'notConnected' }));
      // Both are on their way to the broker at the same time: the caller is notified immediately in either order.
      const pendingOutcome = sendCommand(imei);
      server.unsubscribe(imei);
      const startedAt = performance.now();
      expect(await pendingOutcome).toEqual({ kind: 'notConnected' });
      tookMs.push(performance.now() - startedAt);
      await server.stop();
    }
    // Far below the 5 s of a claimed terminal; the best of three, as a busy machine may pause any one of them.
    expect(Math.min(...tookMs)).toBeLessThan(4_000);
  });

  it('is handled once if the terminal is opened twice', async () => {
    const imei = newImei();
    let handled = 0;
    const { server } = await gateway(imei, async () => replyWith((handled += 1)));
    server.subscribe(imei);
    await gatewayBus.nc.flush();
    expect(await sendCommand(imei)).toEqual(replyWith(1));
    expect(handled).toBe(1);
    await server.stop();
  });

  it('ends as timed out if the client stops', async () => {
    const own = new DeviceCommandClient(callerBus);
    const imei = newImei();
    const { messages, end } = await raw(imei, () => undefined);
    const pendingOutcome = own.send({
      imei,
      command: wakeUp,
      correlationId: 'x',
      timeoutMs: 60_000,
      isClaimed: async () => false,
    });
    await waitFor(() => messages.length === 1);
    own.stop();
    expect(await pendingOutcome).toEqual({ kind: 'timedOut' });
    end();
  });
});
