import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Type } from 'typebox';
import { createLogger } from '../runtime/log.ts';
import { listen } from './admin.ts';
import { createApi } from './api.ts';
import { createApp } from './app.ts';
import { createErrorHandlers } from './error-handlers.ts';
import { AppError } from './errors.ts';
import { getRawBody } from './request-context.ts';
import { defineRoute, Reply } from './route.ts';

jest.setTimeout(30_000);

const log = createLogger('test', 'silent');
const common = { summary: 's', errors: {} } as const;
const seen: string[] = [];

const routes = [
  defineRoute({
    ...common,
    method: 'get',
    path: '/echo/:name',
    operationId: 'echo',
    params: Type.Object({ name: Type.String({ maxLength: 5 }) }),
    query: Type.Object({ n: Type.Optional(Type.Integer({ default: 1 })) }),
    handle: async ({ params, query, context }) => ({ ...params, ...query, id: context.requestId }),
  }),
  defineRoute({
    ...common,
    method: 'post',
    path: '/echo/invite',
    operationId: 'invite',
    handle: async () => ({ invited: true }),
  }),
  defineRoute({
    ...common,
    method: 'post',
    path: '/body',
    operationId: 'body',
    body: Type.Object({ text: Type.String() }),
    handle: async ({ body }) => new Reply(201, body, { Location: '/x' }),
  }),
  defineRoute({
    ...common,
    method: 'post',
    path: '/form',
    operationId: 'form',
    body: Type.Object({ text: Type.String() }),
    bodyLimitBytes: 1000,
    readBody: (bytes) => Object.fromEntries(new URLSearchParams(bytes.toString())),
    renderError: (error) => ({ code: 1000 + error.status }),
    handle: async ({ body, context }) => ({ ...body, bytes: getRawBody(context).length }),
  }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/act',
    operationId: 'act',
    allowHead: false,
    handle: async () => ({}),
  }),
  defineRoute({
    ...common,
    method: 'post',
    path: '/optional',
    operationId: 'optional',
    body: Type.Object({ n: Type.Optional(Type.Integer({ default: 4 })) }),
    bodyIsOptional: true,
    handle: async ({ body }) => body,
  }),
  defineRoute({ ...common, method: 'delete', path: '/act', operationId: 'undo', handle: async () => ({}) }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/record',
    operationId: 'record',
    handle: async () => new Reply(200, { label: 'Tür', state: seen.length }, { ETag: '"3"' }),
  }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/slow',
    operationId: 'slow',
    timeoutMs: 50,
    handle: () => new Promise(() => undefined),
  }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/slow-guard',
    operationId: 'slowGuard',
    timeoutMs: 50,
    bucket: 'hang',
    handle: async () => ({}),
  }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/broken',
    operationId: 'broken',
    handle: async () => {
      throw new Error('the password is hunter2');
    },
  }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/refused',
    operationId: 'refused',
    handle: async () => {
      throw new AppError('rate_limited', 'Slow down.', { headers: { 'Retry-After': '7' } });
    },
  }),
  defineRoute({
    ...common,
    method: 'get',
    path: '/stream',
    operationId: 'stream',
    handle: async ({ context }) => {
      context.response.write('half');
      throw new Error('cut');
    },
  }),
];

