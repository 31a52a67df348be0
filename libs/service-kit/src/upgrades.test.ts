import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WebsocketOrPlain } from './upgrades.ts';

let server: Server;
const upgraded: (string | undefined)[] = [];
beforeAll(async () => {
  server = createServer({ IncomingMessage: WebsocketOrPlain }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () =>
      response.end(JSON.stringify({ path: request.url, body: Buffer.concat(chunks).toString() })),
    );
  });
  server.on('upgrade', (request, socket) => {
    upgraded.push(request.headers.upgrade);
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const offer = 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';

/** A connection that keeps what it has read. */
async function open(): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(socket, 'connect');
  return { socket, text: () => text };
}

async function answers(socket: Socket, text: () => string, count: number): Promise<unknown[]> {
  const found = () => [...text().matchAll(/\r\n\r\n(\{.*?\})/g)].map(([, json = '']) => JSON.parse(json) as unknown);
  while (found().length < count) await once(socket, 'data');
  return found();
}

describe('an offer of another protocol', () => {
  it('is not taken up: the request is answered, and those behind it on the connection', async () => {
    const { socket, text } = await open();
    socket.write(`GET /one HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n${offer}\r\n`);
    expect(await answers(socket, text, 1)).toEqual([{ path: '/one', body: '' }]);
    socket.write(`GET /two HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${offer}\r\n`);
    expect(await answers(socket, text, 2)).toMatchObject([{ path: '/one' }, { path: '/two' }]);
    socket.write('GET /three HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await answers(socket, text, 3)).toMatchObject([{ path: '/one' }, { path: '/two' }, { path: '/three' }]);
    expect(text()).not.toContain('101');
    socket.destroy();
  });

  it('leaves the body to the request, however it comes', async () => {
    const { socket, text } = await open();
    const head = `POST /body HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\n${offer}Content-Length: 10\r\n\r\n`;
    socket.write(`${head}01234`);
    setImmediate(() => socket.write('56789'));
    expect(await answers(socket, text, 1)).toMatchObject([{ path: '/body', body: '0123456789' }]);
    await once(socket, 'close');
  });

  it('of a websocket is for who listens', async () => {
    const { socket, text } = await open();
    socket.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n');
    await once(socket, 'close');
    expect(text()).toMatch(/^HTTP\/1.1 101 /);
    expect(upgraded).toEqual(['WebSocket']);
  });
});
