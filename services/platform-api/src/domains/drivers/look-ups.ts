import type { Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Driver } from './schema.ts';
import { driversIn } from './store.ts';

type Store = { readonly records: Records };

/** Those of the ids that are drivers of the account. */
export const ownDriverIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  ids.length === 0 ? [] : (await driversIn(records).parts(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** The driver of an account with a card number, as a terminal reports it; null for an unknown card. */
export const driverByCard = ({ records }: Store, scope: Scope, cardNumber: string): Promise<Driver | null> =>
  driversIn(records).findOne(scope, { cardNumber: cardNumber.trim() });

/** Drivers by id, for names in other answers. */
export const driversById = async (
  { records }: Store,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, Driver>> =>
  new Map((await driversIn(records).findMany(scope, ids)).map((driver) => [driver._id, driver]));
