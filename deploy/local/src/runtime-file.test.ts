import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Runtime, readRuntime, removeRuntime, runtimePath, writeRuntime } from './runtime-file.ts';
import { loadSecrets } from './secrets.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fleet-runtime-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const createRuntime = (processes: Record<string, number>): Runtime => ({
  pid: 1,
  started_at: '2026-01-01T00:00:00.000Z',
  data_dir: dataDir,
  base_url: 'http://127.0.0.1:8080',
  video_url: 'http://127.0.0.1:8081',
  ws_url: 'ws://127.0.0.1:8080/ws',
  device_api: { url: 'http://127.0.0.1:8083', api_key: 'fk_x', auth: 'off' },
  platform_api: { url: 'http://127.0.0.1:8082' },
  video_service: { url: 'http://127.0.0.1:8081' },
  jt808: { host: '127.0.0.1', port: 7808 },
  jt1078: { host: '127.0.0.1', live_port: 7078, history_port: 7079, talk_port: 7090 },
  ftp: { host: '127.0.0.1', port: 2121 },
  attachments: { host: '127.0.0.1', port: 7077 },
  demo: { email: 'demo@fleet.example', password: 'secret', api_key: 'fk_x', sign_in_url: null },
  chat: { generic_secret: 'g' },
  backends: { nats_url: '', redis_url: '', mongodb_url: '', ffmpeg: '' },
  health: {},
  processes,
  simulated_terminals: [],
});

describe('runtime.json', () => {
  it('is replaced atomically, leaves no temporary file, and is readable only by its owner', () => {
    writeRuntime(createRuntime({ gateway: 1 }));
    writeRuntime(createRuntime({ gateway: 2 }));
    expect(readRuntime(dataDir)?.processes).toEqual({ gateway: 2 });
    expect(readdirSync(dataDir)).toEqual(['runtime.json']);
    expect(statSync(runtimePath(dataDir)).mode & 0o777).toBe(0o600);
  });

  it('does not exist before a start and after a stop', () => {
    expect(readRuntime(dataDir)).toBeUndefined();
    writeRuntime(createRuntime({}));
    removeRuntime(dataDir);
    removeRuntime(dataDir);
    expect(existsSync(runtimePath(dataDir))).toBe(false);
  });
});

describe('secrets.json', () => {
  const path = (): string => join(dataDir, 'secrets.json');

  it('is created once, readable only by its owner, and does not change', () => {
    const first = loadSecrets(dataDir);
    expect(loadSecrets(dataDir)).toEqual(first);
    expect(first.demoApiKey).toMatch(/^fk_[A-Za-z0-9_-]{43}$/);
    expect(new Set(Object.values(first)).size).toBe(Object.keys(first).length);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  it('retains its values when a later version adds one', () => {
    const { demoPassword: _lost, ...older } = loadSecrets(dataDir);
    writeFileSync(path(), JSON.stringify(older));
    const completed = loadSecrets(dataDir);
    expect(completed).toMatchObject(older);
    expect(completed.demoPassword.length).toBeGreaterThanOrEqual(16);
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toEqual(completed);
  });
});
