import type { Reaper } from './reaper.ts';
import { type ProcessHooks, type ProcessSpec, SupervisedProcess } from './supervised-process.ts';

export interface SupervisorOptions {
  /** Receives one line about each restart, for the console. */
  report: (line: string) => void;
  /** Called when the ids have changed: `pids()` returns the new ones. */
  onChange?: () => void;
  reaper?: Reaper;
  graceMs?: number;
  backoffMs?: (failures: number) => number;
  stableAfterMs?: number;
}

const maxBackoffMs = 30_000;

/**
 * Returns the delay before a restart: none after the first failure, then doubled up to half a minute, as in Kubernetes.
 */
export const defaultBackoffMs = (failures: number): number =>
  failures === 0 ? 0 : Math.min(250 * 2 ** failures, maxBackoffMs);

const restartTime = (delayMs: number): string =>
  delayMs === 0 ? 'restarting it' : `restarting it in ${delayMs / 1000} s`;

/** Runs programs in tiers, keeps them running, and stops them in reverse order. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #processes: SupervisedProcess[] = [];
  #stopped = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Starts the programs together and waits until all are ready. */
  async start(specs: readonly ProcessSpec[]): Promise<void> {
    if (this.#stopped) return;
    const added = specs.map((spec) => new SupervisedProcess(spec, this.#hooks(spec)));
    this.#processes.push(...added);
    const results = await Promise.allSettled(added.map((process) => process.start()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Returns the process ids by name, in starting order; a process that waits for its restart is omitted. */
  pids(): Record<string, number> {
    const pairs = this.#processes.flatMap(({ spec, pid }) => (pid === undefined ? [] : [[spec.name, pid] as const]));
    return Object.fromEntries(pairs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const tiers = [...new Set(this.#processes.map(({ spec }) => spec.tier))].toSorted((a, b) => b - a);
    for (const tier of tiers) {
      const members = this.#processes.filter(({ spec }) => spec.tier === tier);
      await Promise.all(members.map((process) => process.stop(this.#options.graceMs ?? 10_000)));
    }
  }

  #hooks(spec: ProcessSpec): ProcessHooks {
    const { report, onChange, reaper, backoffMs, stableAfterMs } = this.#options;
    return {
      backoffMs: backoffMs ?? defaultBackoffMs,
      stableAfterMs: stableAfterMs ?? 10_000,
      onSpawn: (processGroup) => {
        reaper?.watch(processGroup);
        onChange?.();
      },
      onExit: (processGroup) => {
        reaper?.unwatch(processGroup);
        onChange?.();
      },
      onRestart: (reason, delayMs) =>
        report(`${spec.name} ended (${reason}); ${restartTime(delayMs)}. Log: ${spec.logFile}`),
    };
  }
}
