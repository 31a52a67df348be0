import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RedisCluster, selfSigned } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

// Six real servers on a machine that may be busy.
jest.setTimeout(240_000);

describe('a Redis Cluster with a user, a password and TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-redis-tls-'));
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  let servers: RedisCluster;
  beforeAll(async () => {
    const { cert, key } = selfSigned();
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
    servers = await RedisCluster.start({ user: { name: 'fleet', password: 'data-password' }, tls: files });
  });
  afterAll(async () => {
    await servers?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  // The keys are in different slots.
  const script = `
    const { connectRedis } = await import('@fleet/storage');
    const redis = await connectRedis(process.env.REDIS_URL, { name: 'tls', onError: (error) => {
      console.log(error.code ?? error.message);
      process.exit(1);
    } });
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await redis.set(key, 'encrypted');
    console.log(await redis.eval("return redis.call('GET', KEYS[1])", { keys: ['c'], arguments: [] }));
    process.exit(0);`;

  /** Node.js reads NODE_EXTRA_CA_CERTS at its start. */
  const run = async (env: Record<string, string>): Promise<string> => {
    const options = {
      cwd: join(process.cwd(), 'libs/storage'),
      env: { ...process.env, REDIS_URL: servers.url, ...env },
    };
    const result = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options);
    return (await result.catch((error: { stdout: string }) => error)).stdout.trim();
  };

  it('is used with the authority of NODE_EXTRA_CA_CERTS, and refused without it', async () => {
    expect(await run({ NODE_EXTRA_CA_CERTS: files.certFile })).toBe('encrypted');
    expect(await run({})).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY|self-signed/);
  });

  it.each([
    ['user name', 'fleet:', 'other:'],
    ['password', 'data-password', 'wrong'],
  ])('is refused with a wrong %s', async (_which, from, to) => {
    const env = { NODE_EXTRA_CA_CERTS: files.certFile, REDIS_URL: servers.url.replace(from, to) };
    expect(await run(env)).toMatch(/WRONGPASS|NOAUTH/);
  });
});
