import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ProviderServer } from '../testing/provider-server.ts';
import { HttpProvider, ProviderError, ProviderRefusal } from './http-provider.ts';
import { SharedRateLimiter } from './shared-rate-limiter.ts';

let server: ProviderServer;
let provider: HttpProvider;
const options = () => ({ url: `${server.url}/base/`, timeoutMs: 3_000, userAgent: 'fleet-test (ops@fleet.example)' });

beforeEach(async () => {
  server = await ProviderServer.start();
  provider = new HttpProvider(options());
});
afterEach(async () => {
  provider.stop();
  await server.stop();
});

/** Fakes the commands of Redis that the rate limiter uses. */
function fakeRedis() {
  const keys = new Set<string>();
  return {
    set: (key: string) => {
      if (keys.has(key)) return Promise.resolve(null);
      keys.add(key);
      return Promise.resolve('OK');
    },
  } as unknown as ConstructorParameters<typeof SharedRateLimiter>[0];
}

describe('HttpProvider', () => {
  it('sends requests below the base URL with its User-Agent, and omits absent parameters', async () => {
    server.respond = () => ({ body: { fine: true } });
    expect(await provider.get('/search', { q: 'a b&c', lat: 1.5, lang: undefined })).toEqual({ fine: true });
    expect(server.last.url.pathname).toBe('/base/search');
    expect(Object.fromEntries(server.last.url.searchParams)).toEqual({ q: 'a b&c', lat: '1.5' });
    expect(server.last.headers['user-agent']).toBe('fleet-test (ops@fleet.example)');
    await provider.post('/route', { locations: [] });
    expect(server.last).toMatchObject({ method: 'POST', body: { locations: [] } });
  });

  it.each([
    ['a server error', { status: 500, body: { error: 'x' } }],
    ['a rate limit', { status: 429, body: { error: 'x' } }],
    ['a rejected key', { status: 403, body: { error: 'x' } }],
    ['a page instead of JSON', { body: '<html>' }],
    ['a rejection that is not JSON', { status: 404, body: 'not found' }],
  ])('fails with %s', async (_name, response) => {
    server.respond = () => response;
    await expect(provider.get('/x')).rejects.toBeInstanceOf(ProviderError);
  });

  it('fails with a timeout', async () => {
    server.respond = () => 'silence';
    const hasty = new HttpProvider({ ...options(), timeoutMs: 100 });
    await expect(hasty.get('/x')).rejects.toThrow('could not reach the provider');
    hasty.stop();
  });

  it('distinguishes rejected requests from failures', async () => {
    server.respond = () => ({ status: 400, body: { code: 'NoRoute' } });
    const refusal = await provider.get('/x').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ProviderRefusal);
    expect(refusal).toMatchObject({ status: 400, body: { code: 'NoRoute' } });
  });

  it('opens the circuit breaker of a failing provider only', async () => {
    server.respond = () => ({ status: 503, body: {} });
    for (let at = 0; at < 10; at += 1) await expect(provider.get('/x')).rejects.toBeInstanceOf(Error);
    expect(provider.isCircuitOpen).toBe(true);
    const requested = server.received.length;
    await expect(provider.get('/x')).rejects.toThrow('Breaker is open');
    expect(server.received).toHaveLength(requested);
    const other = new HttpProvider(options());
    server.respond = () => ({ body: { fine: true } });
    expect(await other.get('/x')).toEqual({ fine: true });
    other.stop();
  });

  it('keeps the breaker closed for rejections and below ten requests', async () => {
    server.respond = () => ({ status: 400, body: { code: 'NoRoute' } });
    for (let at = 0; at < 15; at += 1) await expect(provider.get('/x')).rejects.toBeInstanceOf(ProviderRefusal);
    server.respond = () => ({ status: 500, body: {} });
    for (let at = 0; at < 5; at += 1) await expect(provider.get('/x')).rejects.toBeInstanceOf(ProviderError);
    expect(provider.isCircuitOpen).toBe(false);
  });

  it('enforces the limit over all replicas, and sends no request beyond it', async () => {
    const redis = fakeRedis();
    const replicas = [0, 1].map(
      () => new HttpProvider({ ...options(), timeoutMs: 1_500, limiter: new SharedRateLimiter(redis, 'turn', 5) }),
    );
    const startedAtMs = Date.now();
    const results = await Promise.allSettled(
      replicas.flatMap((replica) => Array.from({ length: 15 }, (_unused, at) => replica.get(`/${at}`))),
    );
    const slices = Math.floor((Date.now() - startedAtMs) / 200) + 2;
    const done = results.filter(({ status }) => status === 'fulfilled').length;
    expect(done).toBeGreaterThanOrEqual(1);
    expect(done).toBeLessThanOrEqual(slices);
    expect(results.filter(({ status }) => status === 'rejected').length).toBe(30 - done);
    for (const replica of replicas) replica.stop();
  });

  it('enforces the limit in each process while Redis is unavailable', async () => {
    const away = { set: () => Promise.reject(new Error('away')) } as unknown as ConstructorParameters<
      typeof SharedRateLimiter
    >[0];
    const limiter = new SharedRateLimiter(away, 'turn', 1);
    expect(await limiter.acquire(1_500)).toBe(true);
    const turns = await Promise.all([limiter.acquire(10), limiter.acquire(10)]);
    expect(turns.filter(Boolean).length).toBeLessThanOrEqual(1);
  });
});
