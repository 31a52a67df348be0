import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FileWriter } from '../uploads/file-writer.ts';
import type { Connection } from './ftp-srv-internals.ts';
import { Transfer } from './transfer.ts';

// Real sockets on a machine that may be busy.
jest.setTimeout(60_000);

let server: Server;
let port: number;
const sockets: Socket[] = [];
beforeAll(async () => {
  // Reads nothing, not even the end of the stream, until a test resumes the socket.
  server = createServer({ pauseOnConnect: true, allowHalfOpen: false }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as { port: number }).port;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  const closed = once(server, 'close');
  server.close();
  await closed;
});

/** Starts a transfer over a real data connection into memory. */
async function running() {
  const camera = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  sockets.push(camera, socket);
  const closed: (Error | null)[] = [];
  let bytes = 0;
  const writer = new FileWriter({
    file: {
      write: async (_buffer, _offset, length) => ({ bytesWritten: length }),
      datasync: async () => undefined,
      close: async () => undefined,
    },
    position: 0,
    getRemainingBytes: () => 1_000_000,
    onBytes: (count) => (bytes += count),
    onComplete: async () => undefined,
    onClosed: (error) => closed.push(error),
  });
  const connection = { connector: { dataSocket: socket, closeSocket: () => socket.destroy() } };
  const transfer = new Transfer(connection as unknown as Connection, writer, 60_000);
  return { camera, socket, writer, transfer, closed, bytes: () => bytes };
}

/** Blocks this process for the given time. */
function blockEventLoop(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

describe('transfer without a control connection', () => {
  it('accepts the data received while the process was blocked for longer than the grace period', async () => {
    const { camera, socket, writer, transfer, closed, bytes } = await running();
    camera.end(Buffer.alloc(1_000));
    await once(camera, 'finish');
    transfer.continueAfterControlLoss(20);
    socket.pipe(writer);
    blockEventLoop(200);
    await waitFor(() => closed.length > 0);
    expect([closed, bytes(), transfer.failure]).toEqual([[null], 1_000, null]);
  });

  it('accepts data in transit and aborts when no more arrives', async () => {
    const { camera, socket, writer, transfer, closed, bytes } = await running();
    socket.pipe(writer);
    transfer.continueAfterControlLoss(100);
    camera.write(Buffer.alloc(100));
    blockEventLoop(200);
    await waitFor(() => closed.length > 0);
    expect([bytes(), transfer.failure?.message]).toEqual([100, '426 The control connection was lost']);
    await waitFor(() => socket.destroyed);
  });

  it('aborts if no data arrives', async () => {
    const { socket, writer, transfer, closed } = await running();
    socket.pipe(writer);
    transfer.continueAfterControlLoss(20);
    await waitFor(() => closed.length > 0);
    expect(transfer.failure?.message).toBe('426 The control connection was lost');
  });
});
