import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { countStatuses, Fleet, isApiError } from './testing/fleet.ts';
import { openSlicer } from './testing/slicer.ts';
import { until } from './testing/until.ts';
import { startWorld, type World } from './testing/world.ts';

const loginTimeoutMs = 5_000;

let world: World;
let fleet: Fleet;

beforeAll(async () => {
  world = await startWorld({
    LOGIN_TIMEOUT_MS: String(loginTimeoutMs),
    DEVICE_REPLY_TIMEOUT_MS: '15000',
    REQUEST_LIMIT_MS: '20000',
  });
  fleet = await Fleet.start(world, 10);
}, 180_000);

afterAll(() => world.stop(), 60_000);

/** The good terminals have noticed nothing: they answer, and each still has its first connection. */
const expectOthersUnaffected = async (no: number): Promise<void> => {
  expect(countStatuses(await Promise.all(fleet.call(no)))).toEqual({ 200: 10 });
  for (const terminal of fleet.terminals) expect(terminal.frames.at(-1)?.connection).toBe(1);
};

describe('a terminal that never reads', () => {
  it('is disconnected before what waits for it grows large, its commands end with a stated error, and nobody else notices', async () => {
    const terminal = await world.terminal({ reconnect: false });
    terminal.behave({ kind: 'neverReading' });
    const commands = Array.from({ length: 10 }, (_, index) =>
      world.get(`/realtime/control-stream?imei=${terminal.phone}&channel=${index + 1}&ctrl_instruction=2`),
    );
    const [heartbeat] = terminal.send({ messageId: 0x0002, body: Buffer.alloc(0) });
    if (heartbeat === undefined) throw new Error('the terminal has no connection');
    // Each costs an acknowledgement, which stays unread; the system itself takes some megabytes of them.
    const many = Buffer.concat(Array.from({ length: 10_000 }, () => heartbeat.wire));
    let sentBytes = 0;
    await until(
      'the gateway to close the connection',
      () => {
        if (!terminal.isOnline) return true;
        terminal.sendRaw(many);
        sentBytes += many.length;
        return sentBytes > 64_000_000;
      },
      60_000,
    );
    expect(terminal.isOnline).toBe(false);
    for (const { status, body } of await Promise.all(commands)) {
      expect([404, 504]).toContain(status);
      expect(isApiError(body, status)).toBe(true);
    }
    await until(
      'the terminal to be called absent',
      async () => (await world.get(`/health/device?imei=${terminal.phone}`)).status === 503,
    );
    await expectOthersUnaffected(1);
  }, 120_000);
});

describe('a terminal whose network carries single bytes', () => {
  it('registers, reports and takes commands as any other', async () => {
    const slicer = await openSlicer(world.product.runtime.jt808);
    try {
      const sliced = await Fleet.start(world, 1, { host: '127.0.0.1', port: slicer.port });
      const calls = await Promise.all(sliced.call(1, 2, 3, 4, 5));
      expect(countStatuses(calls)).toEqual({ 200: 5 });
      await until('some reports', () => sliced.terminals.every(({ reports }) => reports.length >= 5));
      await sliced.haveReported();
      const { lost, kept } = await sliced.compareWithJetStream();
      expect(lost).toEqual([]);
      expect(kept).toBeGreaterThanOrEqual(5);
      expect(slicer.carried()).toBeGreaterThan(500);
      await Promise.all(sliced.terminals.map((terminal) => terminal.stop()));
    } finally {
      slicer.stop();
    }
  }, 60_000);
});

describe('connections that never register', () => {
  it('are closed after a while, silent ones and those that dribble, and nobody else notices', async () => {
    const { host, port } = world.product.runtime.jt808;
    const closed = new Set<Socket>();
    const sockets = Array.from({ length: 50 }, () => {
      const socket = connect({ host, port });
      socket.on('error', () => socket.destroy());
      socket.on('close', () => closed.add(socket));
      socket.resume();
      return socket;
    });
    // Half of them say something, one byte of a frame's beginning after the other.
    const dribble = setInterval(() => {
      for (const [index, socket] of sockets.entries()) if (index % 2 === 0 && !socket.destroyed) socket.write('~');
    }, 200);
    try {
      await expectOthersUnaffected(2);
      await until('the gateway to close all of them', () => closed.size === sockets.length, loginTimeoutMs + 30_000);
    } finally {
      clearInterval(dribble);
    }
    expect(closed.size).toBe(50);
    await expectOthersUnaffected(3);
  }, 90_000);
});
