import type { Deps } from '../../deps.ts';
import type { Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Driver } from './schema.ts';
import { driversIn, formerNames, removeFormerBefore } from './store.ts';

type Store = { readonly records: Records };

/** Those of the ids that are drivers of the account. */
export const ownDriverIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  ids.length === 0 ? [] : (await driversIn(records).parts(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** Returns the driver of an account with a card number, as a terminal reports it; null for an unknown card. */
export async function driverByCard(
  { records }: Store,
  { accountId }: Scope,
  cardNumber: string,
): Promise<Driver | null> {
  const number = cardNumber.trim();
  const driver = await records.findByUnique<Driver>('drivers', 'cardNumber', `${accountId}:${number}`);
  return driver?.accountId === accountId && driver.cardNumber === number ? driver : null;
}

/** Drivers by id, for names in other answers. */
export const driversById = async (
  { records }: Store,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, Driver>> =>
  new Map((await driversIn(records).findMany(scope, ids)).map((driver) => [driver._id, driver]));

/** Names of drivers of an account by id; trips of before keep those of drivers who were removed. */
export async function driverNames(
  { records }: Store,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, string>> {
  const names = new Map([...(await driversById({ records }, scope, ids))].map(([id, { name }]) => [id, name]));
  const removed = await formerNames(
    records,
    scope,
    ids.filter((id) => !names.has(id)),
  );
  return new Map([...removed, ...names]);
}

/** For how long an account may keep its history whole (`retention.locations_days`); LOCATIONS_KEPT_DAYS more it is kept thinned. */
const longestWholeDays = 3_650;

/** Forgets the names of removed drivers of whom no trip can be left. */
export const sweepFormerDrivers = (
  { records, config }: Pick<Deps, 'records' | 'config'>,
  nowMs = Date.now(),
): Promise<void> =>
  removeFormerBefore(records, new Date(nowMs - (longestWholeDays + config.LOCATIONS_KEPT_DAYS) * 86_400_000));
