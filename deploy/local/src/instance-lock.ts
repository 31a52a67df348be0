import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonIfExists } from './atomic-file.ts';
import { errorCode } from './start-error.ts';

interface LockContent {
  pid: number;
  /** Start time of the process in the kernel's clock ticks, because process ids are reused. */
  startedTicks: string | null;
}

const lockPath = (dataDir: string): string => join(dataDir, 'launcher.lock');

function processStartTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in parentheses, which may contain blanks; field 22 is the 20th after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null; // The process does not exist, or the system has no /proc.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

function readLock(dataDir: string): LockContent | undefined {
  const value = readJsonIfExists(lockPath(dataDir));
  if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number')
    return undefined;
  const ticks = 'startedTicks' in value && typeof value.startedTicks === 'string' ? value.startedTicks : null;
  return { pid: value.pid, startedTicks: ticks };
}

/** Returns the id of the launcher that uses this data folder. */
export function runningLauncher(dataDir: string): number | undefined {
  const lock = readLock(dataDir);
  if (lock === undefined || !isAlive(lock.pid)) return undefined;
  if (lock.startedTicks !== null && lock.startedTicks !== processStartTicks(lock.pid)) return undefined;
  return lock.pid;
}

type LockOutcome = { kind: 'acquired'; leftover: boolean; release: () => void } | { kind: 'running'; pid: number };

/** Locks the data folder for this process. `leftover`: the previous launcher did not exit properly. */
export function acquireLock(dataDir: string): LockOutcome {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = lockPath(dataDir);
  const content: LockContent = { pid: process.pid, startedTicks: processStartTicks(process.pid) };
  const write = (): void => writeFileSync(path, JSON.stringify(content), { flag: 'wx' });
  const release = (): void => {
    if (readLock(dataDir)?.pid === process.pid) rmSync(path, { force: true });
  };
  try {
    write();
    return { kind: 'acquired', leftover: false, release };
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  const pid = runningLauncher(dataDir);
  if (pid !== undefined) return { kind: 'running', pid };
  rmSync(path, { force: true });
  write();
  return { kind: 'acquired', leftover: true, release };
}
