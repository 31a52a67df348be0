import { createLogger } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';
import type { Outcome } from './device-command.ts';
import { DeviceCommandClient } from './device-command-client.ts';
import { DeviceCommandServer, type IncomingCommand } from './device-command-server.ts';
import { newImei, replyWith } from './testing/device-replies.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('broker-outage-test', 'silent');

describe('commands during a broker outage', () => {
  let nats: ServerProcess;
  let callerBus: Bus;
  let gatewayBus: Bus;
  let client: DeviceCommandClient;
  let server: DeviceCommandServer;
  let received: IncomingCommand[];
  let respond: (command: IncomingCommand) => Promise<Outcome>;
  const imei = newImei();

  beforeEach(async () => {
    nats = await (await ServerProcess.nats()).start();
    const url = `nats://127.0.0.1:${nats.port}`;
    [callerBus, gatewayBus] = await Promise.all([
      openBus(url, { name: 'outage-caller', log }),
      openBus(url, { name: 'outage-gateway', log }),
    ]);
    client = new DeviceCommandClient(callerBus);
    received = [];
    respond = async () => replyWith(1);
    server = new DeviceCommandServer(gatewayBus, {
      handler: (command) => {
        received.push(command);
        return respond(command);
      },
      onError: () => undefined,
    });
    server.subscribe(imei);
    await Promise.all([callerBus.nc.flush(), gatewayBus.nc.flush()]);
  });
  afterEach(async () => {
    client.stop();
    await server.stop();
    await Promise.all([callerBus.close(), gatewayBus.close()]);
    await nats.remove();
  });

  const sendCommand = (isClaimed = true, timeoutMs = 20_000): Promise<Outcome> =>
    client.send({
      imei,
      command: { kind: 'wakeUp' },
      correlationId: 'test',
      timeoutMs,
      isClaimed: async () => isClaimed,
    });
  const bothDown = () => waitFor(() => !callerBus.isUp() && !gatewayBus.isUp());

  /**
   * Sends commands during an outage that ends before they time out; repeated if a busy machine made the outage longer.
   */
  async function sendInShortOutage(): Promise<Outcome> {
    for (;;) {
      received.length = 0;
      await nats.kill();
      await bothDown();
      const lostAtMs = performance.now() - callerBus.downForMs();
      const pendingOutcome = sendCommand();
      await nats.start();
      await waitFor(() => callerBus.isUp() && gatewayBus.isUp());
      const isShort = performance.now() - lostAtMs < 1_900;
      const outcome = await pendingOutcome;
      if (isShort) return outcome;
    }
  }

  it('joins the retry to the first request, so that a reply sent during the outage arrives and the handler runs once', async () => {
    let release: (() => void) | undefined;
    respond = async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return replyWith(42);
    };
    const pendingOutcome = sendCommand();
    await waitFor(() => release !== undefined);
    await nats.kill();
    await bothDown();
    // Published without a connection: the client drops it silently.
    release?.();
    await waitFor(() => server.inFlight === 0);
    await nats.start();
    expect(await pendingOutcome).toEqual(replyWith(42));
    expect(received).toHaveLength(1);
  });

  it('joins 200 commands that are still pending at the terminal when the broker is back', async () => {
    const releases: (() => void)[] = [];
    respond = async ({ commandId }) => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { kind: 'unreadable', detail: commandId };
    };
    const pendingOutcome = Array.from({ length: 200 }, () => sendCommand());
    await waitFor(() => releases.length === 200);
    await nats.kill();
    await bothDown();
    await nats.start();
    await waitFor(() => callerBus.isUp() && gatewayBus.isUp());
    for (const release of releases) release();
    const details = (await Promise.all(pendingOutcome)).map((outcome) =>
      outcome.kind === 'unreadable' ? outcome.detail : '',
    );
    expect(new Set(details)).toEqual(new Set(received.map(({ commandId }) => commandId)));
    expect(received).toHaveLength(200);
  });

  it('sends a command of a short outage as a first request once the broker is back', async () => {
    expect(await sendInShortOutage()).toEqual(replyWith(1));
    expect(received).toMatchObject([{ isRetry: false }]);
  });

  it('sends a command that was lost with the broker as a first request if the gateway held the terminal throughout', async () => {
    const openedAt = performance.now();
    await waitFor(() => performance.now() - openedAt > 1_200);
    const pendingOutcome = sendCommand();
    await nats.kill();
    await bothDown();
    await nats.start();
    expect(await pendingOutcome).toEqual(replyWith(1));
    expect(received).toMatchObject([{ isRetry: false }]);
  });

  it('marks a command as a retry if the terminal connected since: another gateway may have sent it', async () => {
    const pendingOutcome = sendCommand();
    await nats.kill();
    await bothDown();
    server.unsubscribe(imei);
    server.subscribe(imei);
    await nats.start();
    expect(await pendingOutcome).toEqual(replyWith(1));
    expect(received).toMatchObject([{ isRetry: true }]);
  });

  it('ends as brokerAway after 2 s of an outage and immediately afterwards; a command sent before keeps waiting', async () => {
    respond = () => new Promise(() => undefined);
    const sent = sendCommand(true, 6_000);
    await waitFor(() => received.length === 1);
    await nats.kill();
    await bothDown();
    const startedAt = performance.now();
    expect(await sendCommand()).toEqual({ kind: 'brokerAway' });
    // Two seconds, not the twenty of the command.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    await waitFor(() => callerBus.downForMs() > 2_000);
    const tookMs: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const laterAt = performance.now();
      expect(await sendCommand()).toEqual({ kind: 'brokerAway' });
      tookMs.push(performance.now() - laterAt);
    }
    // The best of five: a busy machine may pause any one of them.
    expect(Math.min(...tookMs)).toBeLessThan(1_900);
    expect(await sent).toEqual({ kind: 'timedOut' });
    expect(client.inFlight).toBe(0);
  });

  it('survives a reply that arrives after the connection was closed', async () => {
    let release: (() => void) | undefined;
    respond = async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return replyWith(3);
    };
    const pendingOutcome = sendCommand(true, 1_000);
    await waitFor(() => release !== undefined);
    await gatewayBus.close();
    release?.();
    await waitFor(() => server.inFlight === 0);
    expect(await pendingOutcome).toEqual({ kind: 'timedOut' });
  });
});
