import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type StartedHarness, startHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

let harness: StartedHarness;
const folders: string[] = [];

beforeAll(async () => {
  harness = await startHarness();
}, 180_000);

afterAll(async () => {
  await harness.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}, 60_000);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // The process does not exist.
    return false;
  }
}

/** Runs the launcher until it exits. */
function launch(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [resolve('deploy/local/dist/main.js'), '--no-simulator', '--stop-with-stdin'], {
    env: { ...process.env, HOST: '127.0.0.1', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return new Promise((done) => child.once('close', (code) => done({ code, output })));
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  folders.push(folder);
  return folder;
}

/** Port offset of the running product. */
const getOffset = ({ product }: StartedHarness): string =>
  String(Number(new URL(product.runtime.base_url).port) - 8080);

/** Asserts that a failed start prints one sentence for the user and no stack trace. */
function expectOneSentence(output: string): string {
  const lines = output.trim().split('\n');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^[A-Z].*\.$/);
  expect(output).not.toMatch(/\bat .*:\d+:\d+/);
  return lines[0] ?? '';
}

/** Names of all processes that the launcher starts. */
const names = [
  'nats',
  'redis',
  'mongodb',
  'jt808-gateway',
  'jt1078-media',
  'device-api',
  'platform-api',
  'platform-telemetry',
  'upload-ftp',
  'webhook-dispatcher',
  'reverse-proxy',
];

describe('the local start', () => {
  it('lists the processes that it started, and all of them run', () => {
    const { runtime } = harness.product;
    expect(Object.keys(runtime.processes).toSorted()).toEqual(names.toSorted());
    for (const pid of [runtime.pid, ...Object.values(runtime.processes)]) expect(isAlive(pid)).toBe(true);
  });

  it('refuses a second start on the same data directory', async () => {
    const { dataDir, runtime } = harness.product;
    const { code, output } = await launch({ DATA_DIR: dataDir, PORT_OFFSET: '2500' });
    expect(code).toBe(1);
    const sentence = expectOneSentence(output);
    expect(sentence).toContain('already running');
    expect(sentence).toContain(String(runtime.pid));
    // The running product is unaffected.
    expect((await harness.get('/health')).status).toBe(200);
    expect(existsSync(join(dataDir, 'runtime.json'))).toBe(true);
  }, 60_000);

  it('reports which port is in use and what to do', async () => {
    const dataDir = newFolder();
    const { code, output } = await launch({ DATA_DIR: dataDir, PORT_OFFSET: getOffset(harness) });
    expect(code).toBe(1);
    const sentence = expectOneSentence(output);
    expect(sentence).toMatch(/TCP port \d+ on 127\.0\.0\.1 .* is taken/);
    expect(sentence).toContain('PORT_OFFSET');
    // No file remains that would block the next start.
    expect(readdirSync(dataDir)).toEqual([]);
  }, 60_000);

  it.each(['webhook-dispatcher', 'upload-ftp', 'device-api', 'reverse-proxy'])(
    'restarts %s after a kill and publishes the new process id',
    async (name) => {
      const pid = harness.product.runtime.processes[name];
      if (pid === undefined) throw new Error(`${name} does not run`);
      process.kill(pid, 'SIGKILL');
      const next = await waitFor(() => {
        const now = harness.product.runtime.processes[name];
        return now === pid ? undefined : now;
      }, `another ${name}`);
      expect(isAlive(next)).toBe(true);
      expect(isAlive(pid)).toBe(false);
      expect(harness.product.output()).toMatch(new RegExp(`${name} ended \\(signal SIGKILL\\); restarting it`));
      await waitFor(async () => (await harness.get('/health').catch(() => undefined))?.status === 200, 'health');
      expect(Object.keys(harness.product.runtime.processes).toSorted()).toEqual(names.toSorted());
    },
    60_000,
  );

  // The last test: no process runs after it.
  it('stops with terminals, streams and commands in flight, and leaves nothing running', async () => {
    const terminal = await harness.startTerminal({ reconnect: false });
    const silent = await harness.startTerminal({ reconnect: false });
    silent.setBehaviour({ kind: 'silent' });
    const { runtime, dataDir } = harness.product;
    await harness.get(`/realtime/start-stream?imei=${terminal.phone}&channel=1`);
    const viewer = new Viewer(`${runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    const inFlight = harness.get(`/wakeup?imei=${silent.phone}`).then(
      (response) => response.status,
      () => 'cut',
    );
    await silent.waitForCommand(0x8201);
    const pids = [runtime.pid, ...Object.values(runtime.processes)];
    const startedAt = performance.now();
    await harness.product.stop();
    expect(performance.now() - startedAt).toBeLessThan(35_000);
    // Every process exited by itself during the shutdown; none was killed.
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(dataDir)).toBe(false);
    await waitFor(() => viewer.ended !== undefined, 'the end of the stream');
    expect([502, 503, 'cut']).toContain(await inFlight);
    await waitFor(() => !terminal.isOnline && !silent.isOnline, 'the terminals to be disconnected');
    const ports = [runtime.base_url, runtime.video_url, ...Object.values(runtime.health)].map(
      (url) => new URL(url).port,
    );
    const { jt808, jt1078, ftp, attachments } = runtime;
    for (const port of [...ports, jt808.port, jt1078.live_port, ftp.port, attachments.port])
      expect(await acceptsConnections(Number(port))).toBe(false);
  }, 90_000);
});

describe('a persistent data directory', () => {
  it('retains the key and the database between starts, and no file of a single start', async () => {
    const dataDir = newFolder();
    const { startProduct } = await import('@fleet/local/product');
    const first = await startProduct({ dataDir });
    const key = first.runtime.device_api.api_key;
    await first.stop();
    for (const file of ['runtime.json', 'launcher.lock']) expect(existsSync(join(dataDir, file))).toBe(false);
    const second = await startProduct({ dataDir });
    expect(second.runtime.device_api.api_key).toBe(key);
    await second.stop();
  }, 240_000);
});

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((finish) => {
    const socket = connect({ host: '127.0.0.1', port });
    const finishWith = (isAccepted: boolean) => (): void => {
      socket.destroy();
      finish(isAccepted);
    };
    socket.once('connect', finishWith(true));
    socket.once('error', finishWith(false));
  });
}
