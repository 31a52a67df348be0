import { type ChildProcess, spawn } from 'node:child_process';

/** Reads lines `+ pid` and `- pid`. Kills the remaining processes at the end of its input: then the service has died. */
const script = `
pids=' '
while read -r sign pid; do
  case $sign in
    +) pids="$pids$pid " ;;
    -) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
[ "$pids" = ' ' ] || kill -KILL $pids`;

/**
 * Ends the children of this process when it is killed: their results would be lost. A shell waits for the
 * end of a pipe that only this process holds.
 */
export class ChildReaper {
  readonly #pids = new Set<number>();
  #shell: ChildProcess | undefined;

  /** Ends a process with this one, until `remove`. */
  add(pid: number): void {
    this.#pids.add(pid);
    if (this.#shell === undefined) this.#start();
    else this.#shell.stdin?.write(`+ ${pid}\n`);
  }

  /** Forgets a process that has ended. */
  remove(pid: number): void {
    this.#pids.delete(pid);
    this.#shell?.stdin?.write(`- ${pid}\n`);
  }

  /** Ends all, like the end of this process. */
  close(): void {
    this.#shell?.stdin?.end();
    this.#pids.clear();
  }

  #start(): void {
    // In a session of its own, so that an interruption of the terminal does not reach it first.
    const shell = spawn('/bin/sh', ['-c', script], {
      cwd: '/',
      detached: true,
      env: {},
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const onEnd = (): void => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    // Without a shell the children run to their end.
    shell.on('error', onEnd).on('exit', onEnd);
    shell.stdin.on('error', onEnd);
    // Does not keep this process running.
    shell.unref();
    if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
    for (const pid of this.#pids) shell.stdin.write(`+ ${pid}\n`);
    this.#shell = shell;
  }
}

/** The reaper of this process. */
export const childReaper = new ChildReaper();
