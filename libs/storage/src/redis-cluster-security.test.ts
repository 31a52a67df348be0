import { RedisCluster } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CertificateFiles, writeEncrypted } from './testing/encrypted-connection.ts';

// Six real servers on a machine that may be busy.
jest.setTimeout(240_000);

describe('a Redis Cluster with a user, a password and TLS', () => {
  const files = new CertificateFiles();
  let servers: RedisCluster;
  beforeAll(async () => {
    servers = await RedisCluster.start({ user: { name: 'fleet', password: 'data-password' }, tls: files });
  });
  afterAll(async () => {
    await servers?.remove();
    files.remove();
  });

  it('is used with the authority of NODE_EXTRA_CA_CERTS, and refused without it', async () => {
    expect(await writeEncrypted(servers.url, files.certFile)).toBe('encrypted');
    expect(await writeEncrypted(servers.url)).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY|self-signed/);
  });

  it.each([
    ['user name', 'fleet:', 'other:'],
    ['password', 'data-password', 'wrong'],
  ])('is refused with a wrong %s', async (_which, from, to) => {
    expect(await writeEncrypted(servers.url.replace(from, to), files.certFile)).toMatch(/WRONGPASS|NOAUTH/);
  });
});
