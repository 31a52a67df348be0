import { connect, type Socket } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { countStatuses, Fleet, isApiError } from './testing/fleet.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { openTcpFragmenter } from './testing/tcp-fragmenter.ts';

const loginTimeoutMs = 5_000;

let harness: ProductHarness;
let fleet: Fleet;

beforeAll(async () => {
  harness = await startHarness({
    LOGIN_TIMEOUT_MS: String(loginTimeoutMs),
    DEVICE_REPLY_TIMEOUT_MS: '15000',
    REQUEST_TIMEOUT_MS: '20000',
  });
  fleet = await Fleet.start(harness, 10);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

/** Asserts that the regular terminals are unaffected: they reply, and each still has its first connection. */
const expectOthersUnaffected = async (no: number): Promise<void> => {
  expect(countStatuses(await Promise.all(fleet.sendCommands(no)))).toEqual({ 200: 10 });
  for (const terminal of fleet.terminals) expect(terminal.frames.at(-1)?.connection).toBe(1);
};

describe('a terminal that never reads', () => {
  it('is disconnected before its backlog grows large, its commands end with an ApiError, and other terminals are unaffected', async () => {
    const terminal = await harness.startTerminal({ reconnect: false });
    terminal.setBehaviour({ kind: 'neverReading' });
    const commands = Array.from({ length: 10 }, (_, index) =>
      harness.get(`/realtime/control-stream?imei=${terminal.phone}&channel=${index + 1}&ctrl_instruction=2`),
    );
    const [heartbeat] = terminal.send({ messageId: 0x0002, body: Buffer.alloc(0) });
    if (heartbeat === undefined) throw new Error('the terminal has no connection');
    // Each heartbeat causes an acknowledgement that stays unread; the operating system buffers some megabytes of them.
    const many = Buffer.concat(Array.from({ length: 10_000 }, () => heartbeat.wire));
    let sentBytes = 0;
    await waitFor(
      () => {
        if (!terminal.isOnline) return true;
        terminal.sendRaw(many);
        sentBytes += many.length;
        return sentBytes > 64_000_000;
      },
      'the gateway to close the connection',
      60_000,
    );
    expect(terminal.isOnline).toBe(false);
    for (const { status, body } of await Promise.all(commands)) {
      expect([404, 504]).toContain(status);
      expect(isApiError(body, status)).toBe(true);
    }
    await waitFor(
      async () => (await harness.get(`/health/device?imei=${terminal.phone}`)).status === 503,
      'the terminal to be reported as disconnected',
    );
    await expectOthersUnaffected(1);
  }, 120_000);
});

describe('a terminal whose network carries single bytes', () => {
  it('registers, reports and accepts commands like any other', async () => {
    const fragmenter = await openTcpFragmenter(harness.product.runtime.jt808);
    try {
      const fragmentedFleet = await Fleet.start(harness, 1, { host: '127.0.0.1', port: fragmenter.port });
      const calls = await Promise.all(fragmentedFleet.sendCommands(1, 2, 3, 4, 5));
      expect(countStatuses(calls)).toEqual({ 200: 5 });
      await waitFor(() => fragmentedFleet.terminals.every(({ reports }) => reports.length >= 5), 'some reports');
      await fragmentedFleet.waitUntilAcknowledged();
      const { lost, storedCount } = await fragmentedFleet.compareWithJetStream();
      expect(lost).toEqual([]);
      expect(storedCount).toBeGreaterThanOrEqual(5);
      expect(fragmenter.carried()).toBeGreaterThan(500);
      await Promise.all(fragmentedFleet.terminals.map((terminal) => terminal.stop()));
    } finally {
      fragmenter.stop();
    }
  }, 60_000);
});

describe('connections that never register', () => {
  it('are closed after a timeout, silent or sending single bytes, and other terminals are unaffected', async () => {
    const { host, port } = harness.product.runtime.jt808;
    const closed = new Set<Socket>();
    const sockets = Array.from({ length: 50 }, () => {
      const socket = connect({ host, port });
      socket.on('error', () => socket.destroy());
      socket.on('close', () => closed.add(socket));
      socket.resume();
      return socket;
    });
    // Half of them send the beginning of a frame, byte by byte.
    const sendSlowly = setInterval(() => {
      for (const [index, socket] of sockets.entries()) if (index % 2 === 0 && !socket.destroyed) socket.write('~');
    }, 200);
    try {
      await expectOthersUnaffected(2);
      await waitFor(() => closed.size === sockets.length, 'the gateway to close all of them', loginTimeoutMs + 30_000);
    } finally {
      clearInterval(sendSlowly);
    }
    expect(closed.size).toBe(50);
    await expectOthersUnaffected(3);
  }, 90_000);
});
