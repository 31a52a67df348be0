import { type Database, isDuplicateKey } from '@fleet/storage';
import type { Deps } from './deps.ts';
import { type Sweep, sweeps } from './sweeps.ts';

interface Due {
  readonly _id: string;
  readonly dueAt: Date;
}

const lookEveryMs = 30_000;

/** True for the one replica whose turn a sweep is now; it is nobody's again until its time has passed. */
async function isMyTurn(database: Database, { name, everyMs }: Sweep, now: Date): Promise<boolean> {
  const turns = database.collection<Due>('sweeps');
  const next = { dueAt: new Date(now.getTime() + everyMs) };
  const taken = await turns.updateOne({ _id: name, dueAt: { $lte: now } }, { $set: next });
  if (taken.modifiedCount === 1) return true;
  try {
    await turns.insertOne({ _id: name, ...next });
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/** Runs what is due, where it is this replica's turn. */
export async function sweepOnce(deps: Deps, list: readonly Sweep[] = sweeps, now = new Date()): Promise<void> {
  for (const sweep of list) {
    try {
      if (await isMyTurn(deps.database, sweep, now)) await sweep.run(deps);
    } catch (error) {
      // The next turn does what this one left.
      deps.log.warn({ err: error, sweep: sweep.name }, 'a sweep failed');
    }
  }
}

/** Looks twice a minute for sweeps that are due, once the database is there. */
export class Sweeper {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: Deps, isReady: () => boolean) {
    this.#timer = setInterval(() => {
      if (isReady()) this.#running = this.#running.then(() => sweepOnce(deps));
    }, lookEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}
