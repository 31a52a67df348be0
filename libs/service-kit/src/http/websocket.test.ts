import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { createLogger } from '../runtime/log.ts';
import { listen } from './admin.ts';
import { createApi } from './api.ts';
import { createApp } from './app.ts';
import { createErrorHandlers } from './error-handlers.ts';
import { AppError } from './errors.ts';
import { defineRoute, type RequestContext } from './route.ts';
import { acceptWebsocket, closeResponse, keepWebsocketAlive, serveWebsockets } from './websocket.ts';

const log = createLogger('test', 'silent');
let http: Awaited<ReturnType<typeof listen>>;
/** Context of the last accepted handshake, and its websocket. */
let last: { context: RequestContext; websocket: WebSocket };

const echo = defineRoute({
  method: 'get',
  path: '/echo',
  operationId: 'echo',
  summary: 'Echo',
  errors: {},
  handle: async ({ context }) => {
    const websocket = await acceptWebsocket(context, { maxPayloadBytes: 16 });
    last = { context, websocket };
    keepWebsocketAlive(websocket, 50);
    websocket.on('message', (data, isBinary) => websocket.send(data, { binary: isBinary }));
  },
});
const refuse = defineRoute({
  method: 'get',
  path: '/refuse',
  operationId: 'refuse',
  summary: 'Refuse',
  errors: {},
  handle: () => Promise.reject(new AppError('camera_busy', 'Another user talks.')),
});

beforeAll(async () => {
  const app = createApp();
  app.use(createApi({ log, bodyLimitBytes: 100, routes: [echo, refuse] }), ...createErrorHandlers(log));
  http = await listen(app, { host: '127.0.0.1', port: 0 });
  serveWebsockets(http.server, app);
});
afterAll(() => http.close());

const url = (path: string, protocol = 'ws'): string => `${protocol}://127.0.0.1:${http.port}${path}`;

async function open(path: string): Promise<WebSocket> {
  const client = new WebSocket(url(path));
  await once(client, 'open');
  return client;
}

async function readRefusal(path: string): Promise<{ status: number | undefined; body: unknown }> {
  const client = new WebSocket(url(path));
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(parts).toString()) };
}

describe('websockets of a route table', () => {
  it('exchange messages after the handshake', async () => {
    const client = await open('/echo');
    client.send(Buffer.from('hello'));
    const [data] = (await once(client, 'message')) as [Buffer];
    expect(data.toString()).toBe('hello');
    client.close();
  });

  it('reject a handshake with the status and body of other requests', async () => {
    expect(await readRefusal('/refuse')).toEqual({ status: 409, body: { status: 409, error: 'Another user talks.' } });
    expect(await readRefusal('/nothing')).toMatchObject({ status: 404, body: { error: 'There is no GET /nothing.' } });
  });

  it('reject a request without the offer of a websocket', async () => {
    expect((await fetch(url('/echo', 'http'))).status).toBe(400);
  });

  it('end the request of the route when the client leaves', async () => {
    const client = await open('/echo');
    const { context } = last;
    expect(context.signal.aborted).toBe(false);
    const isClosed = once(context.response, 'close');
    client.terminate();
    await isClosed;
    expect(context.signal.aborted).toBe(true);
  });

  it('are closed with a code and a reason', async () => {
    const client = await open('/echo');
    closeResponse(last.context.response, 4403, 'access lost');
    const [code, reason] = (await once(client, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([4403, 'access lost']);
  });

  it('are closed when a message is too long', async () => {
    const client = await open('/echo');
    client.send(Buffer.alloc(17));
    const [code] = (await once(client, 'close')) as [number];
    expect(code).toBe(1009);
  });

  it('are terminated when the client does not respond to pings', async () => {
    const client = new WebSocket(url('/echo'), { autoPong: false });
    const [code] = (await once(client, 'close')) as [number];
    expect(code).toBe(1006);
  });
});
