import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandCall, countStatuses, type Fleet } from './fleet.ts';

/** Pause between two rounds of commands. */
const roundMs = 250;
/** The number of a command travels as the channel. */
const maxCommands = 250;

/** A command, with the times of its request and its response. */
export interface TimedCall extends CommandCall {
  readonly atMs: number;
  readonly endedMs: number;
}

/** Commands to each terminal of a fleet, in rounds, with the times at which they failed. */
export class CommandLoad {
  readonly #fleet: Fleet;
  #lastNo = 0;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Sends commands until `faults` has resolved and `atLeastMs` have passed since; returns the results. */
  async during(faults: () => Promise<void>, atLeastMs: number): Promise<TimedCall[]> {
    const load = { isOver: false };
    const running = faults()
      .then(() => sleep(atLeastMs))
      .finally(() => {
        load.isOver = true;
      });
    const calls: Promise<TimedCall>[] = [];
    while (!load.isOver && this.#lastNo < maxCommands) {
      calls.push(...this.#sendRound());
      await sleep(roundMs);
    }
    await running;
    return Promise.all(calls);
  }

  /** Sends one command to each terminal, and returns the results. */
  sendRound(): Promise<TimedCall[]> {
    return Promise.all(this.#sendRound());
  }

  #sendRound(): Promise<TimedCall>[] {
    this.#lastNo += 1;
    const no = this.#lastNo;
    return this.#fleet.terminals.map(async (terminal) => {
      const atMs = performance.now();
      return { ...(await this.#fleet.sendCommand(terminal, no)), atMs, endedMs: performance.now() };
    });
  }
}

/** Formats the results of commands during a fault, for the figures of docs/operations.md. */
export function formatCommandFigures(calls: readonly TimedCall[], faultAtMs: number): string {
  const failed = calls.filter(({ status }) => status !== 200);
  const lastFailedMs = failed.length === 0 ? undefined : Math.max(...failed.map(({ atMs }) => atMs - faultAtMs));
  const slowestMs = Math.max(...calls.map(({ atMs, endedMs }) => endedMs - atMs));
  const failures = lastFailedMs === undefined ? 'none failed' : `the last failed ${lastFailedMs.toFixed(0)} ms later`;
  return `${calls.length} commands ${JSON.stringify(countStatuses(calls))}, ${failures}, slowest ${slowestMs.toFixed(0)} ms`;
}
