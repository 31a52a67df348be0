import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestListener, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createReverseProxy, isDeviceApiPath, originForm } from './proxy.ts';

// Uses real processes and sockets on a machine that may be busy; no test depends on timing.
jest.setTimeout(60_000);

const servers: Server[] = [];
let reports: string[];
let onDeviceApi: RequestListener;
let deviceApi: Server;
let platformApi: Server;
let base: string;

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(async () => {
  reports = [];
  onDeviceApi = (_req, res) => res.end('device-api');
  deviceApi = createServer((req, res) => onDeviceApi(req, res));
  platformApi = createServer((_req, res) => res.end('platform-api'));
  const targets = { deviceApi: await listen(deviceApi), platformApi: await listen(platformApi) };
  base = await listen(createReverseProxy(targets, (line) => reports.push(line)));
});

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map(close));
});

async function open(path: string): Promise<IncomingMessage> {
  const [response] = (await once(get(base + path), 'response')) as [IncomingMessage];
  return response;
}

describe('path rules', () => {
  it.each([
    ['/api/v1', true],
    ['/api/v1/health?imei=1', true],
    ['/api/v1?x', true],
    ['/api/v10/health', false],
    ['/api/vehicles', false],
    ['/', false],
    ['/?next=/api/v1/', false],
    ['/api/device/sendInstruct', true],
    ['/api/device/sendInstruct?x=1', true],
    ['/api/device/sendInstruct/', false],
    ['/api/devices/partner/pushgps', false],
    ['/API/v1/health', false],
  ])('%s goes to device-api: %s', (url, expected) => {
    expect(isDeviceApiPath(url)).toBe(expected);
  });

  it('accepts a request target in absolute form', () => {
    expect(originForm('http://fleet.example/api/v1/health?x=1')).toBe('/api/v1/health?x=1');
    expect(originForm('http://fleet.example')).toBe('/');
    expect(originForm('/plain?u=http://x/')).toBe('/plain?u=http://x/');
  });

  it('forwards each request to its service', async () => {
    expect(await (await fetch(`${base}/api/v1/health`)).text()).toBe('device-api');
    expect(await (await fetch(`${base}/api/vehicles`)).text()).toBe('platform-api');
  });
});

