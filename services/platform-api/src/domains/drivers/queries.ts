import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Driver } from './schema.ts';
import { archivedNames, driverCollection, removeArchivedBefore } from './store.ts';

type DriverQueryDeps = { readonly records: RecordStore };

/** Those of the ids that are drivers of the account. */
export const filterOwnDriverIds = async (
  { records }: DriverQueryDeps,
  scope: Scope,
  ids: readonly number[],
): Promise<number[]> =>
  ids.length === 0
    ? []
    : (await driverCollection(records).project(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** Returns the driver of an account with a card number, as a terminal reports it; null for an unknown card. */
export async function findDriverByCard(
  { records }: DriverQueryDeps,
  { accountId }: Scope,
  cardNumber: string,
): Promise<Driver | null> {
  const number = cardNumber.trim();
  const driver = await records.findByUnique<Driver>('drivers', 'cardNumber', `${accountId}:${number}`);
  return driver?.accountId === accountId && driver.cardNumber === number ? driver : null;
}

/** Drivers by id, for names in other answers. */
export const findDriversById = async (
  { records }: DriverQueryDeps,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, Driver>> =>
  new Map((await driverCollection(records).findMany(scope, ids)).map((driver) => [driver._id, driver]));

/** Names of drivers of an account by id; trips of before keep those of drivers who were removed. */
export async function findDriverNames(
  { records }: DriverQueryDeps,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, string>> {
  const names = new Map([...(await findDriversById({ records }, scope, ids))].map(([id, { name }]) => [id, name]));
  const archived = await archivedNames(
    records,
    scope,
    ids.filter((id) => !names.has(id)),
  );
  return new Map([...archived, ...names]);
}

/** For how long an account may keep its history whole (`retention.locations_days`); LOCATIONS_KEPT_DAYS more it is kept thinned. */
const maxFullHistoryDays = 3_650;

/** Forgets the names of removed drivers of whom no trip can be left. */
export const purgeArchivedNames = (
  { records, config }: Pick<Deps, 'records' | 'config'>,
  nowMs = Date.now(),
): Promise<void> =>
  removeArchivedBefore(records, new Date(nowMs - (maxFullHistoryDays + config.LOCATIONS_KEPT_DAYS) * 86_400_000));
