import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { afterEach, expect, it, jest } from '@jest/globals';
import type { WebSocket } from 'ws';
import { ClientInbox } from './client-inbox.ts';
import type { ClientMessage } from './client-messages.ts';
import { Connection } from './connection.ts';
import { Stats } from './stats.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

/** A connection whose client sends a message each half second, within the limit. */
function openInbox(handle: (message: ClientMessage) => Promise<void>) {
  let nowMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const stats = new Stats();
  const ws = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: () => undefined,
    close: () => (ws.readyState = 2),
  });
  const connection = new Connection(ws as unknown as WebSocket, new EventEmitter() as Duplex, stats);
  const onError = (error: unknown) => {
    throw error;
  };
  const inbox = new ClientInbox(ws as unknown as WebSocket, connection, { stats, handle, onError });
  const say = (): void => {
    nowMs += 500;
    ws.emit('message', Buffer.from('{"type":"ping"}'), false);
  };
  return { inbox, connection, stats, say };
}

it('limits the waiting messages of a client that does not read responses', () => {
  const { inbox, connection, stats, say } = openInbox(() => new Promise(() => undefined));
  inbox.start();
  let said = 0;
  for (; connection.isOpen && said < 10_000; said += 1) say();
  expect(said).toBe(61);
  expect([...stats.closed]).toEqual([['1013', 1]]);
});

it('permits a client with prompt responses to continue forever', async () => {
  let handled = 0;
  const { inbox, connection, say } = openInbox(async () => void (handled += 1));
  inbox.start();
  for (let said = 1; said <= 200; said += 1) {
    say();
    // Pending work is done first.
    await new Promise(setImmediate);
    expect(handled).toBe(said);
  }
  expect(connection.isOpen).toBe(true);
});
