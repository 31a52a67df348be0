import { AppError } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { Lease } from './lease.ts';

const giveUpAfterMs = 15_000;
const lookEveryMs = 25;

/** The last one in the line of each name, so that one of a process asks the database for the turn, and not all of them. */
const lines = new WeakMap<Database, Map<string, Promise<unknown>>>();

/**
 * Runs something while nobody else runs anything of this name, over all replicas: what it reads is so until it has written. `check` throws where the turn has run
 * out meanwhile. Whoever waits for too long is told 503 `unavailable`.
 */
export function inTurn<T>(database: Database, name: string, run: (check: () => void) => Promise<T>): Promise<T> {
  return inLine(database, name, async () => {
    const turn = await takeTurn(database, name);
    try {
      return await run(() => turn.check());
    } finally {
      await turn.giveBack();
    }
  });
}

async function takeTurn(database: Database, name: string): Promise<Lease> {
  const signal = AbortSignal.timeout(giveUpAfterMs);
  try {
    return await Lease.take(database, name, { signal, pollEveryMs: lookEveryMs });
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new AppError('unavailable', 'Others are changing the same at the moment: try again.', { cause });
  }
}

function inLine<T>(database: Database, name: string, run: () => Promise<T>): Promise<T> {
  const line = lines.get(database) ?? new Map<string, Promise<unknown>>();
  lines.set(database, line);
  const turn = (line.get(name) ?? Promise.resolve()).then(run, run);
  line.set(name, turn);
  const leave = (): void => {
    if (line.get(name) === turn) line.delete(name);
  };
  turn.then(leave, leave);
  return turn;
}
