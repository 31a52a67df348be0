import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Type } from 'typebox';
import { createLogger } from '../runtime/log.ts';
import { listen } from './admin.ts';
import { createApi } from './api.ts';
import { createApp } from './app.ts';
import { createErrorHandlers } from './error-handlers.ts';
import { AppError } from './errors.ts';
import { defineRoute } from './route.ts';

jest.setTimeout(60_000);

const log = createLogger('test', 'silent');
const megabyte = 'x'.repeat(1024 * 1024);
const large = 8 * 1024 * 1024;
const served: string[] = [];

const routes = [
  defineRoute({
    summary: 's',
    errors: {},
    method: 'post',
    path: '/body',
    operationId: 'body',
    body: Type.Object({ text: Type.String() }),
    handle: async ({ context }) => {
      served.push(context.request.get('x-name') ?? '');
      return { served: true };
    },
  }),
];

let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  const app = createApp();
  const guard = async (_route: unknown, { request }: { request: { get(name: string): string | undefined } }) => {
    if (request.get('x-api-key') === undefined) throw new AppError('api_key_missing', 'An API key is required.');
  };
  app.use(createApi({ log, routes, bodyLimitBytes: 1024, guard }));
  app.use(...createErrorHandlers(log));
  server = await listen(app, { host: '127.0.0.1', port: 0 });
});
afterAll(() => server.close(1_000));

const head = (...lines: string[]): string => `${['POST /body HTTP/1.1', 'Host: x', ...lines].join('\r\n')}\r\n\r\n`;
const key = 'x-api-key: k';
const inMegabytes = Array.from({ length: 8 }, () => megabyte);
const inChunks = [...inMegabytes.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`), '0\r\n\r\n'];

const write = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.write(text, (error) => (error ? reject(error) : resolve()));
  });

/**
 * Writes everything before it reads anything, as many clients do; returns all bytes until the server ended the
 * connection.
 */
async function exchange(...parts: string[]): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  for (const part of parts) await write(socket, part);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '');

describe('a response before the end of its request', () => {
  it.each([
    ['with a length', '413', [head(key, `Content-Length: ${large}`), ...inMegabytes]],
    ['in chunks', '413', [head(key, 'Transfer-Encoding: chunked'), ...inChunks]],
    ['with a length, without credentials', '401', [head(`Content-Length: ${large}`), ...inMegabytes]],
    ['in chunks, without credentials', '401', [head('Transfer-Encoding: chunked'), ...inChunks]],
  ])('is read by a client that first sends all of a large body: %s', async (_what, status, parts) => {
    const text = await exchange(...parts);
    expect(statuses(text)).toEqual([status]);
    expect(text).toMatch(/^Connection: close\r$/m);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ status: Number(status) });
  });

  it('ends the connection with 413 if the whole body has arrived', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(2_000) });
    const text = await exchange(head(key, `Content-Length: ${body.length}`) + body);
    expect(statuses(text)).toEqual(['413']);
    expect(text).toMatch(/^Connection: close\r$/m);
  });

  it('is the last one of its connection: data after the rejected body is not handled', async () => {
    const small = '{"text":"a"}';
    const next = head(key, 'x-name: next', `Content-Length: ${small.length}`) + small;
    const text = await exchange(head(key, `Content-Length: ${large}`), ...inMegabytes.slice(1), megabyte + next);
    expect([statuses(text), served.includes('next')]).toEqual([['413'], false]);
  });

  it('leaves the connection open after a small body', async () => {
    const small = '{"text":"a"}';
    const next = head(key, 'x-name: kept', 'Connection: close', `Content-Length: ${small.length}`) + small;
    const text = await exchange(head(`Content-Length: ${small.length}`) + small + next);
    expect(statuses(text)).toEqual(['401', '200']);
  });
});

describe('a request that expects 100 Continue', () => {
  const expects = 'Expect: 100-continue';

  it.each([
    ['a body that is too large', '413', [key, `Content-Length: ${large}`]],
    ['missing credentials', '401', ['Content-Length: 12']],
  ])('is rejected before its body is sent: %s', async (_what, status, lines) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(head(expects, ...lines));
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.end();
    expect(statuses(String(first))).toEqual([status]);
    expect(String(first)).toMatch(/^Connection: close\r$/m);
  });

  it('is handled after 100 Continue, and leaves the connection open', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(head(key, expects, 'x-name: continued', 'Content-Length: 12'));
    expect(String((await once(socket, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{"text":"a"}');
    const received = String((await once(socket, 'data'))[0]);
    expect(statuses(received)).toEqual(['200']);
    expect(received).toMatch(/^Connection: keep-alive\r$/m);
    expect(served).toContain('continued');
    socket.destroy();
  });
});

describe('clients with keep-alive connections', () => {
  function post(agent: Agent, size: number): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const body = JSON.stringify({ text: 'x'.repeat(size) });
      const headers = { 'x-api-key': 'k', 'content-length': body.length };
      const options = { port: server.port, host: '127.0.0.1', path: '/body', method: 'POST', agent, headers };
      const sent = httpRequest(options, (response: IncomingMessage) => {
        response.resume().once('end', () => resolve(response.statusCode));
      });
      sent.once('error', (error) => reject(error));
      sent.end(body);
    });
  }

  it('get a response to every request after a rejected one', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const received: (number | undefined)[] = [];
    for (let times = 0; times < 20; times += 1)
      received.push(await post(agent, 2 * 1024 * 1024), await post(agent, 10), await post(agent, 20));
    agent.destroy();
    expect(received).toEqual(Array.from({ length: 20 }, () => [413, 200, 200]).flat());
  });
});
