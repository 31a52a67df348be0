import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { freePort, selfSigned } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import { type StartedHarness, startHarness } from './testing/harness.ts';
import { runDoctor } from './testing/run-doctor.ts';

jest.setTimeout(240_000);

let harness: StartedHarness;
let receiver: AlarmReceiver;
const servers: Server[] = [];

beforeAll(async () => {
  receiver = await AlarmReceiver.start(selfSigned());
  harness = await startHarness(receiver.settings);
});

afterAll(async () => {
  for (const server of servers) server.close();
  await harness?.stop();
  await receiver?.stop();
}, 120_000);

const diagnose = (...args: string[]) => runDoctor(['--json', ...args], harness.product.dataDir);

/** Starts a server on loopback; returns its port. */
async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('npm run doctor on a working product', () => {
  it('leads a simulated terminal through everything and deletes its vehicle', async () => {
    const { code, checks } = await diagnose('--webhook-url', receiver.url);
    expect(checks.filter(({ status }) => !['ok', 'warning'].includes(status))).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'Health',
        'Store: nats',
        'Migrations',
        'Log-in',
        'Terminal: location',
        'Terminal: command',
        'Terminal: event',
        'Webhook',
        'Video: first picture',
        'Clip by FTP',
        'Clean-up',
      ]),
    );
    expect(code).toBe(0);
    expect(receiver.delivered.length).toBeGreaterThan(0);
  });

  it('prints one line for each check without --json', async () => {
    const { code, stdout } = await runDoctor(['--without-terminal'], harness.product.dataDir);
    expect(stdout).toMatch(/^ok {6}Health: All components are healthy\.$/m);
    expect(stdout).toMatch(/No check failed\.\n$/);
    expect(code).toBe(0);
  });
});

describe('npm run doctor on a broken product', () => {
  it('names a closed port, and what to do', async () => {
    const closed = `127.0.0.1:${await freePort()}`;
    const { code, checks } = await diagnose('--without-terminal', '--gateway', closed);
    expect(checks.filter(({ status }) => status === 'failed')).toMatchObject([
      {
        name: `Port: gateway ${closed}`,
        text: expect.stringContaining('ECONNREFUSED'),
        advice: expect.stringContaining(`open ${closed} in the firewall`),
      },
    ]);
    expect(code).toBe(1);
  });

  it('reports a wrong key, and skips what needs the log-in', async () => {
    const { code, checks } = await diagnose('--api-key', 'fk_wrong');
    const failures = checks.filter(({ status }) => status === 'failed');
    expect(failures).toMatchObject([
      { name: 'Log-in', text: expect.stringContaining('401'), advice: expect.stringContaining('--api-key') },
    ]);
    expect(checks.find(({ name }) => name === 'Clip by FTP')).toMatchObject({ status: 'skipped' });
    expect(code).toBe(1);
  });

  it('reports NATS that does not respond, and the unhealthy component', async () => {
    const { nats } = harness.product.runtime.processes;
    if (nats === undefined) throw new Error('NATS does not run');
    process.kill(nats, 'SIGSTOP');
    try {
      const { code, checks } = await diagnose('--without-terminal');
      const failures = checks.filter(({ status }) => status === 'failed').map(({ name }) => name);
      expect(failures).toEqual(expect.arrayContaining(['Store: nats']));
      expect(code).toBe(1);
    } finally {
      process.kill(nats, 'SIGCONT');
    }
  });

  it.each([
    [0, 'failed', 'are not applied: platform-api is not ready', 'kubectl logs job/migrate'],
    [8, 'failed', 'up to number 8; this release needs 9', 'run dist/migrate.js again'],
    [10, 'warning', 'up to number 10; the running release needs only 9', 'correct after a roll-back'],
  ])('reports a database with migrations up to %i', async (applied, status, text, advice) => {
    const gauge = (state: string, value: number): string =>
      `platform_schema_version{state="${state}",service="platform-api"} ${value}\n`;
    const admin = createServer((_request, response) => {
      response.end(gauge('required', 9) + gauge('applied', applied));
    });
    const { code, checks } = await diagnose(
      '--without-terminal',
      '--admin-url',
      `http://127.0.0.1:${await listen(admin)}`,
    );
    expect(checks.find(({ name }) => name === 'Migrations')).toMatchObject({
      status,
      text: expect.stringContaining(text),
      advice: expect.stringContaining(advice),
    });
    expect(code).toBe(status === 'failed' ? 1 : 0);
  });

  it('reports a server whose clock is wrong', async () => {
    const date = new Date(Date.now() - 600_000).toUTCString();
    const late = createServer((_request, response) => {
      response.writeHead(200, { date, 'content-type': 'application/json' }).end('{"components":{"database":false}}');
    });
    const { checks } = await diagnose('--without-terminal', '--base-url', `http://127.0.0.1:${await listen(late)}`);
    expect(checks.find(({ name }) => name === 'Clock')).toMatchObject({
      status: 'failed',
      text: expect.stringMatching(/differs by (599|6\d\d) s/),
      advice: expect.stringContaining('NTP'),
    });
    expect(checks.find(({ name }) => name === 'Health')).toMatchObject({ text: '200: database unhealthy' });
  });

  it.each([
    ['an expired certificate', -86_400_000, 'has expired on'],
    ['a certificate of an unknown authority', 86_400_000, 'is not trusted'],
  ])('reports %s', async (_name, validForMs, text) => {
    const { cert, key } = selfSigned(Date.now() + validForMs);
    const port = await listen(createTlsServer({ cert, key }, (_request, response) => void response.end()));
    const { code, checks } = await diagnose('--without-terminal', '--base-url', `https://127.0.0.1:${port}`);
    expect(checks.find(({ name }) => name.startsWith('Certificate'))).toMatchObject({
      status: 'failed',
      text: expect.stringContaining(text),
    });
    expect(code).toBe(1);
  });

  it('exits with 2 if the command line is wrong', async () => {
    expect(await runDoctor(['--gateway', 'nowhere'], harness.product.dataDir)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('gateway is nowhere: give a host and a port'),
    });
    expect(await runDoctor(['--unknown'], harness.product.dataDir)).toMatchObject({ code: 2 });
  });
});
