import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connectRedis, type Redis } from './redis.ts';

jest.setTimeout(60_000);

let server: ServerProcess;
const clients: Redis[] = [];

async function connect(password: string): Promise<Redis> {
  const options = { name: 'credentials-test', onError: () => undefined };
  const client = await connectRedis(`redis://:${password}@127.0.0.1:${server.port}`, options);
  clients.push(client);
  return client;
}

beforeAll(async () => {
  server = await (await ServerProcess.redis(['--requirepass', 'former-password'])).start();
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  await server.remove();
});

describe('the rotation of the password of Redis', () => {
  it('accepts both passwords, and then the next one alone, without a lost connection', async () => {
    const former = await connect('former-password');
    await former.sendCommand(['ACL', 'SETUSER', 'default', '>next-password']);
    const next = await connect('next-password');
    await next.set('key', 'value');
    expect(await former.get('key')).toBe('value');
    await next.sendCommand(['ACL', 'SETUSER', 'default', '<former-password']);
    expect(await former.get('key')).toBe('value');
    await expect(next.sendCommand(['AUTH', 'former-password'])).rejects.toThrow('WRONGPASS');
  });
});
