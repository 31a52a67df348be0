import type { Collection, Database } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import type { Vehicle } from '../vehicles/schema.ts';

/** An account that had a terminal, and the time until which it had it last; `_id` is `<canonical number>:<account>`. */
export interface TerminalTenure {
  readonly _id: string;
  readonly endedAtMs: number;
}

const tenureCollection = (database: Database): Collection<TerminalTenure> =>
  database.collection<TerminalTenure>('terminal_tenures');

/** Records that a terminal has left the account of a vehicle. What it recorded until now stays with that account. */
export async function recordTenureEnd(
  { database }: Pick<Deps, 'database'>,
  { imei, accountId }: Pick<Vehicle, 'imei' | 'accountId'>,
): Promise<void> {
  if (imei === null) return;
  const _id = `${imei}:${accountId}`;
  await tenureCollection(database).updateOne({ _id }, { $max: { endedAtMs: Date.now() } }, { upsert: true });
}

/** Returns the accounts that had a terminal before, in the order in which it left them. */
export async function listTenures(
  { database }: Pick<Deps, 'database'>,
  imei: string,
): Promise<{ readonly accountId: number; readonly endedAtMs: number }[]> {
  const found = await tenureCollection(database)
    .find({ _id: { $gte: `${imei}:`, $lt: `${imei};` } })
    .toArray();
  return found
    .map(({ _id, endedAtMs }) => ({ accountId: Number(_id.slice(imei.length + 1)), endedAtMs }))
    .toSorted((a, b) => a.endedAtMs - b.endedAtMs);
}
