import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeAfterUpgradeOffer, UpgradableRequest } from './http-upgrade.ts';

let server: Server;
const upgraded: (string | undefined)[] = [];
beforeAll(async () => {
  server = createServer({ IncomingMessage: UpgradableRequest });
  server.on('request', closeAfterUpgradeOffer);
  server.on('request', (request, response) => {
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

/** A connection that stores everything it has read. */
async function open(): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(socket, 'connect');
  return { socket, text: () => text };
}

/** Returns all responses on a connection that the server closes, in order of arrival. */
async function readResponses(socket: Socket, text: () => string): Promise<{ head: string; json: unknown }[]> {
  await once(socket, 'close');
  return [...text().matchAll(/(HTTP\/1\.1 .*?)\r\n\r\n(\{.*?\})/gs)].map(([, head = '', json = '']) => ({
    head,
    json: JSON.parse(json) as unknown,
  }));
}

describe('an offer of another protocol', () => {
  it('is ignored: the request gets its response, after earlier ones on the connection', async () => {
    const { socket, text } = await open();
    const plain = 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(`${plain}GET /two HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n${offer}\r\n`);
    const [one, two] = await readResponses(socket, text);
    expect(one).toMatchObject({ head: expect.stringContaining('keep-alive'), json: { path: '/one', body: '' } });
    expect(two?.json).toEqual({ path: '/two', body: '' });
    expect(text()).not.toContain('101');
  });

  it.each(['h2c', 'TLS/1.0'])(
    'ends the connection with its response, because Node.js drops later data: %s',
    async (protocol) => {
      const { socket, text } = await open();
      const head = `POST /one HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nContent-Length: 4\r\n\r\n`;
      socket.write(`${head}bodyGET /two HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(await readResponses(socket, text)).toEqual([
        { head: expect.stringMatching(/^Connection: close\r?$/m), json: { path: '/one', body: 'body' } },
      ]);
    },
  );

  it('leaves the body to the request, in any number of parts', async () => {
    const { socket, text } = await open();
    const head = `POST /body HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${offer}Content-Length: 10\r\n\r\n`;
    socket.write(`${head}01234`);
    setImmediate(() => socket.write('56789'));
    expect(await readResponses(socket, text)).toMatchObject([{ json: { path: '/body', body: '0123456789' } }]);
  });

  it('of a tunnel ends the connection: CONNECT is not supported', async () => {
    const { socket, text } = await open();
    socket.write('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n');
    await once(socket, 'close');
    expect(text()).toBe('');
  });

  it('of a websocket reaches the upgrade listener', async () => {
    const { socket, text } = await open();
    socket.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n');
    await once(socket, 'close');
    expect(text()).toMatch(/^HTTP\/1.1 101 /);
    expect(upgraded).toEqual(['WebSocket']);
  });
});
