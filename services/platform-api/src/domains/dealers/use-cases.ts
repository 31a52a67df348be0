import type { PageItems, Paging } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { inOrder, sortingOf } from '../../fields.ts';
import { shownRecord } from '../../schemas.ts';
import { accountsBelow } from '../accounts/dealer-accounts.ts';
import type { Account } from '../accounts/schema.ts';
import { accountOf } from '../accounts/use-cases.ts';
import { dealersOf } from '../users/dealer-users.ts';
import type { User } from '../users/schema.ts';
import { countVehicles } from '../vehicles/counts.ts';
import { isMatch } from './rules.ts';
import type { DealerShown, ListDealersQuery } from './schema.ts';

type Parts = Pick<Deps, 'records'>;

/** A dealer sees its sub-dealers; any other user the dealer of the account, if any. */
export async function listDealers(
  { records }: Parts,
  caller: Caller,
  query: ListDealersQuery,
  paging: Paging,
): Promise<PageItems<DealerShown>> {
  const accounts = await visibleAccounts({ records }, caller);
  const users = await dealersOf(
    records,
    accounts.map(({ _id }) => _id),
  );
  const dealers = accounts
    .map((account) => ({ account, user: users.get(account._id) }))
    .filter(({ user }) => user !== undefined || caller.role !== 'dealer')
    .filter(({ account, user }) => isMatch(account, user, query.query));
  const sorted = inOrder(dealers, sortingOf(query.sort), ({ account }) => account._id, {
    name: ({ account }) => account.name,
    created_at: ({ account }) => account.createdAt,
  });
  const page = sorted.slice(paging.offset, paging.offset + paging.limit);
  const items = await Promise.all(page.map(({ account, user }) => shownDealer({ records }, account, user)));
  return { items, total: dealers.length };
}

async function visibleAccounts({ records }: Parts, caller: Caller): Promise<Account[]> {
  if (caller.role === 'dealer') return accountsBelow(records, caller.accountId);
  const own = await accountOf(records, caller.accountId);
  const dealerId = own?.dealerAccountId ?? null;
  const dealer = dealerId === null ? null : await accountOf(records, dealerId);
  return dealer === null ? [] : [dealer];
}

/** A dealer is its account, with the contact of its first dealer user. */
async function shownDealer({ records }: Parts, account: Account, user: User | undefined): Promise<DealerShown> {
  const below = await accountsBelow(records, account._id);
  const ids = below.map(({ _id }) => _id);
  return {
    ...shownRecord(account),
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
