import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { selfSigned } from '@fleet/testing';

/** Files of a certificate of 127.0.0.1, which is its own authority. */
export class CertificateFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fleet-redis-tls-'));
  readonly certFile = join(this.#folder, 'cert.pem');
  readonly keyFile = join(this.#folder, 'key.pem');

  constructor() {
    const { cert, key } = selfSigned();
    writeFileSync(this.certFile, cert);
    writeFileSync(this.keyFile, key);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

// In a cluster the keys are in different slots.
const script = `
  const { connectRedis } = await import('@fleet/storage');
  const redis = await connectRedis(process.env.REDIS_URL, { name: 'tls', onError: (error) => {
    console.log(error.code ?? error.message);
    process.exit(1);
  } });
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await redis.set(key, 'encrypted');
  console.log(await redis.eval("return redis.call('GET', KEYS[1])", { keys: ['c'], arguments: [] }));
  process.exit(0);`;

/**
 * Writes values in a process of its own, because Node.js reads NODE_EXTRA_CA_CERTS at its start. Returns `encrypted`, or the
 * code of the error.
 */
export async function writeEncrypted(url: string, authorityFile?: string): Promise<string> {
  const authority = authorityFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorityFile };
  const env = { ...process.env, REDIS_URL: url, ...authority };
  const options = { cwd: join(process.cwd(), 'libs/storage'), env };
  const result = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options);
  return (await result.catch((error: { stdout: string }) => error)).stdout.trim();
}
