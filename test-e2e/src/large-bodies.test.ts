import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;
beforeAll(async () => {
  harness = await joinSharedHarness();
}, 600_000);
afterAll(() => harness?.stop());

const megabyte = 'x'.repeat(1024 * 1024);
const megabytes = 8;

const write = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.write(text, (error) => (error ? reject(error) : resolve()));
  });

type Form = 'a length' | 'chunks' | '100 Continue';

/**
 * Sends a body of 8 MiB before it reads anything, as many clients do. Returns everything received until the connection
 * ends.
 */
async function sendLarge(base: string, path: string, form: Form, more = ''): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const length = form === 'chunks' ? 'Transfer-Encoding: chunked' : `Content-Length: ${megabytes * megabyte.length}`;
  const expect100 = form === '100 Continue' ? 'Expect: 100-continue\r\n' : '';
  await write(socket, `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}${expect100}${length}\r\n\r\n`);
  for (let sent = 0; sent < megabytes; sent += 1)
    await write(socket, form === 'chunks' ? `${megabyte.length.toString(16)}\r\n${megabyte}\r\n` : megabyte);
  if (form === 'chunks') await write(socket, '0\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text.replace('HTTP/1.1 100 Continue\r\n\r\n', '');
}

const parseStatus = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
const forms: readonly Form[] = ['a length', 'chunks', '100 Continue'];

/** Requests to both APIs that are refused, with the expected status. */
const refused: readonly [string, number][] = [
  ['/api/v1/send-text?imei=013800138001', 413],
  ['/api/auth/login', 413],
  ['/api/vehicles', 401],
  ['/api/v1/nowhere', 404],
];

function getStatus(agent: Agent, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => response.resume().once('end', () => resolve(response.statusCode ?? 0))).once(
      'error',
      reject,
    );
  });
}

describe('a large body', () => {
  it('gets its response through the proxy and does not affect other clients', async () => {
    const { base_url: base } = harness.product.runtime;
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const large = refused.flatMap(([path, expected]) =>
      forms.map(async (form) => {
        const text = await sendLarge(base, path, form);
        return { path, form, expected, status: parseStatus(text), closes: /^connection: close\r$/im.test(text) };
      }),
    );
    const others = Array.from({ length: 160 }, (_unused, index) =>
      getStatus(agent, `${base}${index % 2 === 0 ? '/api/v1/health' : '/api/openapi.json'}`),
    );
    expect(new Set(await Promise.all(others))).toEqual(new Set([200]));
    agent.destroy();
    for (const one of await Promise.all(large)) expect(one).toMatchObject({ status: one.expected, closes: true });
  });

  it('gets its response directly from each service', async () => {
    const { health, video_url: video } = harness.product.runtime;
    for (const base of [...Object.values(health), video]) {
      const text = await sendLarge(base, '/nowhere', 'a length', 'Connection: close\r\n');
      expect([base, parseStatus(text)]).toEqual([base, 404]);
    }
  });
});

describe('the OpenAPI documents of both APIs', () => {
  it.each(['/api/openapi.json', '/api/v1/openapi.json'])('are compressed by the proxy: %s', async (path) => {
    const url = harness.product.runtime.base_url + path;
    const [response] = await once(get(url, { headers: { 'accept-encoding': 'br' } }), 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    expect(response.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(JSON.parse(brotliDecompressSync(Buffer.concat(chunks)).toString())).toMatchObject({ openapi: '3.1.0' });
    const again = await fetch(url, { headers: { 'if-none-match': response.headers.etag } });
    expect(again.status).toBe(304);
  });
});
