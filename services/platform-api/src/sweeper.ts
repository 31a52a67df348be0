import { type Database, isDuplicateKey } from '@fleet/storage';
import type { Deps } from './deps.ts';
import { sweepTurn } from './store/sweep-turn.ts';
import { type Sweep, type SweepInTurns, sweeps } from './sweeps.ts';

interface Due {
  readonly _id: string;
  readonly dueAt: Date;
  /** Where a sweep in turns goes on. */
  readonly next?: number;
}

const lookEveryMs = 30_000;
/** Longer than a turn takes. */
const nextTurnMs = 60_000;

const turnsIn = (database: Database) => database.collection<Due>('sweeps');
const after = (now: Date, ms: number): Date => new Date(now.getTime() + ms);

/** True for the one replica whose turn a sweep is now; it is nobody's again until its time has passed. */
async function isMyTurn(database: Database, sweep: Sweep, now: Date): Promise<boolean> {
  const { name: _id, everyMs } = sweep;
  const next = { dueAt: after(now, 'takeTurn' in sweep ? nextTurnMs : everyMs) };
  const taken = await turnsIn(database).updateOne({ _id, dueAt: { $lte: now } }, { $set: next });
  if (taken.modifiedCount === 1) return true;
  try {
    await turnsIn(database).insertOne({ _id, ...next });
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/** Goes on where the turn before has left off. It rests once all is done, and is due again in a minute before that. */
async function takeTurn(deps: Deps, sweep: SweepInTurns, now: Date, stopped: AbortSignal): Promise<void> {
  const { name: _id, everyMs } = sweep;
  const known = await turnsIn(deps.database).findOne({ _id });
  const next = await sweep.takeTurn(deps, sweepTurn(known?.next ?? 1, stopped));
  const change = next === null ? { next: 1, dueAt: after(now, everyMs) } : { next };
  await turnsIn(deps.database).updateOne({ _id }, { $set: change });
}

/** Runs what is due, where it is this replica's turn. */
export async function sweepOnce(
  deps: Deps,
  list: readonly Sweep[] = sweeps,
  now = new Date(),
  stopped: AbortSignal = new AbortController().signal,
): Promise<void> {
  for (const sweep of list) {
    if (stopped.aborted) return;
    try {
      if (!(await isMyTurn(deps.database, sweep, now))) continue;
      if ('takeTurn' in sweep) await takeTurn(deps, sweep, now, stopped);
      else await sweep.run(deps);
    } catch (error) {
      // The next turn does what this one left.
      deps.log.warn({ err: error, sweep: sweep.name }, 'a sweep failed');
    }
  }
}

/** Looks twice a minute for sweeps that are due, once the database is there. */
export class Sweeper {
  readonly #timer: NodeJS.Timeout;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: Deps, isReady: () => boolean) {
    this.#timer = setInterval(() => {
      if (isReady())
        this.#running = this.#running.then(() => sweepOnce(deps, sweeps, new Date(), this.#stopped.signal));
    }, lookEveryMs);
  }

  /** Begins no other sweep, and waits for what is under way: of one that may be long, for a few writes. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#running;
  }
}