describe('the reverse proxy', () => {
  it("keeps idle connections open for longer than its clients, whatever the service's keep-alive hint", async () => {
    const hinting: RequestListener = (_req, res) => res.setHeader('keep-alive', 'timeout=600').end('x');
    onDeviceApi = hinting;
    const [proxy] = servers.slice(-1);
    expect(proxy?.keepAliveTimeout).toBe(65_000);
    expect((await fetch(`${base}/api/v1/health`)).headers.get('keep-alive')).not.toBe('timeout=600');
  });

  it("forwards the client's address and drops what the client claims", async () => {
    let seen: IncomingMessage['headers'] = {};
    onDeviceApi = (req, res) => {
      seen = req.headers;
      res.end();
    };
    const headers = { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '203.0.113.9', 'x-api-key': 'k' };
    await fetch(`${base}/api/v1/health`, { headers });
    expect(seen).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-api-key': 'k' });
    expect(seen['x-real-ip']).toBeUndefined();
  });

  it('forwards a stream as it arrives, not when it ends', async () => {
    let push: (text: string) => void = () => undefined;
    onDeviceApi = (_req, res) => {
      res.writeHead(200, { 'content-type': 'video/x-flv' });
      push = (text) => res.write(text);
      push('first');
    };
    const response = await open('/api/v1/realtime/stream.flv');
    expect(String((await once(response, 'data'))[0])).toBe('first');
    push('second'); // Only now, so that the first chunk arrived while the response was open.
    expect(String((await once(response, 'data'))[0])).toBe('second');
    response.destroy();
  });

  it('ends the request to the service when the client disconnects', async () => {
    const disconnected = new Promise<void>((resolve) => {
      onDeviceApi = (_req, res) => {
        res.write('x');
        res.once('close', () => resolve());
      };
    });
    const response = await open('/api/v1/realtime/stream.flv');
    response.destroy();
    await disconnected;
    expect(reports).toEqual([]);
  });

  it('ends the request to the service when the client disconnects before a response', async () => {
    let arrived: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const disconnected = new Promise<void>((resolve) => {
      onDeviceApi = (_req, res) => {
        res.once('close', () => resolve());
        arrived();
      };
    });
    const client = get(`${base}/api/v1/wakeup`);
    const failed = once(client, 'error');
    await waiting;
    client.destroy(new Error('the client gives up'));
    await Promise.all([disconnected, failed]);
    expect(reports).toEqual([]);
  });

  it('aborts the stream when its service dies, so that the viewer does not wait', async () => {
    onDeviceApi = (_req, res) => res.write('x');
    const response = await open('/api/v1/realtime/stream.flv');
    await once(response, 'data');
    const broken = once(response, 'error');
    deviceApi.closeAllConnections();
    expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' });
    expect(response.complete).toBe(false);
  });

  it('returns 502 with an ApiError when the service is down', async () => {
    await close(deviceApi);
    const response = await fetch(`${base}/api/v1/health`);
    expect(response.status).toBe(502);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toEqual({ status: 502, error: expect.any(String) });
    expect(reports).toEqual(['GET /api/v1/health: ECONNREFUSED']);
  });

  it('lets the service refuse a URL that is too long, and returns an ApiError for invalid HTTP', async () => {
    onDeviceApi = (_req, res) => res.end('not reached');
    const long = await fetch(`${base}/api/v1/${'x'.repeat(100_000)}`);
    expect(long.status).toBe(431);
    const socket = connect(Number(new URL(base).port), '127.0.0.1', () => socket.write('NOT HTTP\r\n\r\n'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    await once(socket, 'close');
    const [head, body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 Bad Request\r\nContent-Type: application\/json/);
    expect(JSON.parse(body)).toEqual({ status: 400, error: 'The request is not valid HTTP, or too large.' });
  });

  it('forwards an early refusal of a large body', async () => {
    onDeviceApi = (req, res) => {
      res.writeHead(413, { connection: 'close' }).end('too large');
      res.once('finish', () => req.socket.destroySoon());
    };
    const client = request(`${base}/api/v1/send-text`, { method: 'POST', headers: { 'content-length': 50_000 } });
    client.write('x'.repeat(20_000));
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    client.on('error', () => client.destroy());
    client.destroy();
  });
});

describe('websocket upgrades', () => {
  const upgrade = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n\r\n`;

  /** Returns everything received on a connection until the proxy closes it. */
  async function all(sent: string): Promise<string> {
    const socket = connect(Number(new URL(base).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.write(sent);
    await once(socket, 'close');
    return text;
  }

  function dial(path: string): {
    read: (until: RegExp) => Promise<string>;
    write: (text: string) => void;
    end: () => Promise<unknown>;
  } {
    const socket = connect(Number(new URL(base).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.write(upgrade(path));
    return {
      write: (message) => socket.write(message),
      read: async (pattern) => {
        while (!pattern.test(text)) await once(socket, 'data');
        return text;
      },
      end: async () => {
        const closed = once(socket, 'close');
        socket.destroy();
        await closed;
      },
    };
  }

  it('reach platform-api in both directions, and both sides close together', async () => {
    const disconnected = new Promise<void>((resolve) => {
      platformApi.once('upgrade', (_req, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello');
        socket.on('data', (chunk: Buffer) => socket.write(`echo ${chunk.toString()}`));
        socket.on('error', () => socket.destroy());
        socket.once('end', () => {
          socket.end();
          resolve();
        });
      });
    });
    const client = dial('/ws?token=t');
    expect(await client.read(/hello/)).toMatch(/^HTTP\/1.1 101 /);
    client.write('ping');
    expect(await client.read(/echo ping/)).toContain('echo ping');
    await client.end();
    await disconnected;
    expect(reports).toEqual([]);
  });

  it('are the only supported upgrade: a request that offers HTTP/2 is handled like any other', async () => {
    onDeviceApi = (req, res) => void req.pipe(res);
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' };
    const client = request(`${base}/api/v1/send-text`, { method: 'POST', headers });
    client.end('a body');
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    expect([response.statusCode, Buffer.concat(chunks).toString()]).toEqual([200, 'a body']);
  });

  it.each([
    ['a response', '/api/v1/health', () => undefined, /^HTTP\/1\.1 200 .*device-api$/s],
    ['a response of the proxy itself', '/api/v1/health', () => close(deviceApi), /^HTTP\/1\.1 502 .*did not respond/s],
  ])(
    'close the connection with %s if they offer another protocol, because data after the offer is lost',
    async (_what, path, before, expected) => {
      await before();
      const plain = `GET ${path} HTTP/1.1\r\nHost: x\r\n`;
      const responseText = await all(`${plain}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n${plain}\r\n`);
      expect(responseText).toMatch(expected);
      expect(responseText.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
      expect(responseText).toMatch(/^connection: close\r$/im);
    },
  );

  it('are not tunnels: CONNECT closes the connection and reaches no service', async () => {
    const forwardedUrls: unknown[] = [];
    for (const server of [deviceApi, platformApi])
      for (const event of ['connect', 'request'])
        server.on(event, (req: IncomingMessage) => forwardedUrls.push(req.url));
    expect(await all('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n')).toBe('');
    expect([forwardedUrls, reports]).toEqual([[], []]);
  });

  it('get 502 with an ApiError when platform-api is down', async () => {
    await close(platformApi);
    const client = dial('/ws');
    const responseText = await client.read(/\}$/);
    expect(responseText).toMatch(/^HTTP\/1.1 502 /);
    expect(responseText).toContain('"status":502');
    await client.end();
    expect(reports).toEqual(['GET /ws: ECONNREFUSED']);
  });
});
