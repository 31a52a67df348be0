import { type Static, Type } from 'typebox';
import { nameOf, nullable, recordId, recordShape, shownRecord } from '../../schemas.ts';
import { invitationSchema } from '../auth/invitation-schema.ts';
import { type Account, accountStatuses } from './schema.ts';

const accountFields = {
  ...recordShape,
  name: Type.String(),
  status: nameOf(accountStatuses),
  dealer_account_id: nullable(recordId),
  timezone: Type.String(),
  city: nullable(Type.String()),
  country: nullable(Type.String()),
};
export const accountSchema = Type.Object(accountFields, { title: 'Account' });

/** An account that was opened, with the invitation where its owner was sent one. */
export const openedAccountSchema = Type.Object(
  { ...accountFields, invitation: Type.Optional(invitationSchema) },
  { title: 'OpenedAccount' },
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
