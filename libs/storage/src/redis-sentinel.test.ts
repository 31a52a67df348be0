import { RedisSentinels, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connectRedis, createRedisClient, pingRedis, type Redis } from './redis.ts';
import { parseSentinelUrl } from './redis-sentinel.ts';
import { CertificateFiles, writeEncrypted } from './testing/encrypted-connection.ts';

// A failover of real servers on a machine that may be busy.
jest.setTimeout(240_000);

const timeoutMs = 120_000;

describe('a URL of sentinels', () => {
  it('names the sentinels, the master, and the credentials of the servers', () => {
    expect(parseSentinelUrl('redis+sentinel://user:p%40ss@a:1,b/fleet')).toEqual({
      sentinels: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26_379 },
      ],
      masterName: 'fleet',
      credentials: { username: 'user', password: 'p@ss' },
      sentinelCredentials: {},
      isEncrypted: false,
    });
  });

  it('names the credentials of the sentinels, and the encryption', () => {
    expect(parseSentinelUrl('rediss+sentinel://a:1/fleet?sentinel_username=u&sentinel_password=p%26q')).toMatchObject({
      credentials: {},
      sentinelCredentials: { username: 'u', password: 'p&q' },
      isEncrypted: true,
    });
  });

  it('is refused with an unknown parameter', () => {
    expect(() => parseSentinelUrl('redis+sentinel://a:1/fleet?password=x')).toThrow('unknown parameter password');
  });

  it('is refused without the name of the master', () => {
    expect(() => parseSentinelUrl('redis+sentinel://a:1')).toThrow('must be redis+sentinel://');
  });

  it('is none of a single server', () => {
    expect(parseSentinelUrl('redis://a:1')).toBeUndefined();
  });
});

describe('Redis with three sentinels', () => {
  let servers: RedisSentinels;
  let redis: Redis;
  let readyCount = 0;

  beforeAll(async () => {
    servers = await RedisSentinels.start();
    redis = await connectRedis(servers.url, { name: 'sentinel-test', onError: () => undefined });
    redis.on('ready', () => {
      readyCount += 1;
    });
  });
  afterAll(async () => {
    redis?.destroy();
    await servers?.remove();
  });

  it('supports commands, scripts and transactions', async () => {
    expect(redis.isReady).toBe(true);
    await redis.set('a', '1');
    expect(await redis.eval("return redis.call('GET', KEYS[1])", { keys: ['a'], arguments: [] })).toBe('1');
    expect(await redis.multi().incr('a').get('a').exec()).toEqual([2, '2']);
  });

  it('fails commands immediately after the loss of the master, and continues with its successor', async () => {
    await servers.killSentinel(0);
    await redis.set('b', 'kept');
    expect(await redis.sendCommand(['WAIT', '2', '5000'])).toBe(2);
    const { waitForFailover } = await servers.killMaster();
    await waitFor(() => !redis.isReady, 'the loss to be detected', timeoutMs);
    const startedAt = performance.now();
    await expect(redis.get('b')).rejects.toThrow(/offline|closed/i);
    await expect(redis.multi().get('b').exec()).rejects.toThrow(/offline|closed/i);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(await pingRedis(redis)).toBe(false);
    await waitForFailover();
    await waitFor(() => pingRedis(redis), 'the successor', timeoutMs);
    expect(readyCount).toBe(1);
    expect(await redis.get('b')).toBe('kept');
    await redis.set('b', 'changed');
    expect(await redis.get('b')).toBe('changed');
  });

  it('follows a second failover, after the former master has returned as a replica', async () => {
    await servers.restart();
    expect(await redis.sendCommand(['WAIT', '2', '60000'])).toBe(2);
    const { waitForFailover } = await servers.killMaster();
    await waitForFailover();
    await waitFor(() => pingRedis(redis), 'the successor', timeoutMs);
    expect(await redis.get('b')).toBe('changed');
  });
});

describe('Redis with passwords of servers and sentinels', () => {
  let servers: RedisSentinels;
  beforeAll(async () => {
    servers = await RedisSentinels.start({ password: 'data-password', sentinelPassword: 'sentinel-password' });
  });
  afterAll(() => servers?.remove());

  it('is used with both, and after a failover', async () => {
    const redis = await connectRedis(servers.url, { name: 'sentinel-test', onError: () => undefined });
    await redis.set('a', '1');
    expect(await redis.sendCommand(['WAIT', '2', '60000'])).toBe(2);
    const { waitForFailover } = await servers.killMaster();
    await waitForFailover();
    await waitFor(() => pingRedis(redis), 'the successor', timeoutMs);
    expect(await redis.get('a')).toBe('1');
    redis.destroy();
  });

  it.each([
    ['of the sentinels', (url: string) => url.replace('sentinel-password', 'wrong')],
    ['of the servers', (url: string) => url.replace('data-password', 'wrong')],
  ])('is refused with a wrong password %s', async (_which, change) => {
    const errors: unknown[] = [];
    const redis = createRedisClient(change(servers.url), {
      name: 'sentinel-test',
      onError: (error) => errors.push(error),
    });
    await waitFor(() => errors.some((error) => /WRONGPASS|NOAUTH/.test(String(error))), 'the refusal', timeoutMs);
    expect(redis.isReady).toBe(false);
    redis.destroy();
  });
});

describe('Redis with TLS', () => {
  const files = new CertificateFiles();
  let servers: RedisSentinels;
  beforeAll(async () => {
    servers = await RedisSentinels.start({
      password: 'data-password',
      sentinelPassword: 'sentinel-password',
      tls: files,
    });
  });
  afterAll(async () => {
    await servers?.remove();
    files.remove();
  });

  it('is used with the authority of NODE_EXTRA_CA_CERTS, and refused without it', async () => {
    expect(await writeEncrypted(servers.url, files.certFile)).toBe('encrypted');
    expect(await writeEncrypted(servers.url)).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
  });
});
