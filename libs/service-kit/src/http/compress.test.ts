import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '../runtime/log.ts';
import { listen } from './admin.ts';
import { createApi } from './api.ts';
import { createApp } from './app.ts';
import { createErrorHandlers } from './error-handlers.ts';
import { defineRoute } from './route.ts';
import { createDocumentSender } from './static-content.ts';

const log = createLogger('test', 'silent');
const common = { summary: 's', errors: {}, method: 'get' } as const;
const rows = (bytes: number) => ({ data: 'x'.repeat(bytes - '{"data":""}'.length) });
const text = 'a line of text\n'.repeat(200);
let words = ['one', 'two'];

const routes = [
  defineRoute({ ...common, path: '/large', operationId: 'large', handle: async () => rows(1024) }),
  defineRoute({ ...common, path: '/small', operationId: 'small', handle: async () => rows(1023) }),
  defineRoute({
    ...common,
    path: '/words',
    operationId: 'words',
    isStatic: true,
    handle: async () => ({ data: words.map((word) => word.repeat(500)) }),
  }),
];

const plain: Readonly<Record<string, { status?: number; headers: Record<string, string> }>> = {
  '/file.txt': { headers: { 'Content-Type': 'text/plain', 'Accept-Ranges': 'bytes' } },
  '/part': { status: 206, headers: { 'Content-Type': 'text/plain', 'Content-Range': 'bytes 0-2999/9000' } },
  '/stream.flv': { headers: { 'Content-Type': 'video/x-flv' } },
  '/clip.mp4': { headers: { 'Content-Type': 'video/mp4' } },
  '/picture': { headers: { 'Content-Type': 'image/jpeg' } },
  '/events': { headers: { 'Content-Type': 'text/event-stream; charset=utf-8' } },
};

let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  const app = createApp();
  for (const [path, { status, headers }] of Object.entries(plain))
    app.get(
      path,
      (_request, response) =>
        void response
          .status(status ?? 200)
          .set(headers)
          .end(text),
    );
  let built = 0;
  const send = createDocumentSender(() => ({ built: (built += 1), text }));
  app.get('/document', (_request, response) => send(response));
  app.use(createApi({ log, routes, bodyLimitBytes: 1024 }), ...createErrorHandlers(log));
  server = await listen(app, { host: '127.0.0.1', port: 0 });
});
afterAll(() => server.close(1_000));

/** Reads a response without the decoding of `fetch`. */
async function get(path: string, headers: Record<string, string> = {}) {
  const sent = httpRequest({ host: '127.0.0.1', port: server.port, path, headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

const accepting = (encoding: string) => ({ 'accept-encoding': encoding });

describe('a response of 1 KiB or more', () => {
  it.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip, deflate', gunzipSync],
  ])('is compressed with %s for a client that accepts %s', async (encoding, accepted, decompress) => {
    const { headers, body } = await get('/large', accepting(accepted));
    expect([headers['content-encoding'], headers.vary]).toEqual([encoding, 'Accept-Encoding']);
    expect(body.length).toBeLessThan(500);
    expect(JSON.parse(decompress(body).toString())).toEqual(rows(1024));
  });

  it.each([undefined, 'identity', 'br;q=0, gzip;q=0', 'zstd'])(
    'is not compressed for a client that accepts %s',
    async (accepted) => {
      const { headers, body } = await get('/large', accepted === undefined ? {} : accepting(accepted));
      expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'Accept-Encoding']);
      expect(JSON.parse(body.toString())).toEqual(rows(1024));
    },
  );

  it.each(Object.keys(plain))('is not compressed if it is media, a range or a stream: %s', async (path) => {
    const { headers, body } = await get(path, accepting('br, gzip'));
    expect([headers['content-encoding'], headers.vary, body.toString()]).toEqual([undefined, undefined, text]);
  });
});

describe('a smaller response', () => {
  it('is not compressed', async () => {
    const { headers, body } = await get('/small', accepting('br, gzip'));
    expect([headers['content-encoding'], body.length]).toEqual([undefined, 1023]);
  });
});

describe('a static response', () => {
  it.each(['/words', '/document'])('is 304 without a body for a client that has it: %s', async (path) => {
    const first = await get(path, accepting('gzip'));
    const { etag } = first.headers;
    expect([first.status, etag]).toEqual([200, expect.stringMatching(/^W\/".+"$/)]);
    expect(first.headers['cache-control']).toMatch(/no-cache/);
    const again = await get(path, {
      ...accepting('br'),
      'if-none-match': `"other", ${etag}`,
      'cache-control': 'no-cache',
    });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag]);
    expect(again.headers.vary).toBe('Accept-Encoding');
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is sent again after a change', async () => {
    const { etag } = (await get('/words')).headers;
    words = ['three'];
    const changed = await get('/words', { 'if-none-match': String(etag) });
    expect([changed.status, changed.headers.etag === etag]).toEqual([200, false]);
  });

  it('is built once for a document', async () => {
    const bodies = await Promise.all([get('/document'), get('/document')]);
    expect(bodies.map(({ body }) => (JSON.parse(body.toString()) as { built: number }).built)).toEqual([1, 1]);
  });
});
