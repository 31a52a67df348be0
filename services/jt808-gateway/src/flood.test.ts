import { Worker } from 'node:worker_threads';
import { encodeFrame } from '@fleet/jt808';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { startGateway } from './testing/harness.ts';
import { RawTerminal, uniquePhone } from './testing/raw-terminal.ts';

// Real sockets, on a machine that may be busy.
jest.setTimeout(120_000);

const framesPerFlood = 1_000_000;

let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

/** Returns a wrong check byte, which needs no escape, and the end flag. */
const spoiledCheck = (frame: Buffer): Buffer => Buffer.of(frame.at(-2) === 0x11 ? 0x22 : 0x11, 0x7e);

/** Frames of the flood, by their defect. */
const floods = [
  ['with a wrong check byte', (frame: Buffer) => Buffer.concat([frame.subarray(0, -2), spoiledCheck(frame)])],
  ['of an unauthenticated terminal', (frame: Buffer) => frame],
] as const;

/** Starts a thread that repeats a frame at full speed until the connection ends. */
function flood(port: number, frame: Buffer): { done: Promise<number> } {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { connect } = require('node:net');
    const { port, frame, count } = workerData;
    const perWrite = 1000;
    const bytes = Buffer.concat(Array.from({ length: perWrite }, () => Buffer.from(frame)));
    const socket = connect({ port, host: '127.0.0.1' });
    let sent = 0;
    const send = () => {
      while (sent < count) {
        sent += perWrite;
        if (!socket.write(bytes)) return socket.once('drain', send);
      }
      socket.end();
    };
    socket.on('connect', send).on('error', () => undefined).on('data', () => undefined);
    socket.on('close', () => parentPort.postMessage(sent));`;
  const worker = new Worker(source, { eval: true, workerData: { port, frame, count: framesPerFlood } });
  return {
    done: new Promise((resolve, reject) => {
      worker.once('message', (sent: number) => resolve(sent));
      worker.once('error', reject);
    }),
  };
}

describe('connection that floods the gateway', () => {
  it.each(floods)(
    'closes a flood of frames %s and acknowledges another terminal within a second',
    async (_what, spoil) => {
      const healthy = await RawTerminal.login(gateway.jt808Port, uniquePhone());
      const frame = spoil(
        Buffer.from(encodeFrame({ messageId: 0x0200, phone: uniquePhone(), serial: 1, body: healthy.buildLocation() })),
      );
      const waits: number[] = [];
      const { done } = flood(gateway.jt808Port, frame);
      const flooding = { isOver: false };
      const sent = done.finally(() => {
        flooding.isOver = true;
      });
      while (!flooding.isOver || waits.length < 20) {
        const startedAt = performance.now();
        const serial = healthy.send(0x0200, healthy.buildLocation(waits.length));
        expect(await healthy.waitForResult(serial, 0x0200)).toBe(0);
        waits.push(performance.now() - startedAt);
      }
      waits.sort((left, right) => left - right);
      expect(waits.at(Math.ceil(waits.length * 0.99) - 1)).toBeLessThan(1_000);
      // The rest was not accepted.
      expect(await sent).toBeLessThan(framesPerFlood);
      healthy.socket.destroy();
    },
  );
});
