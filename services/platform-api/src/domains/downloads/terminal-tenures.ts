import { createHash } from 'node:crypto';
import type { Collection, Database } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import type { Vehicle } from '../vehicles/schema.ts';

/** An account that had a terminal, and the time until which it had it last; `_id` is `<hash of the terminal>:<account>`. */
interface TerminalTenure {
  readonly _id: string;
  readonly endedAtMs: number;
}

/** Hides the number of the terminal, because tenures outlive the erasure of their account. */
const hashTerminal = (imei: string): string => createHash('sha256').update(imei).digest('hex');

const tenureCollection = (database: Database): Collection<TerminalTenure> =>
  database.collection<TerminalTenure>('terminal_tenures');

/** Records that a terminal has left the account of a vehicle. What it recorded until now stays with that account. */
export async function recordTenureEnd(
  { database }: Pick<Deps, 'database'>,
  { imei, accountId }: Pick<Vehicle, 'imei' | 'accountId'>,
): Promise<void> {
  if (imei === null) return;
  const _id = `${hashTerminal(imei)}:${accountId}`;
  await tenureCollection(database).updateOne({ _id }, { $max: { endedAtMs: Date.now() } }, { upsert: true });
}

/** Returns the accounts that had a terminal before, in the order in which it left them. */
export async function listTenures(
  { database }: Pick<Deps, 'database'>,
  imei: string,
): Promise<{ readonly accountId: number; readonly endedAtMs: number }[]> {
  const hash = hashTerminal(imei);
  const found = await tenureCollection(database)
    .find({ _id: { $gte: `${hash}:`, $lt: `${hash};` } })
    .toArray();
  return found
    .map(({ _id, endedAtMs }) => ({ accountId: Number(_id.slice(hash.length + 1)), endedAtMs }))
    .toSorted((a, b) => a.endedAtMs - b.endedAtMs);
}
