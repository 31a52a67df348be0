import type { Page, Pagination } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { sortItems, toSorting } from '../../platform/fields.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import { listChildAccounts } from '../accounts/queries.ts';
import type { Account } from '../accounts/schema.ts';
import { getAccount } from '../accounts/use-cases.ts';
import { dealersOf } from '../users/dealer-users.ts';
import type { User } from '../users/schema.ts';
import { countVehicles } from '../vehicles/queries.ts';
import { matchesQuery } from './rules.ts';
import type { DealerResponse, ListDealersQuery } from './schema.ts';

type DealerDeps = Pick<Deps, 'records'>;

/** Lists the sub-dealers of a dealer; for other users, the dealer of their account, if any. */
export async function listDealers(
  { records }: DealerDeps,
  caller: Caller,
  query: ListDealersQuery,
  paging: Pagination,
): Promise<Page<DealerResponse>> {
  const accounts = await listVisibleAccounts({ records }, caller);
  const users = await dealersOf(
    records,
    accounts.map(({ _id }) => _id),
  );
  const dealers = accounts
    .map((account) => ({ account, user: users.get(account._id) }))
    .filter(({ user }) => user !== undefined || caller.role !== 'dealer')
    .filter(({ account, user }) => matchesQuery(account, user, query.query));
  const sorted = sortItems(dealers, toSorting(query.sort), ({ account }) => account._id, {
    name: ({ account }) => account.name,
    created_at: ({ account }) => account.createdAt,
  });
  const page = sorted.slice(paging.offset, paging.offset + paging.limit);
  const items = await Promise.all(page.map(({ account, user }) => toDealerResponse({ records }, account, user)));
  return { items, total: dealers.length };
}

async function listVisibleAccounts({ records }: DealerDeps, caller: Caller): Promise<Account[]> {
  if (caller.role === 'dealer') return listChildAccounts(records, caller.accountId);
  const own = await getAccount(records, caller.accountId);
  const dealerId = own?.dealerAccountId ?? null;
  const dealer = dealerId === null ? null : await getAccount(records, dealerId);
  return dealer === null ? [] : [dealer];
}

/** Converts a dealer to its response: the account, with the contact of its first dealer user. */
async function toDealerResponse(
  { records }: DealerDeps,
  account: Account,
  user: User | undefined,
): Promise<DealerResponse> {
  const children = await listChildAccounts(records, account._id);
  const ids = children.map(({ _id }) => _id);
  return {
    ...toRecordResponse(account),
    name: account.name,
    phone_number: user?.phoneNumber ?? null,
    email: user?.email ?? null,
    city: account.city,
    country: account.country,
    parent_dealer_id: account.dealerAccountId,
    account_count: ids.length,
    vehicle_count: await countVehicles(records, ids),
    status: account.status,
  };
}
