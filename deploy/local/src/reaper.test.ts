import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { reaperScript } from './paths.ts';
import { startReaper } from './reaper.ts';

// Uses real processes and sockets on a machine that may be busy; no test depends on timing.
jest.setTimeout(60_000);

let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-reaper-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function sleeper(): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore', detached: true });
  children.push(child);
  return child;
}

const launcherPid = 4_000_001;

function startHelper(...files: string[]): ChildProcess {
  const helper = spawn(process.execPath, [reaperScript, String(launcherPid), ...files], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  children.push(helper);
  return helper;
}

describe('the reaper', () => {
  it('ends the children of a launcher that has exited, except for unwatched ones, and removes its files', async () => {
    const [mine, theirs] = [join(folder, 'mine.json'), join(folder, 'theirs.json')];
    writeFileSync(mine, JSON.stringify({ pid: launcherPid }));
    writeFileSync(theirs, JSON.stringify({ pid: launcherPid + 1 }));
    const [doomed, spared] = [sleeper(), sleeper()];
    const ended = once(doomed, 'exit');
    const helper = startHelper(mine, theirs, join(folder, 'absent.json'));
    const helperEnded = once(helper, 'exit');
    helper.stdin?.end(`+${doomed.pid}\n+${spared.pid}\n-${spared.pid}\n`);
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(await helperEnded).toEqual([0, null]);
    expect([existsSync(mine), existsSync(theirs)]).toEqual([false, true]);
    expect([spared.exitCode, spared.signalCode]).toEqual([null, null]);
  });

  it('exits cleanly when no process is watched any more', async () => {
    const spared = sleeper();
    const reaper = startReaper([]);
    reaper.watch(spared.pid ?? 0);
    reaper.unwatch(spared.pid ?? 0);
    await reaper.close();
    expect([spared.exitCode, spared.signalCode]).toEqual([null, null]);
  });
});
