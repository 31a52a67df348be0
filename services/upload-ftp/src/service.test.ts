import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callUseCase, eventSubject, locateClip, type MediaStored, mediaStoredSubject, pingService } from '@fleet/bus';
import { signFilePath } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { loadConfig, schema } from './config.ts';
import { create } from './service.ts';
import { RawControl } from './testing/raw-control.ts';
import { UploadHarness } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

describe('upload-ftp', () => {
  const listenersBefore = process.listenerCount('SIGTERM');
  let harness: UploadHarness;

  beforeAll(async () => {
    harness = await UploadHarness.start();
  });
  afterAll(() => harness.stop());

  const get = (path: string) => fetch(`http://127.0.0.1:${harness.service.httpPort}${path}`);
  const getAdmin = (path: string) => fetch(`http://127.0.0.1:${harness.service.adminPort}${path}`);

  it('removes the signal handlers of ftp-srv, which would end the process', () => {
    expect(process.listenerCount('SIGTERM')).toBe(listenersBefore);
    expect(process.listeners('SIGTERM').some((listener) => listener.toString().includes('debounced'))).toBe(false);
  });

  it('executes a command that arrives in several segments and rejects commands that are not allowed', async () => {
    const control = await harness.raw();
    for (const part of ['US', 'ER cam', 'era\r', '\nPA', 'SS secret\nSITE HELP\nLIST\nNO', 'OP\r\n'])
      await control.write(part);
    await control.expectReply(331);
    for (const code of [530, 502, 530, 200]) expect(await control.expectReply(code)).toBeDefined();
    control.socket.destroy();
  });

  it('serves health, metrics and 404 for unknown paths', async () => {
    expect(await (await getAdmin('/livez')).json()).toEqual({ live: true });
    expect(await (await getAdmin('/readyz')).json()).toEqual({
      ready: true,
      draining: false,
      checks: { message_broker: true, database: true, state_store: true, upload_server: true },
    });
    const metrics = await (await getAdmin('/metrics')).text();
    for (const name of [
      'logins_total',
      'bytes_total',
      'transfers_active 0',
      'sessions 0',
      'free_bytes',
      'finalized_total',
    ])
      expect(metrics).toContain(`upload_ftp_${name.split(' ')[0]}`);
    expect((await get('/nothing')).status).toBe(404);
  });

  it('responds to a ping over the bus and accepts no connection after its stop', async () => {
    expect(await pingService(harness.bus, 'upload-ftp', 2_000)).toBe(true);
    const CLIPS_DIR = mkdtempSync(join(tmpdir(), 'fleet-other-pod-'));
    const env = harness.buildEnv({ POD_ID: 'another', LOG_LEVEL: 'silent', CLIPS_DIR });
    const other = await create(loadConfig(env));
    await other.stop();
    rmSync(CLIPS_DIR, { recursive: true });
    await expect(create(loadConfig({ ...env, CLIPS_DIR: harness.clipsDir }))).rejects.toThrow(
      /^CLIPS_DIR belongs to the pod/,
    );
    await expect(create(loadConfig(harness.buildEnv({ LOG_LEVEL: 'silent' })))).rejects.toThrow(
      /^CLIPS_DIR is in use by another process/,
    );
    const dial = new RawControl(other.ftpPort);
    await dial.waitUntil(() => dial.isClosed);
    expect(dial.output).toBe('');
  });

  it('refuses grants and reports itself as not ready when the disk is full', async () => {
    await harness.service.stop();
    await harness.startService({ CLIPS_MIN_FREE_BYTES: String(Number.MAX_SAFE_INTEGER).slice(0, 15) });
    expect(await pingService(harness.bus, 'upload-ftp', 5_000)).toBe(false);
    expect((await getAdmin('/readyz')).status).toBe(503);
    const record = await harness.reserve();
    await expect(harness.grantUpload(record._id)).rejects.toMatchObject({ code: 'unavailable' });
    await harness.service.stop();
    await harness.startService();
  });
});

describe('files of terminals', () => {
  let harness: UploadHarness;
  beforeAll(async () => {
    harness = await UploadHarness.start();
  });
  afterAll(() => harness.stop());

  it("are stored from the gateway's event, published and served", async () => {
    const imei = '13912345678';
    const data = Buffer.from('ffd8ffe000104a46494600', 'hex');
    const head = Buffer.from('0000002a00000001', 'hex');
    const subscription = harness.bus.nc.subscribe(mediaStoredSubject(imei), { max: 1 });
    await harness.bus.js.publish(eventSubject(imei, 0x0801), Buffer.concat([head, data]));
    for await (const message of subscription) {
      const stored = message.json<MediaStored>();
      expect(stored).toMatchObject({ imei, server: harness.podId, mimeType: 'image/jpeg', sizeBytes: data.length });
      const baseUrl = `http://127.0.0.1:${harness.service.httpPort}`;
      const secret = loadConfig(harness.buildEnv()).CLIPS_SIGNING_SECRET;
      const file = await fetch(signFilePath(secret, { baseUrl, ...stored, lifetimeMs: 60_000 }));
      expect(Buffer.from(await file.arrayBuffer()).equals(data)).toBe(true);
    }
    await waitFor(async () => (await harness.metric('upload_ftp_media_files_total')).includes('kind="image"'));
  });

  it('are found after a restart without POD_ID, while a second pod on the directory is refused', async () => {
    const { POD_ID: _none, ...env } = harness.buildEnv({ LOG_LEVEL: 'silent' });
    await harness.service.stop();
    const first = await create(loadConfig(env));
    const id = readFileSync(join(harness.clipsDir, '.pod-id'), 'utf8').trim();
    const isServed = () =>
      callUseCase(harness.bus, locateClip(id), {}, { timeoutMs: 10_000 }).then(
        ({ httpUrl }) => httpUrl,
        () => null,
      );
    expect(await isServed()).toBe(`http://127.0.0.1:${first.httpPort}`);
    await expect(create(loadConfig(env))).rejects.toThrow('CLIPS_DIR is in use by another process');
    await first.stop();
    expect(await isServed()).toBeNull();
    const again = await create(loadConfig(env));
    expect(await isServed()).toBe(`http://127.0.0.1:${again.httpPort}`);
    await again.stop();
    await harness.startService();
  });
});

describe('settings of upload-ftp', () => {
  it('are all listed in the README, and no others', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const rows = readme.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
    const named = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name),
    );
    expect([...new Set(named)].toSorted()).toEqual(Object.keys(schema).toSorted());
  });

  it.each([
    [{ FTP_PASV_MIN: '400', FTP_PASV_MAX: '300' }, /FTP_PASV_MIN is greater/],
    [{ FTP_TLS_CERT_FILE: '/x' }, /must be set together/],
    [{ FTP_TLS_REQUIRED: 'true' }, /FTP_TLS_REQUIRED requires/],
    [{ UPLOAD_HTTP_URL: 'x' }, /UPLOAD_HTTP_URL/],
  ])('reject %j', (env, fault) => {
    expect(() => loadConfig(env)).toThrow(fault);
  });
});
