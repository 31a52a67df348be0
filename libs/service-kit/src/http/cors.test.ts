import { afterAll, describe, expect, it } from '@jest/globals';
import { listen } from './admin.ts';
import { createApp } from './app.ts';
import { allowOrigins, originsOf, parseOrigins } from './cors.ts';

const page = 'https://fleet.example';
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' };
const servers: Awaited<ReturnType<typeof listen>>[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

/** Starts a server that permits some origins; returns a function that sends a request from a page. */
async function startServer(origins: ReadonlySet<string>) {
  const app = createApp();
  app.use(allowOrigins(origins));
  app.get('/stream', (_request, response) => void response.send('FLV'));
  app.get('/missing', (_request, response) => void response.status(404).json({ status: 404 }));
  app.options('/stream', (_request, response) => void response.status(204).set('Allow', 'GET').end());
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  servers.push(server);
  return async (path: string, origin: string, init: RequestInit = {}) => {
    const headers = { origin, ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { ...init, headers });
    await response.arrayBuffer();
    return { status: response.status, headers: Object.fromEntries(response.headers) };
  };
}

describe('pages of other origins', () => {
  it('read responses and errors if their origin is listed, never with cookies', async () => {
    const send = await startServer(new Set([page]));
    for (const path of ['/stream', '/missing']) {
      const { headers } = await send(path, page);
      expect(headers).toMatchObject({ 'access-control-allow-origin': page });
      expect(headers['vary']).toContain('Origin');
      expect(headers['access-control-expose-headers']).toContain('retry-after');
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it('read nothing from another origin', async () => {
    const send = await startServer(new Set([page]));
    for (const origin of ['https://evil.example', `${page}.evil.example`, 'null']) {
      const { headers } = await send('/stream', origin);
      expect(headers).not.toHaveProperty('access-control-allow-origin');
      expect(headers['vary']).toContain('Origin');
    }
  });

  it('receive the headers of their preflight', async () => {
    const send = await startServer(new Set([page]));
    const { status, headers } = await send('/stream', page, { method: 'OPTIONS', headers: preflight });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      allow: 'GET',
      'access-control-allow-origin': page,
      'access-control-allow-methods': 'GET,HEAD,POST',
      'access-control-allow-headers': 'authorization,x-api-key,content-type',
    });
  });

  it('are all permitted by *', async () => {
    const send = await startServer(new Set(['*']));
    expect((await send('/stream', page)).headers['access-control-allow-origin']).toBe('*');
  });
});

describe('origins', () => {
  it('of a loopback URL are all loopback names', () => {
    expect([...originsOf('http://127.0.0.1:8080')]).toEqual([
      'http://127.0.0.1:8080',
      'http://localhost:8080',
      'http://[::1]:8080',
    ]);
    expect([...originsOf('https://fleet.example/app')]).toEqual([page]);
  });

  it('of a setting are separated by commas', () => {
    expect([...parseOrigins('CORS_ORIGINS', `${page}/, http://localhost:3000,`)]).toEqual([
      page,
      'http://localhost:3000',
    ]);
    for (const wrong of ['fleet.example', `${page}/path`, 'https://*.fleet.example/'])
      expect(() => parseOrigins('CORS_ORIGINS', wrong)).toThrow('CORS_ORIGINS contains');
  });
});
