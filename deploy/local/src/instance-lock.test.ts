import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { acquireLock, runningLauncher } from './instance-lock.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fleet-lock-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const writeLock = (content: unknown): void => writeFileSync(join(dataDir, 'launcher.lock'), JSON.stringify(content));

describe('the lock of a data folder', () => {
  it('is held by one launcher at a time and can be released', () => {
    const mine = acquireLock(dataDir);
    expect(mine).toMatchObject({ kind: 'acquired', leftover: false });
    expect(runningLauncher(dataDir)).toBe(process.pid);
    expect(acquireLock(dataDir)).toEqual({ kind: 'running', pid: process.pid });
    if (mine.kind === 'acquired') mine.release();
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('is taken over from a killed launcher', async () => {
    const child = spawn(process.execPath, ['-e', '0']);
    await once(child, 'exit');
    writeLock({ pid: child.pid, startedTicks: '1' });
    expect(runningLauncher(dataDir)).toBeUndefined();
    expect(acquireLock(dataDir)).toMatchObject({ kind: 'acquired', leftover: true });
  });

  it("is not held by another process that has reused the dead launcher's id", () => {
    writeLock({ pid: process.pid, startedTicks: 'a different start time' });
    expect(runningLauncher(dataDir)).toBeUndefined();
  });

  it('recovers from a truncated lock file', () => {
    writeFileSync(join(dataDir, 'launcher.lock'), '{"pid":');
    expect(acquireLock(dataDir)).toMatchObject({ kind: 'acquired', leftover: true });
  });
});
