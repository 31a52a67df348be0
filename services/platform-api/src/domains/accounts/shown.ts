import { type Static, Type } from 'typebox';
import { nameOf, nullable, recordId, recordShape, shownRecord } from '../../schemas.ts';
import { type Account, accountStatuses } from './schema.ts';

export const accountSchema = Type.Object(
  {
    ...recordShape,
    name: Type.String(),
    status: nameOf(accountStatuses),
    dealer_account_id: nullable(recordId),
    timezone: Type.String(),
    city: nullable(Type.String()),
    country: nullable(Type.String()),
  },
  { title: 'Account' },
);

export const shownAccount = (account: Account): Static<typeof accountSchema> => ({
  ...shownRecord(account),
  name: account.name,
  status: account.status,
  dealer_account_id: account.dealerAccountId,
  timezone: account.timezone,
  city: account.city,
  country: account.country,
});
