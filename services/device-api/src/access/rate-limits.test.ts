import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakePlatform } from '../testing/fake-platform.ts';
import { type ApiClient, type ApiResponse, createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

/** The defaults of docs/reference/conventions.md. */
const defaults = {
  RATE_LIMIT_HEALTH_BURST: '60',
  RATE_LIMIT_COMMANDS_BURST: '60',
  RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '30',
  RATE_LIMIT_READS_BURST: '200',
};

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
let replica: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  [api, replica] = [await harness.startService(defaults), await harness.startService(defaults)];
});
afterAll(() => harness.close());

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
let nextAddress = 1;
const newAddress = () => {
  nextAddress += 1;
  return from(`198.18.${nextAddress >> 8}.${nextAddress & 255}`);
};

describe('at the defaults', () => {
  it('allows a device a burst of 60 commands on all replicas together, without an effect on others', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    const forms = [imei, `00000000${imei}`];
    const responses: ApiResponse[] = [];
    const startedAt = performance.now();
    const round = (_unused: unknown, index: number) =>
      (index % 2 === 0 ? api : replica).get(`/wakeup?imei=${forms[index % 2]}`, newAddress());
    while (!responses.some(({ status }) => status === 429))
      responses.push(...(await Promise.all(Array.from({ length: 10 }, round))));
    const refused = responses.filter(({ status }) => status === 429);
    const passed = responses.filter(({ status }) => status === 200).length;
    expect(passed + refused.length).toBe(responses.length);
    expect(passed).toBeGreaterThanOrEqual(60);
    // The bucket refills by two tokens a second.
    expect(passed).toBeLessThanOrEqual(61 + (2 * (performance.now() - startedAt)) / 1000);
    const [one] = refused;
    expect(one?.body).toEqual({ status: 429, error: expect.stringMatching(/Retry in \d+ second/) });
    expect(one?.headers.get('retry-after')).toBe('1');
    expect(one?.headers.get('x-ratelimit-limit')).toBe('60');
    expect(one?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(one?.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 5);
    const other = await harness.connectDevice(() => createOutcome(0x8204));
    expect((await api.get(`/wakeup?imei=${other}`)).status).toBe(200);
  });

  it('accepts a request after the time of Retry-After', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    let refused = await api.get(`/wakeup?imei=${imei}`);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('59');
    await waitFor(async () => {
      const responses = await Promise.all(Array.from({ length: 10 }, () => api.get(`/wakeup?imei=${imei}`)));
      refused = responses.find(({ status }) => status === 429) ?? refused;
      return refused.status === 429;
    });
    const seconds = Number(refused.headers.get('retry-after'));
    const served = performance.now() + seconds * 1000;
    await waitFor(() => performance.now() >= served);
    expect((await api.get(`/wakeup?imei=${imei}`)).status).toBe(200);
  });

  it('allows an address a burst of 60 health requests, without an effect on others', async () => {
    const address = newAddress();
    const paths = [`/health/device?imei=${randomImei()}`, `/health/camera?imei=${randomImei()}&channel=1`];
    const responses: ApiResponse[] = [];
    // The bucket refills by 20 tokens a second.
    while (!responses.some(({ status }) => status === 429))
      responses.push(
        ...(await Promise.all(Array.from({ length: 20 }, (_unused, at) => api.get(paths[at % 2] ?? '', address)))),
      );
    const refused = responses.filter(({ status }) => status === 429);
    expect(responses.length - refused.length).toBeGreaterThanOrEqual(60);
    expect(refused[0]?.body).toEqual({ status: 429, error: expect.any(String) });
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect((await api.get(paths[0] ?? '', newAddress())).status).toBe(503);
  });

  it('allows 30 requests a minute to open a channel, without an effect on its neighbour', async () => {
    const imei = randomImei();
    const open = (channel: number) => api.get(`/realtime/stream.flv?imei=${imei}&channel=${channel}`, newAddress());
    let opened = 0;
    let refused = await open(1);
    for (; refused.status === 404; opened += 1) refused = await open(1);
    expect(opened).toBeGreaterThanOrEqual(30);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('x-ratelimit-limit')).toBe('30');
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(2);
    expect((await open(2)).status).toBe(404);
  });

  it('uses no token of a device for an invalid parameter', async () => {
    const { headers } = await api.get(`/realtime/start-stream?imei=${randomImei()}&channel=x`);
    expect(headers.get('x-ratelimit-limit')).toBeNull();
  });
});

