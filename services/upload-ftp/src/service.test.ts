import { readFileSync } from 'node:fs';
import { pingService } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { loadConfig, schema } from './config.ts';
import { create } from './service.ts';
import { RawControl } from './testing/raw-control.ts';
import { World } from './testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

describe('upload-ftp', () => {
  const listenersBefore = process.listenerCount('SIGTERM');
  let world: World;

  beforeAll(async () => {
    world = await World.start();
  });
  afterAll(() => world.stop());

  const get = (path: string) => fetch(`http://127.0.0.1:${world.service.httpPort}${path}`);

  it('takes the signal handlers of ftp-srv away, which would end the process', () => {
    expect(process.listenerCount('SIGTERM')).toBe(listenersBefore);
    expect(process.listeners('SIGTERM').some((listener) => listener.toString().includes('debounced'))).toBe(false);
  });

  it('answers a command that arrives in several segments once it is whole, and knows none beside the listed ones', async () => {
    const control = await world.raw();
    for (const part of ['US', 'ER cam', 'era\r', '\nPA', 'SS secret\nSITE HELP\nLIST\nNO', 'OP\r\n'])
      await control.send(part);
    await control.hears(331);
    for (const code of [530, 502, 530, 200]) expect(await control.hears(code)).toBeDefined();
    control.socket.destroy();
  });

  it('answers health, metrics and unknown paths', async () => {
    expect(await (await get('/livez')).json()).toEqual({ live: true });
    expect(await (await get('/readyz')).json()).toEqual({
      ready: true,
      draining: false,
      checks: { message_broker: true, database: true, state_store: true, upload_server: true },
    });
    const metrics = await (await get('/metrics')).text();
    for (const name of [
      'logins_total',
      'bytes_total',
      'transfers_active 0',
      'sessions 0',
      'free_bytes',
      'settled_total',
    ])
      expect(metrics).toContain(`upload_ftp_${name.split(' ')[0]}`);
    expect((await get('/nothing')).status).toBe(404);
  });

  it('answers a ping over the bus while it listens, and not after its stop', async () => {
    expect(await pingService(world.bus, 'upload-ftp', 2_000)).toBe(true);
    const other = await create(loadConfig(world.env({ POD_ID: 'another', LOG_LEVEL: 'silent' })));
    await other.stop();
    const dial = new RawControl(other.ftpPort);
    await dial.until(() => dial.isClosed);
    expect(dial.said).toBe('');
  });

  it('promises nothing, and is not well, where its disk takes nothing', async () => {
    await world.service.stop();
    await world.startService({ CLIPS_MIN_FREE_BYTES: String(Number.MAX_SAFE_INTEGER).slice(0, 15) });
    expect(await pingService(world.bus, 'upload-ftp', 5_000)).toBe(false);
    expect((await get('/readyz')).status).toBe(503);
    const record = await world.reserve();
    await expect(world.grant(record._id)).rejects.toMatchObject({ code: 'unavailable' });
    await world.service.stop();
    await world.startService();
  });
});

describe('settings of upload-ftp', () => {
  it('stand in the README, every one and nothing else', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const rows = readme.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
    const named = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name),
    );
    expect([...new Set(named)].toSorted()).toEqual(Object.keys(schema).toSorted());
  });

  it.each([
    [{ FTP_PASV_MIN: '400', FTP_PASV_MAX: '300' }, /FTP_PASV_MIN is above/],
    [{ FTP_TLS_CERT_FILE: '/x' }, /need each other/],
    [{ FTP_TLS_REQUIRED: 'true' }, /FTP_TLS_REQUIRED needs/],
    [{ UPLOAD_HTTP_URL: 'x' }, /UPLOAD_HTTP_URL/],
  ])('refuses %j', (env, fault) => {
    expect(() => loadConfig(env)).toThrow(fault);
  });
});
