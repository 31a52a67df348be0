import { type Static, Type } from 'typebox';
import { roles } from '../../access/roles.ts';
import {
  formatTime,
  nameEnum,
  nullable,
  recordId,
  recordProperties,
  time,
  toRecordResponse,
} from '../../platform/schemas.ts';
import { invitationSchema } from '../auth/invitation-schema.ts';
import type { User } from './schema.ts';

/** Fields of a user in responses (services/platform-api/openapi.json). */
export const userFields = {
  ...recordProperties,
  account_id: recordId,
  name: Type.String(),
  email: nullable(Type.String()),
  phone_number: nullable(Type.String()),
  role: nameEnum(roles),
  can_view_video: Type.Boolean(),
  language: Type.String(),
  timezone: Type.String(),
  two_factor_enabled: Type.Boolean(),
  disabled: Type.Boolean(),
  last_login_at: nullable(time),
};

export const userSchema = Type.Object(userFields, { title: 'User' });

/** A created user, with the invitation if one was sent. */
export const createdUserSchema = Type.Object(
  { ...userFields, invitation: Type.Optional(invitationSchema) },
  { title: 'CreatedUser' },
);

export const toUserResponse = (user: User): Static<typeof userSchema> => ({
  ...toRecordResponse(user),
  account_id: user.accountId,
  name: user.name,
  email: user.email,
  phone_number: user.phoneNumber,
  role: user.role,
  can_view_video: user.canViewVideo,
  language: user.language,
  timezone: user.timezone,
  two_factor_enabled: (user.totp?.confirmedAt ?? null) !== null,
  disabled: user.disabled,
  last_login_at: formatTime(user.lastLoginAt),
});
