import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';

jest.setTimeout(60_000);

const log = createLogger('credentials-test', 'silent');
let dir: string;
let nats: ServerProcess;
let former: Bus;
let next: Bus;

/** Writes the users as the Secret `nats-credentials` has them, and lets the server read them. */
function setUsers(...names: string[]): void {
  const users = names.map((name) => `{ user: ${name}, password: ${name}-password }`);
  writeFileSync(join(dir, 'users.conf'), `users: [${users.join(', ')}]\n`);
}
const reload = (): void => void process.kill(Number(readFileSync(join(dir, 'nats.pid'), 'utf8')), 'SIGHUP');

const connect = (name: string): Promise<Bus> =>
  openBus(`nats://${name}:${name}-password@127.0.0.1:${nats.port}`, { name, log });
const call = async ({ nc }: Bus): Promise<string> => (await nc.request('echo', 'x', { timeout: 10_000 })).string();

/** Returns true if a new connection of a user is accepted. */
async function isAccepted(name: string): Promise<boolean> {
  const { connect: open } = await import('nats');
  const options = { servers: `127.0.0.1:${nats.port}`, user: name, pass: `${name}-password`, reconnect: false };
  try {
    await (await open(options)).close();
    return true;
  } catch {
    // The server's refusal is the result.
    return false;
  }
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-nats-users-'));
  writeFileSync(join(dir, 'nats.conf'), 'authorization {\n  include users.conf\n}\n');
  setUsers('former');
  nats = await (await ServerProcess.nats(['-c', join(dir, 'nats.conf'), '-P', join(dir, 'nats.pid')])).start();
  former = await connect('former');
  former.nc.subscribe('echo', { callback: (_error, message) => void message.respond('done') });
  await former.flush();
});

afterAll(async () => {
  await Promise.all([former.close(), next.close()]);
  await nats.remove();
  rmSync(dir, { recursive: true, force: true });
});

describe('the rotation of the credentials of NATS', () => {
  it('connects services with both credentials, without interrupting the former ones', async () => {
    expect(await isAccepted('next')).toBe(false);
    setUsers('former', 'next');
    reload();
    await waitFor(() => isAccepted('next'), 'the next user to be accepted');
    next = await connect('next');
    expect(await call(next)).toBe('done');
    expect(await call(former)).toBe('done');
    expect(former.downForMs()).toBe(0);
  });

  it('disconnects the former credentials once they are removed, and leaves the next ones connected', async () => {
    setUsers('next');
    reload();
    await waitFor(() => !former.isUp(), 'the former user to be disconnected');
    expect(await isAccepted('former')).toBe(false);
    expect(next.isUp()).toBe(true);
    next.nc.subscribe('echo', { callback: (_error, message) => void message.respond('done') });
    expect(await call(next)).toBe('done');
  });
});
