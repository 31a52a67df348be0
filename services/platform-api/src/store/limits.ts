import { AppError } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { Lease } from './lease.ts';

/** So many records of a kind may be there at the same time, and what whoever wants more is told. */
export interface CountLimit {
  /** What is counted, and whose: `geofences of account 12`. */
  readonly name: string;
  readonly limit: number;
  readonly message: string;
}

const giveUpAfterMs = 15_000;
const lookEveryMs = 25;

/** The last one in the line of each kind, so that one of a process asks the database for the turn, and not all of them. */
const lines = new WeakMap<Database, Map<string, Promise<unknown>>>();

/**
 * Makes a record where fewer than so many are there, else 409 `limit_reached`. Makers of a kind take turns, over all replicas: what is counted is what is there
 * when the record is written, so that many at once do not pass the limit together, and no count is kept that could be wrong.
 */
export function insertWithin<T>(
  database: Database,
  { name, limit, message }: CountLimit,
  count: () => Promise<number>,
  insert: () => Promise<T>,
): Promise<T> {
  return inLine(database, name, async () => {
    const turn = await takeTurn(database, name);
    try {
      if ((await count()) >= limit) throw new AppError('limit_reached', message);
      turn.check();
      return await insert();
    } finally {
      await turn.giveBack();
    }
  });
}

async function takeTurn(database: Database, name: string): Promise<Lease> {
  const signal = AbortSignal.timeout(giveUpAfterMs);
  try {
    return await Lease.take(database, `limit: ${name}`, { signal, pollEveryMs: lookEveryMs });
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new AppError('unavailable', 'Others are making the same at the moment: try again.', { cause });
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
