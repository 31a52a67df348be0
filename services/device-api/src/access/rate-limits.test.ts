import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { type Answer, answered, randomImei, World } from '../testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

/** The defaults of platform-contract.md, section 1.7. */
const defaults = {
  RATE_LIMIT_HEALTH_BURST: '60',
  RATE_LIMIT_COMMANDS_BURST: '60',
  RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '30',
  RATE_LIMIT_READS_BURST: '200',
};

let world: World;
let api: Awaited<ReturnType<World['service']>>;
let replica: Awaited<ReturnType<World['service']>>;
beforeAll(async () => {
  world = await World.open();
  [api, replica] = [await world.service(defaults), await world.service(defaults)];
});
afterAll(() => world.close());

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
let nextAddress = 1;
const newAddress = () => from(`198.51.100.${nextAddress++}`);

describe('at the defaults', () => {
  it('a device takes a burst of 60 commands on all replicas together; another device is not touched', async () => {
    const imei = await world.device(() => answered(0x8204));
    const forms = [imei, `00000000${imei}`];
    const answers: Answer[] = [];
    const startedAt = performance.now();
    const round = (_unused: unknown, index: number) =>
      (index % 2 === 0 ? api : replica).get(`/wakeup?imei=${forms[index % 2]}`, newAddress());
    while (!answers.some(({ status }) => status === 429))
      answers.push(...(await Promise.all(Array.from({ length: 10 }, round))));
    const refused = answers.filter(({ status }) => status === 429);
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(passed + refused.length).toBe(answers.length);
    expect(passed).toBeGreaterThanOrEqual(60);
    // Two tokens come back in each second.
    expect(passed).toBeLessThanOrEqual(61 + (2 * (performance.now() - startedAt)) / 1000);
    const [one] = refused;
    expect(one?.body).toEqual({ status: 429, error: expect.stringMatching(/ask again in \d+ second/) });
    expect(one?.headers.get('retry-after')).toBe('1');
    expect(one?.headers.get('x-ratelimit-limit')).toBe('60');
    expect(one?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(one?.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 5);
    const other = await world.device(() => answered(0x8204));
    expect((await api.get(`/wakeup?imei=${other}`)).status).toBe(200);
  });

  it('who waits as long as Retry-After says is served', async () => {
    const imei = await world.device(() => answered(0x8204));
    let refused = await api.get(`/wakeup?imei=${imei}`);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('59');
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => api.get(`/wakeup?imei=${imei}`)));
      refused = answers.find(({ status }) => status === 429) ?? refused;
      return refused.status === 429;
    });
    const seconds = Number(refused.headers.get('retry-after'));
    const served = performance.now() + seconds * 1000;
    await until(() => performance.now() >= served);
    expect((await api.get(`/wakeup?imei=${imei}`)).status).toBe(200);
  });

  it('an address makes 60 health requests at once, with an ApiError after them; another address is not touched', async () => {
    const address = newAddress();
    const paths = [`/health/device?imei=${randomImei()}`, `/health/camera?imei=${randomImei()}&channel=1`];
    const answers: Answer[] = [];
    // 20 tokens come back in each second that this takes.
    while (!answers.some(({ status }) => status === 429))
      answers.push(
        ...(await Promise.all(Array.from({ length: 20 }, (_unused, at) => api.get(paths[at % 2] ?? '', address)))),
      );
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(60);
    expect(refused[0]?.body).toEqual({ status: 429, error: expect.any(String) });
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect((await api.get(paths[0] ?? '', newAddress())).status).toBe(503);
  });

  it('a channel is opened 30 times a minute; its neighbour is not touched', async () => {
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

  it('a request with a wrong parameter costs no token of a device', async () => {
    const { headers } = await api.get(`/realtime/start-stream?imei=${randomImei()}&channel=x`);
    expect(headers.get('x-ratelimit-limit')).toBeNull();
  });
});

describe('without Redis', () => {
  it('each process counts for itself, and nobody is refused for that', async () => {
    const imei = await world.device(() => answered(0x8204));
    await world.redisServer.kill();
    const answers = await Promise.all(Array.from({ length: 80 }, () => api.get(`/wakeup?imei=${imei}`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    expect((await replica.get(`/wakeup?imei=${imei}`)).status).toBe(200);
    await world.redisServer.start();
    await until(async () => (await api.get(`/wakeup?imei=${imei}`)).status === 200);
  });
});
