import { dayMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Driver } from './schema.ts';
import { archivedNames, driverCollection, removeArchivedBefore } from './store.ts';

type DriverQueryDeps = { readonly records: RecordStore };

/** Returns those of the ids that are drivers of the account. */
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

/** Returns drivers by id, for names in other responses. */
const findDriversById = async (
  { records }: DriverQueryDeps,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, Driver>> =>
  new Map((await driverCollection(records).findMany(scope, ids)).map((driver) => [driver._id, driver]));

/** Returns names of drivers of an account by id, including removed drivers, whose names earlier trips still need. */
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

/**
 * Longest time for which an account may store its full history (`retention.locations_days`). It is stored thinned for
 * another LOCATION_RETENTION_DAYS.
 */
const maxFullHistoryDays = 3_650;

/** Deletes the names of removed drivers for whom no trip can be left. */
export const purgeArchivedNames = (
  { records, config }: Pick<Deps, 'records' | 'config'>,
  nowMs = Date.now(),
): Promise<void> =>
  removeArchivedBefore(records, new Date(nowMs - (maxFullHistoryDays + config.LOCATION_RETENTION_DAYS) * dayMs));
