import { once } from 'node:events';
import { createServer, type RequestListener, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createDemo, signInPath } from './demo.ts';
import { createReverseProxy } from './proxy.ts';

const servers: Server[] = [];
let logins: unknown[];
let simulated: string[];
let base: string;

async function listen(listener: RequestListener | Server): Promise<string> {
  const server = typeof listener === 'function' ? createServer(listener) : listener;
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(async () => {
  [logins, simulated] = [[], []];
  const platformApi = await listen((req, res) => {
    void req.setEncoding('utf8').once('data', (body: string) => {
      logins.push({ ...JSON.parse(body), origin: req.headers.origin, agent: req.headers['user-agent'] });
      res.writeHead(200, { 'set-cookie': '__Host-refresh=r1; Secure; HttpOnly' }).end('{}');
    });
  });
  const simulator = await listen((req, res) => {
    simulated.push(`${req.method} ${req.url}`);
    res.end('{"terminals":[]}');
  });
  const account = { email: 'demo@fleet.example', password: 'secret', origin: 'http://127.0.0.1:8080' };
  const demo = createDemo({ ...account, platformApi, simulator });
  base = await listen(createReverseProxy({ deviceApi: platformApi, platformApi }, () => undefined, demo));
});

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Returns the status of a request with headers that `fetch` does not permit. */
async function statusOf(path: string, headers: Record<string, string>): Promise<number | undefined> {
  const [response] = await once(request(base + path, { headers }).end(), 'response');
  response.resume();
  return response.statusCode;
}

describe('the demo', () => {
  it('logs a browser in with a session cookie and leads it to the map', async () => {
    const response = await fetch(base + signInPath, { redirect: 'manual', headers: { 'user-agent': 'Firefox' } });
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/map#signed-in');
    expect(response.headers.getSetCookie()).toEqual(['__Host-refresh=r1; Secure; HttpOnly']);
    expect(logins).toEqual([
      {
        identifier: 'demo@fleet.example',
        password: 'secret',
        session: 'cookie',
        origin: 'http://127.0.0.1:8080',
        agent: 'Firefox',
      },
    ]);
  });

  it('passes actions on to the simulated fleet', async () => {
    await fetch(`${base}/demo/terminals`);
    await fetch(`${base}/demo/terminals/013800138001/sos`, { method: 'POST' });
    expect(simulated).toEqual(['GET /terminals', 'POST /terminals/013800138001/sos']);
  });

  it.each([
    ['a page of another origin', { origin: 'http://other.example' }],
    ['another host name', { host: 'other.example' }],
  ])('refuses %s', async (_from, headers) => {
    expect(await statusOf(signInPath, headers)).toBe(403);
    expect(await statusOf('/demo/terminals', headers)).toBe(403);
    expect([...logins, ...simulated]).toEqual([]);
  });
});
