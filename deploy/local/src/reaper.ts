import { type ChildProcess, spawn } from 'node:child_process';
import { reaperScript } from './paths.ts';

/** Launcher side of reaper.mjs, which ends the children when the launcher is killed. */
export interface Reaper {
  watch(processGroup: number): void;
  unwatch(processGroup: number): void;
  /** Lets the helper exit; no process group may be watched any more. */
  close(): Promise<void>;
}

export function startReaper(filesToRemove: readonly string[]): Reaper {
  const groups = new Set<number>();
  let closing = false;
  let helper = spawnHelper();

  function spawnHelper(): ChildProcess {
    const child = spawn(process.execPath, [reaperScript, String(process.pid), ...filesToRemove], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // A broken pipe is followed by the exit event below, which starts a new helper and sends it all groups.
    child.stdin?.on('error', () => child.kill('SIGKILL'));
    child.once('exit', () => {
      if (closing) return;
      helper = spawnHelper();
      for (const group of groups) sendLine(`+${group}`);
    });
    return child;
  }

  const sendLine = (line: string): void => {
    if (helper.stdin?.writable === true) helper.stdin.write(`${line}\n`);
  };

  return {
    watch(processGroup) {
      groups.add(processGroup);
      sendLine(`+${processGroup}`);
    },
    unwatch(processGroup) {
      groups.delete(processGroup);
      sendLine(`-${processGroup}`);
    },
    async close() {
      closing = true;
      const ended = new Promise((resolve) => helper.once('exit', resolve));
      helper.stdin?.end();
      if (helper.exitCode === null && helper.signalCode === null) await ended;
    },
  };
}
