import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StartError } from './start-error.ts';
import type { ProcessSpec } from './supervised-process.ts';
import { defaultBackoffMs, Supervisor, type SupervisorOptions } from './supervisor.ts';

// Uses real processes and sockets on a machine that may be busy; no test depends on timing.
jest.setTimeout(60_000);

let folder: string;
let supervisor: Supervisor;
let reports: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-supervisor-'));
  reports = [];
});
afterEach(async () => {
  await supervisor.stop();
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string): string => join(folder, name);

function create(options: Partial<SupervisorOptions> = {}): Supervisor {
  supervisor = new Supervisor({ report: (line) => reports.push(line), backoffMs: () => 10, ...options });
  return supervisor;
}

/** Creates a child that writes `<name>.up` when it runs and appends its end to `order`. */
function child(name: string, tier: number, body = 'setInterval(() => {}, 1000)'): ProcessSpec {
  const script = `
    import { appendFileSync, writeFileSync } from 'node:fs';
    process.on('SIGTERM', () => { appendFileSync(${JSON.stringify(at('order'))}, '${name} '); process.exit(0); });
    writeFileSync(${JSON.stringify(at(`${name}.up`))}, String(process.pid));
    ${body}`;
  writeFileSync(at(`${name}.mjs`), script);
  return {
    name,
    tier,
    command: process.execPath,
    args: [at(`${name}.mjs`)],
    env: process.env,
    logFile: at(`${name}.log`),
    isReady: async () => existsSync(at(`${name}.up`)),
    readyTimeoutMs: 20_000,
  };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a process has exited, collected or not. */
function isExited(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return true;
  }
}

describe('Supervisor', () => {
  it('stops in reverse order and leaves no process running', async () => {
    const running = create();
    await running.start([child('backend', 0)]);
    await running.start([child('service', 1)]);
    await running.start([child('proxy', 2)]);
    const pids = Object.values(running.pids());
    expect(pids).toHaveLength(3);
    await running.stop();
    expect(readFileSync(at('order'), 'utf8')).toBe('proxy service backend ');
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('restarts a failed process, reports it in one line, and updates its id', async () => {
    let changes = 0;
    const running = create({ onChange: () => changes++ });
    await running.start([child('service', 1)]);
    const before = running.pids()['service'] ?? 0;
    changes = 0;
    process.kill(before, 'SIGKILL');
    await waitFor(() => ![undefined, before].includes(running.pids()['service']));
    expect(reports).toEqual([expect.stringMatching(/^service ended \(signal SIGKILL\); restarting it in 0.01 s/)]);
    expect(changes).toBeGreaterThanOrEqual(2);
  });

  it('waits longer after each failure in a row, and resets the count after a stable time', async () => {
    const backoffCalls: number[] = [];
    const delays = { backoffMs: (failures: number) => (backoffCalls.push(failures), 5) };
    const crashing = `
      const { existsSync } = await import('node:fs');
      if (existsSync(${JSON.stringify(at('crash'))})) process.exit(3);
      setInterval(() => {}, 1000);`;
    const crashThrice = async (): Promise<void> => {
      await running.start([child('crashing', 1, crashing)]);
      writeFileSync(at('crash'), '');
      process.kill(running.pids()['crashing'] ?? 0, 'SIGKILL');
      await waitFor(() => backoffCalls.length >= 3);
      await running.stop();
      rmSync(at('crash'));
    };
    let running = create({ ...delays, stableAfterMs: 60_000 });
    await crashThrice();
    expect(backoffCalls.slice(0, 3)).toEqual([0, 1, 2]);
    expect(reports[1]).toContain('exit code 3');

    backoffCalls.length = 0;
    rmSync(at('crashing.up'));
    running = create({ ...delays, stableAfterMs: 0 });
    await crashThrice();
    expect(backoffCalls.slice(0, 3)).toEqual([0, 0, 0]);
  });

  it('restarts immediately after a first failure, then doubles the backoff up to half a minute', () => {
    expect([0, 1, 2, 3].map(defaultBackoffMs)).toEqual([0, 500, 1000, 2000]);
    expect(defaultBackoffMs(50)).toBe(30_000);
  });

  it('kills a process that is still running after the grace period', async () => {
    const running = create({ graceMs: 50 });
    const deaf = child(
      'deaf',
      1,
      "process.removeAllListeners('SIGTERM'); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)",
    );
    await running.start([{ ...deaf, isReady: async () => existsSync(at('deaf.up')) }]);
    const pid = running.pids()['deaf'] ?? 0;
    await running.stop();
    expect(isRunning(pid)).toBe(false);
  });

  it('sends a second SIGTERM to a child that supports it, long before the grace period ends', async () => {
    const waiting = child('waiting', 1);
    const body = `
      import { writeFileSync } from 'node:fs';
      let signals = 0;
      process.on('SIGTERM', () => { signals += 1; if (signals === 2) { writeFileSync(${JSON.stringify(at('hurried'))}, ''); process.exit(0); } });
      writeFileSync(${JSON.stringify(at('waiting.up'))}, '');
      setInterval(() => {}, 1000);`;
    writeFileSync(at('waiting.mjs'), body);
    create({ graceMs: 60_000 });
    await supervisor.start([{ ...waiting, forceStopAfterMs: 100 }]);
    await supervisor.stop();
    expect(existsSync(at('hurried'))).toBe(true);
  });

  it('ends what a child has started, even if the child is killed', async () => {
    const running = create();
    const body = `
      const { spawn } = await import('node:child_process');
      const grandchild = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      writeFileSync(${JSON.stringify(at('grandchild'))}, String(grandchild.pid));
      setInterval(() => {}, 1000);`;
    const spec = child('parent', 1, body);
    await running.start([
      { ...spec, isReady: async () => existsSync(at('grandchild')) && readFileSync(at('grandchild'), 'utf8') !== '' },
    ]);
    const grandchild = Number(readFileSync(at('grandchild'), 'utf8'));
    process.kill(running.pids()['parent'] ?? 0, 'SIGKILL');
    await waitFor(() => isExited(grandchild));
    expect(reports).toHaveLength(1);
  });

  it('fails with the end of the log when a child exits before it is ready', async () => {
    const running = create();
    const broken = child('broken', 1, "console.error('no such setting'); process.exit(2)");
    const failure = running.start([{ ...broken, isReady: async () => false }]);
    await expect(failure).rejects.toBeInstanceOf(StartError);
    await expect(failure).rejects.toMatchObject({
      message: expect.stringMatching(/^broken ended \(exit code 2\) while it started/),
      details: expect.stringContaining('no such setting'),
    });
  });

  it('fails when a program does not exist, or never becomes ready', async () => {
    const running = create();
    const missing = { ...child('missing', 1), command: at('no-such-program'), isReady: async () => false };
    await expect(running.start([missing])).rejects.toThrow(/missing ended \(spawn .* ENOENT\)/);
    const slow = { ...child('slow', 1), isReady: async () => false, readyTimeoutMs: 100 };
    await expect(running.start([slow])).rejects.toThrow(/slow is not ready after 0 s/);
  });

  it('can be stopped during a start', async () => {
    const running = create();
    const starting = running.start([{ ...child('slow', 1), isReady: async () => false }]);
    await waitFor(() => existsSync(at('slow.up')));
    await running.stop();
    await starting;
    expect(running.pids()).toEqual({});
    expect(reports).toEqual([]);
  });
});