let server: Awaited<ReturnType<typeof listen>>;
let base: string;
beforeAll(async () => {
  const app = createApp();
  app.use(
    createApi({
      log,
      routes,
      bodyLimitBytes: 1024,
      guard: async (route) => {
        seen.push(`guard ${route.operationId}`);
        if (route.bucket === 'hang') await new Promise(() => undefined);
      },
      admit: async (route) => void seen.push(`admit ${route.operationId}`),
    }),
  );
  app.use(...createErrorHandlers(log));
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  base = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.close(1_000));

const requestApi = async (path: string, init?: RequestInit) => {
  const response = await fetch(base + path, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  };
};
const post = (body: string, type = 'application/json') =>
  requestApi('/body', { method: 'POST', body, headers: { 'content-type': type } });

describe('a request', () => {
  it('prefers a fixed path to one with a parameter', async () => {
    expect((await fetch(`${base}/echo/invite`, { method: 'POST' })).status).toBe(200);
    expect((await fetch(`${base}/echo/other`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${base}/echo/you`)).status).toBe(200);
  });

  it('runs the guard, the checks, the admission and the handler in order', async () => {
    seen.length = 0;
    expect(await requestApi('/echo/%C3%A9?n=2')).toMatchObject({ status: 200, body: { name: 'é', n: 2 } });
    expect(await requestApi('/echo/toolong')).toMatchObject({ status: 400, body: { status: 400 } });
    expect(seen).toEqual(['guard echo', 'admit echo', 'guard echo']);
  });

  it('keeps a valid request id of the client', async () => {
    const given = await requestApi('/echo/a', { headers: { 'x-request-id': 'abc-1' } });
    expect([given.headers.get('x-request-id'), given.body]).toEqual(['abc-1', { name: 'a', n: 1, id: 'abc-1' }]);
    const made = await requestApi('/echo/a', { headers: { 'x-request-id': 'a b' } });
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('a Reply', () => {
  it('has its own status and headers', async () => {
    const { status, headers, body } = await post('{"text":"x","more":1}');
    expect([status, headers.get('location'), body]).toEqual([201, '/x', { text: 'x', more: 1 }]);
  });

  it('with the ETag of a version is sent again to a client that has this version', async () => {
    const { status, headers } = await requestApi('/record', { headers: { 'if-none-match': '"3"' } });
    expect([status, headers.get('etag')]).toEqual([200, '"3"']);
  });

  it('has the same headers for HEAD, and no body', async () => {
    const [get, head] = [await requestApi('/record'), await requestApi('/record', { method: 'HEAD' })];
    for (const name of ['etag', 'content-type', 'content-length'])
      expect(head.headers.get(name)).toBe(get.headers.get(name));
    expect([get.headers.get('content-type'), head.body]).toEqual(['application/json; charset=utf-8', undefined]);
  });
});

describe('a body', () => {
  it.each([
    ['{"text":', 'The request body is not valid JSON.'],
    ['{"text":"x"} extra', 'The request body is not valid JSON.'],
    ['"text"', 'The body must be object.'],
    ['null', 'The body must be object.'],
    ['{}', 'The body field text is missing.'],
    ['{"text":"x","text":"y"}', 'The body field text is given more than once.'],
    ['{"text":"x","more":[{"a":1},{"b":{"\\u0063":1,"c":2}}]}', 'The body field more.1.b.c is given more than once.'],
    ['{"text":NaN}', 'The request body is not valid JSON.'],
    ['{"text":01}', 'The request body is not valid JSON.'],
    ['['.repeat(1000), 'The request body is not valid JSON.'],
    [`${'['.repeat(500)}${']'.repeat(500)}`, 'The body must be object.'],
  ])('%s is 400: %s', async (body, error) => {
    expect(await post(body)).toMatchObject({ status: 400, body: { status: 400, error } });
  });

  it('is 400 if it is missing', async () => {
    expect(await requestApi('/body', { method: 'POST' })).toMatchObject({ status: 400, body: { status: 400 } });
  });

  it('accepts equal keys in several objects, and texts that look like keys', async () => {
    const sent = '{"text":"\\"text\\":1,{[","a":{"text":"a"},"b":["text","text",{"a":{}},{"a":1}],"\\\\":"\\\\"}';
    expect(await post(sent)).toMatchObject({ status: 201, body: JSON.parse(sent) });
  });

  it('is an empty object if it is optional and missing', async () => {
    expect((await requestApi('/optional', { method: 'POST' })).body).toEqual({ n: 4 });
  });

  it('is parsed as JSON whatever its Content-Type', async () => {
    expect((await post('{"text":"x"}', 'text/plain')).status).toBe(201);
  });

  it('is accepted up to the limit, and 413 above it', async () => {
    const text = (length: number) => JSON.stringify({ text: 'x'.repeat(length - 11) });
    expect((await post(text(1024))).status).toBe(201);
    expect(await post(text(1025))).toMatchObject({ status: 413, body: { status: 413, error: expect.any(String) } });
  });

  it('is rejected before all of it is read if it is too large', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': String(1_000_000_000) };
      const request = httpRequest(`${base}/body`, { method: 'POST', headers }, (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.once('error', reject);
      request.write('{"text":"');
    });
    expect(status).toBe(413);
  });

  it('without a length is rejected once it is too large', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(`${base}/body`, { method: 'POST' }, (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.once('error', reject);
      request.write(`{"text":"${'x'.repeat(2_000)}`);
    });
    expect(status).toBe(413);
  });

  it('that is interrupted leaves nothing behind', async () => {
    const request = httpRequest(`${base}/body`, { method: 'POST', headers: { 'content-length': '100' } });
    request.on('error', () => undefined);
    request.write('{"text":');
    await new Promise((resolve) => request.once('socket', (socket) => socket.once('connect', resolve)));
    request.destroy();
    expect((await post('{"text":"x"}')).status).toBe(201);
  });

  it('in an unknown charset is 415', async () => {
    expect((await post('{"text":"x"}', 'application/json; charset=klingon')).status).toBe(415);
  });
});

describe('a route with its own body parser', () => {
  const send = (body: string, headers: Record<string, string> = {}) =>
    requestApi('/form', { method: 'POST', body, headers });

  it('validates the parsed body and receives its bytes', async () => {
    expect(await send('text=a%20b&other=1')).toMatchObject({ status: 200, body: { text: 'a b', bytes: 18 } });
  });

  it('has its own limit and error body', async () => {
    expect(await send('other=1')).toMatchObject({ status: 400, body: { code: 1400 } });
    expect(await send('')).toMatchObject({ status: 400, body: { code: 1400 } });
    expect(await send(`text=${'x'.repeat(995)}`)).toMatchObject({ status: 200 });
    expect(await send(`text=${'x'.repeat(996)}`)).toMatchObject({ status: 413, body: { code: 1413 } });
    expect(await send('text=a', { 'content-encoding': 'br' })).toMatchObject({ status: 415, body: { code: 1415 } });
  });
});

describe('methods', () => {
  it('are 405 with the allowed methods if the path does not support them', async () => {
    const { status, headers, body } = await requestApi('/act', { method: 'POST' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, DELETE, OPTIONS']);
    expect(body).toEqual({ status: 405, error: 'POST is not a method of this path; it accepts GET, DELETE, OPTIONS.' });
    expect((await requestApi('/echo/a', { method: 'PUT' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it('returns the methods of a path to OPTIONS without credentials', async () => {
    seen.length = 0;
    const { status, headers, body } = await requestApi('/act', { method: 'OPTIONS' });
    expect([status, headers.get('allow'), body]).toEqual([204, 'GET, DELETE, OPTIONS', undefined]);
    expect((await requestApi('/body', { method: 'OPTIONS' })).headers.get('allow')).toBe('POST, OPTIONS');
    expect((await requestApi('/nowhere', { method: 'OPTIONS' })).body).toEqual({
      status: 404,
      error: 'There is no OPTIONS /nowhere.',
    });
    expect(seen).toEqual([]);
  });

  it('treats HEAD as GET without the body, and as 405 if GET has an effect', async () => {
    expect((await requestApi('/echo/a', { method: 'HEAD' })).status).toBe(200);
    expect((await requestApi('/act', { method: 'HEAD' })).status).toBe(405);
    expect((await requestApi('/act')).status).toBe(200);
  });
});

describe('errors', () => {
  it('have exactly two fields', async () => {
    expect(await requestApi('/refused')).toMatchObject({ status: 429, body: { status: 429, error: 'Slow down.' } });
    expect(Object.keys((await requestApi('/refused')).body as object)).toEqual(['status', 'error']);
    expect((await requestApi('/refused')).headers.get('retry-after')).toBe('7');
  });

  it('are 500 without details for internal faults', async () => {
    expect((await requestApi('/broken')).body).toEqual({ status: 500, error: 'An unexpected error occurred.' });
  });

  it('are 404 for unknown paths and 400 for malformed ones', async () => {
    expect(await requestApi('/nowhere?x=1')).toMatchObject({
      status: 404,
      body: { status: 404, error: 'There is no GET /nowhere.' },
    });
    expect((await requestApi('/%zz')).status).toBe(400);
    expect((await requestApi('/echo/%zz')).status).toBe(400);
  });

  it('destroy the connection after the first byte', async () => {
    await expect(requestApi('/stream')).rejects.toThrow(/terminated|failed/);
  });

  it('reveal no framework', async () => {
    const { headers } = await requestApi('/nowhere');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('the request time-out', () => {
  it.each(['/slow', '/slow-guard'])('of %s is 503', async (path) => {
    expect((await requestApi(path)).body).toEqual({
      status: 503,
      error: "The request ran past the server's limit of 0.05 seconds.",
    });
  });
});

/** Sends some bytes and reads until the connection ends. */
async function exchange(
  port: number,
  text: string,
  then: (socket: Socket) => void = () => undefined,
): Promise<{ head: string; body: string }> {
  const received = await new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text);
      then(socket);
    });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
  });
  const [head = '', body = ''] = received.split('\r\n\r\n');
  return { head, body };
}

describe('invalid HTTP', () => {
  it('excludes a parameter that is far too long: it is rejected by name', async () => {
    const response = await fetch(`${base}/echo/${'x'.repeat(50_000)}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: expect.stringMatching(/^The path parameter name /) });
  });

  it.each([
    ['NOT HTTP\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    [`GET /echo/${'x'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ])('is rejected with the body of all errors: %.20s', async (text, status) => {
    const { head, body } = await exchange(server.port, text);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/^X-Request-Id: [0-9a-f-]{36}$/m);
    expect(JSON.parse(body)).toEqual({ status, error: expect.stringMatching(/^The .+\.$/) });
  });

  it('is 408 with the error body of the service if its end does not arrive in time', async () => {
    const own = await listen(createApp(), {
      host: '127.0.0.1',
      port: 0,
      renderError: ({ status, code }, requestId) => ({ status, code, requestId }),
      // Node.js itself checks only twice a minute.
      configure: (one) => {
        const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
        one.on('connection', (socket) => void one.emit('clientError', late, socket));
      },
    });
    try {
      const { head, body } = await exchange(own.port, 'GET / HTTP/1.1\r\nHost: x\r\n');
      expect(head).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
      const requestId = /^X-Request-Id: (.+)$/m.exec(head)?.[1];
      expect(JSON.parse(body)).toEqual({ status: 408, code: 'request_incomplete', requestId });
    } finally {
      await own.close();
    }
  });

  it('excludes an unknown expectation: the request is handled normally', async () => {
    const { head } = await exchange(
      server.port,
      'GET /echo/next HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n',
    );
    expect(head).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('listen', () => {
  it('keeps idle connections open longer than clients do, and sends the time', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/livez`);
    expect(response.headers.get('keep-alive')).toBe('timeout=65');
  });

  it('closes connections that never sent a request, and destroys those beyond the time-out', async () => {
    const app = createApp();
    app.get('/forever', () => undefined);
    const own = await listen(app, { host: '127.0.0.1', port: 0 });
    const silent = connect(own.port, '127.0.0.1');
    const silentClosed = new Promise((resolve) => silent.once('close', resolve));
    await new Promise((resolve) => silent.once('connect', resolve));
    const forever = fetch(`http://127.0.0.1:${own.port}/forever`);
    const [fate] = await Promise.allSettled([forever, own.close(200)]);
    expect(fate.status).toBe('rejected');
    await silentClosed;
    expect(silent.destroyed).toBe(true);
  });

  it.each([
    ['a request whose body is on its way', 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{"te'],
    ['a request whose headers are on their way', 'GET /body HTTP/1.1\r\nHost: x\r\n'],
  ])('closes soon with %s, which may never be completed', async (_what, text) => {
    const app = createApp();
    app.use(createApi({ log, routes, bodyLimitBytes: 1000 }));
    const own = await listen(app, { host: '127.0.0.1', port: 0 });
    const arrived = new Promise((resolve) =>
      own.server.once('connection', (one: Socket) => void one.once('data', resolve)),
    );
    const half = connect(own.port, '127.0.0.1', () => half.write(text));
    const finished = new Promise((resolve) => half.once('close', resolve));
    half.on('error', () => undefined);
    await arrived;
    await own.close();
    await finished;
    expect(half.destroyed).toBe(true);
  });

  it('finishes a request that is completed while it closes', async () => {
    const app = createApp();
    app.use(createApi({ log, routes, bodyLimitBytes: 1000 }));
    const own = await listen(app, { host: '127.0.0.1', port: 0 });
    const started = new Promise((resolve) => own.server.once('request', resolve));
    const received = exchange(
      own.port,
      'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{"te',
      (socket) => {
        void started.then(() => {
          void own.close();
          socket.write('xt":"a"}');
        });
      },
    );
    expect((await received).head).toMatch(/^HTTP\/1.1 201 /);
  });

  it('fails if the port is in use', async () => {
    await expect(listen(createApp(), { host: '127.0.0.1', port: server.port })).rejects.toThrow(/EADDRINUSE/);
  });
});
