import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import {
  AppError,
  createApi,
  createApp,
  createErrorHandlers,
  createLogger,
  defineRoute,
  listen,
} from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createReverseProxy } from './proxy.ts';

jest.setTimeout(60_000);

const log = createLogger('test', 'silent');
const megabyte = 'x'.repeat(1024 * 1024);
const large = 8 * 1024 * 1024;

const small = defineRoute({
  summary: 's',
  errors: {},
  method: 'post',
  path: '/api/v1/send-text',
  operationId: 'sendText',
  readBody: (bytes) => bytes.length,
  handle: async ({ body }) => ({ bytes: body }),
});

type Service = Awaited<ReturnType<typeof listen>>;

async function startService(): Promise<Service> {
  const app = createApp();
  const guard = async (_route: unknown, { request }: { request: { get(name: string): string | undefined } }) => {
    if (request.get('x-api-key') === undefined) throw new AppError('api_key_missing', 'An API key is required.');
  };
  app.use(createApi({ log, routes: [small], bodyLimitBytes: 16 * 1024, guard }), ...createErrorHandlers(log));
  return listen(app, { host: '127.0.0.1', port: 0 });
}

async function startProxy(target: string, reports: string[]): Promise<Server> {
  const proxy = createReverseProxy({ deviceApi: target, platformApi: target }, (line) => reports.push(line));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

const getPort = (server: Server): number => (server.address() as AddressInfo).port;

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

const write = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.write(text, (error) => (error ? reject(error) : resolve()));
  });

/**
 * Sends everything before it reads anything, as many clients do. Returns everything received until the connection ends.
 */
async function exchange(port: number, parts: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  for (const part of parts) await write(socket, part);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

const head = (...lines: string[]): string =>
  `${['POST /api/v1/send-text HTTP/1.1', 'Host: x', ...lines].join('\r\n')}\r\n\r\n`;
const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '');

/** Sends one request over a keep-alive connection; resolves with its status when the response is read. */
function send(agent: Agent, port: number, options: { method: string; path: string; body?: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': 'k', 'content-length': options.body?.length ?? 0 };
    const { method, path } = options;
    const sent = httpRequest({ agent, port, host: '127.0.0.1', method, path, headers }, (response: IncomingMessage) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end(options.body);
  });
}

describe('request bodies that a service refuses', () => {
  let service: Service;
  let proxy: Server;
  const reports: string[] = [];
  beforeAll(async () => {
    service = await startService();
    proxy = await startProxy(`http://127.0.0.1:${service.port}`, reports);
  });
  afterAll(async () => {
    await stop(proxy);
    await service.close(1_000);
  });

  const key = 'x-api-key: k';
  const inMegabytes = Array.from({ length: 8 }, () => megabyte);
  const inChunks = [...inMegabytes.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`), '0\r\n\r\n'];
  const withLength = `Content-Length: ${large}`;
  const kinds: [string, string[], string[]][] = [
    ['with a length', ['413'], [head(key, withLength), ...inMegabytes]],
    ['in chunks', ['413'], [head(key, 'Transfer-Encoding: chunked'), ...inChunks]],
    ['with Expect: 100-continue', ['100', '413'], [head(key, withLength, 'Expect: 100-continue'), ...inMegabytes]],
    ['without credentials', ['401'], [head(withLength), ...inMegabytes]],
    ['in chunks, without credentials', ['401'], [head('Transfer-Encoding: chunked'), ...inChunks]],
  ];

  it.each(kinds)('are read to the end, and the clients receive the response: %s', async (_what, expected, parts) => {
    const text = await exchange(getPort(proxy), parts);
    expect(statuses(text)).toEqual(expected);
    expect(text).toMatch(/^connection: close\r$/im);
    expect(text).toMatch(/"status":4\d\d/);
  });

  it('do not affect the requests of other clients', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const refused = kinds.map(([, expected, parts]) =>
      exchange(getPort(proxy), parts).then((text) => [statuses(text), expected]),
    );
    const others = Array.from({ length: 160 }, () =>
      send(agent, getPort(proxy), { method: 'POST', path: '/api/v1/send-text', body: 'x'.repeat(1_000) }),
    );
    expect(new Set(await Promise.all(others))).toEqual(new Set([200]));
    for (const [received, expected] of await Promise.all(refused)) expect(received).toEqual(expected);
    agent.destroy();
    expect(reports).toEqual([]);
  });
});

describe('a pooled connection that the service closes', () => {
  const seen: string[] = [];
  const reports: string[] = [];
  let service: Server;
  let proxy: Server;
  let isClosing = false;
  beforeAll(async () => {
    service = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.once('end', () => {
        seen.push(`${req.method} ${Buffer.concat(chunks).length}`);
        // Simulates a service that closes an idle connection while the next request is in flight.
        if (isClosing) {
          isClosing = false;
          req.socket.destroy();
        } else res.end('done');
      });
    });
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    proxy = await startProxy(`http://127.0.0.1:${getPort(service)}`, reports);
  });
  afterAll(() => Promise.all([stop(proxy), stop(service)]));

  /** Sends a request that the service resets; the previous request left a connection in the pool. */
  async function sendReset(method: string, body = ''): Promise<number> {
    const agent = new Agent({ keepAlive: true });
    await send(agent, getPort(proxy), { method: 'GET', path: '/' });
    seen.length = 0;
    isClosing = true;
    const status = await send(agent, getPort(proxy), { method, path: '/', body });
    agent.destroy();
    return status;
  }

  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['PUT', 'x'.repeat(20_000)],
  ])('is not an error for an idempotent request, which is retried once: %s', async (method, body) => {
    expect(await sendReset(method, body)).toBe(200);
    expect(seen).toEqual([`${method} ${body.length}`, `${method} ${body.length}`]);
    expect(reports).toEqual([]);
  });

  it('is 502 for a request that is not idempotent', async () => {
    expect(await sendReset('POST', 'x')).toBe(502);
    expect(seen).toEqual(['POST 1']);
    expect(reports.splice(0)).toEqual(['POST /: ECONNRESET']);
  });

  it('is 502 if the new connection is reset as well', async () => {
    const agent = new Agent({ keepAlive: true });
    await send(agent, getPort(proxy), { method: 'GET', path: '/' });
    const destroyAll = (req: IncomingMessage): void => void req.socket.destroy();
    service.prependListener('request', destroyAll);
    expect(await send(agent, getPort(proxy), { method: 'GET', path: '/' })).toBe(502);
    service.off('request', destroyAll);
    agent.destroy();
    expect(reports.splice(0)).toEqual(['GET /: ECONNRESET']);
  });
});
