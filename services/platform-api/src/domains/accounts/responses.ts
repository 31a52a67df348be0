import { type Static, Type } from 'typebox';
import { nameEnum, nullable, recordId, recordProperties, toRecordResponse } from '../../platform/schemas.ts';
import { invitationSchema } from '../auth/invitation-schema.ts';
import { type Account, accountStatuses } from './schema.ts';

const accountFields = {
  ...recordProperties,
  name: Type.String(),
  status: nameEnum(accountStatuses),
  dealer_account_id: nullable(recordId),
  timezone: Type.String(),
  city: nullable(Type.String()),
  country: nullable(Type.String()),
  max_streams: nullable(
    Type.Integer({ minimum: 0, description: 'Limit on concurrent streams; null: the default of the installation.' }),
  ),
};
export const accountSchema = Type.Object(accountFields, { title: 'Account' });

/** A created account, with the invitation if one was sent to its owner. */
export const createdAccountSchema = Type.Object(
  { ...accountFields, invitation: Type.Optional(invitationSchema) },
  { title: 'OpenedAccount' },
);

export const toAccountResponse = (account: Account): Static<typeof accountSchema> => ({
  ...toRecordResponse(account),
  name: account.name,
  status: account.status,
  dealer_account_id: account.dealerAccountId,
  timezone: account.timezone,
  city: account.city,
  country: account.country,
  max_streams: account.maxStreams ?? null,
});