describe('reads', () => {
  /**
   * Sends requests to both replicas alternately until one rejects; returns the number of accepted ones, and the
   * rejection.
   */
  const readUntilRefused = async (
    services: readonly ApiClient[],
    init: () => RequestInit,
  ): Promise<{ served: number; refused: ApiResponse; seconds: number }> => {
    const startedAt = performance.now();
    let served = 0;
    for (;;) {
      const responses = await Promise.all(
        Array.from({ length: 40 }, (_unused, at) =>
          services[at % services.length]?.get(`/videos/list?imei=${randomImei()}`, init()),
        ),
      );
      served += responses.filter((response) => response?.status === 200).length;
      const refused = responses.find((response) => response?.status === 429);
      if (refused !== undefined) return { served, refused, seconds: (performance.now() - startedAt) / 1000 };
    }
  };
  const rates = { RATE_LIMIT_READS_BURST: '200', RATE_LIMIT_READS_PER_SECOND: '1' };
  const expectRefusal = ({ served, refused, seconds }: Awaited<ReturnType<typeof readUntilRefused>>): void => {
    expect(served).toBeGreaterThanOrEqual(200);
    expect(served).toBeLessThanOrEqual(201 + seconds);
    expect(refused.body).toEqual({ status: 429, error: expect.stringMatching(/^Too many requests/) });
    expect(refused.headers.get('x-ratelimit-limit')).toBe('200');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(refused.headers.get('retry-after')).toBe('1');
  };

  it('allows an address without a key a burst of 200 on all replicas together', async () => {
    const services = [await harness.startService(rates), await harness.startService(rates)];
    const [one, other] = [newAddress(), newAddress()];
    expectRefusal(await readUntilRefused(services, () => one));
    const untouched = await readUntilRefused(services, () => other);
    expect(untouched.refused.status).toBe(429);
    expectRefusal(untouched);
  });

  it('allows a key a burst of 200 on all replicas together, from any address', async () => {
    const platform = await FakePlatform.start(harness.bus);
    const [one, other] = [platform.newKey(), platform.newKey()];
    const withKeys = { ...rates, DEVICE_API_AUTH: 'key' };
    const services = [await harness.startService(withKeys), await harness.startService(withKeys)];
    const by = (key: string) => ({ headers: { 'x-api-key': key, ...newAddress().headers } });
    expectRefusal(await readUntilRefused(services, () => by(one)));
    expect((await services[1]?.get(`/videos/list?imei=${randomImei()}`, by(other)))?.status).toBe(200);
    await platform.stop();
  });
});

describe('Retry-After', () => {
  it('is exact to the second on every replica', async () => {
    // One token in three seconds.
    const slow = { RATE_LIMIT_COMMANDS_BURST: '1', RATE_LIMIT_COMMANDS_PER_MINUTE: '20' };
    const services = [await harness.startService(slow), await harness.startService(slow)];
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    const sendWakeUp = async (no: number) => {
      const fromMs = performance.now();
      const response = await services[no % 2]?.get(`/wakeup?imei=${imei}`);
      return { response, fromMs, toMs: performance.now() };
    };
    const first = await sendWakeUp(0);
    expect(first.response?.status).toBe(200);
    const retryAfterSeconds: string[] = [];
    let last = await sendWakeUp(1);
    for (let no = 2; last.response?.status === 429; no += 1) {
      // The token returns three seconds after the first was used, at some time within that request.
      const leastMs = first.fromMs + 3_000 - last.toMs - 5;
      const mostMs = first.toMs + 3_000 - last.fromMs + 5;
      const seconds = Number(last.response.headers.get('retry-after'));
      expect(seconds).toBeGreaterThanOrEqual(Math.max(1, Math.ceil(leastMs / 1000)));
      expect(seconds).toBeLessThanOrEqual(Math.max(1, Math.ceil(mostMs / 1000)));
      expect(last.response.body).toMatchObject({ error: expect.stringContaining(`in ${seconds} second`) });
      retryAfterSeconds.push(String(seconds));
      last = await sendWakeUp(no);
    }
    expect(retryAfterSeconds).not.toEqual([]);
    expect(last.response?.status).toBe(200);
    expect(last.toMs - first.fromMs).toBeGreaterThanOrEqual(2_995);
  });
});

describe('X-RateLimit-Reset', () => {
  it('is the time of the full bucket, for accepted and rejected requests', async () => {
    // One token in ten seconds.
    const burst = 10;
    const slow = await harness.startService({
      RATE_LIMIT_COMMANDS_BURST: `${burst}`,
      RATE_LIMIT_COMMANDS_PER_MINUTE: '6',
    });
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    const fromS = Date.now() / 1000;
    let last = await slow.get(`/wakeup?imei=${imei}`);
    const toS = Date.now() / 1000;
    const getReset = ({ headers }: ApiResponse): number => Number(headers.get('x-ratelimit-reset'));
    let served = 0;
    let before = 0;
    for (; last.status === 200; served += 1) {
      before = getReset(last);
      expect(before).toBeGreaterThanOrEqual(Math.floor(fromS) + 10 * (served + 1));
      expect(before).toBeLessThanOrEqual(Math.ceil(toS) + 10 * (served + 1));
      last = await slow.get(`/wakeup?imei=${imei}`);
    }
    expect(last.status).toBe(429);
    expect(served).toBeGreaterThanOrEqual(burst);
    expect(Math.abs(getReset(last) - before)).toBeLessThanOrEqual(1);
    expect(Number(last.headers.get('retry-after'))).toBeLessThanOrEqual(10);
  });
});

describe('without Redis', () => {
  it('counts in each process, and rejects no request for the outage', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    await harness.redisServer.kill();
    const startedAt = performance.now();
    const responses = await Promise.all(Array.from({ length: 80 }, () => api.get(`/wakeup?imei=${imei}`)));
    const passed = responses.filter(({ status }) => status === 200).length;
    const refused = responses.filter(({ status }) => status === 429).length;
    expect(passed + refused).toBe(80);
    expect(passed).toBeGreaterThanOrEqual(60);
    // The bucket refills by two tokens a second.
    expect(passed).toBeLessThanOrEqual(60 + (2 * (performance.now() - startedAt)) / 1000);
    expect((await replica.get(`/wakeup?imei=${imei}`)).status).toBe(200);
    await harness.redisServer.start();
    await waitFor(async () => (await api.get(`/wakeup?imei=${imei}`)).status === 200);
  });
});
