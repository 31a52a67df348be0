import { AppError } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import { isPermitted, type Permission, permissions } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { nameEnum, nullable } from '../../platform/schemas.ts';
import { accountSchema, toAccountResponse } from '../accounts/responses.ts';
import { getAccount } from '../accounts/use-cases.ts';
import { getDashboardKey } from '../api-keys/use-cases.ts';
import { toUserResponse, userFields } from '../users/responses.ts';
import { findUser } from '../users/use-cases.ts';

const permissionNames = Object.keys(permissions) as Permission[];

export const meSchema = Type.Object(
  {
    ...userFields,
    account: accountSchema,
    permissions: Type.Array(nameEnum(permissionNames), {
      description: 'Permissions of the role.',
    }),
    /** Valid only with a session and an allowed origin; null without a session. */
    dashboard_api_key: nullable(Type.String()),
  },
  { title: 'Me' },
);

/** Returns the caller, with the data that a page needs to call the rest of the API. */
export async function getMe(
  deps: Pick<Deps, 'records' | 'encryption'>,
  caller: Caller,
): Promise<Static<typeof meSchema>> {
  const user = await findUser(deps.records, caller, caller.userId);
  const account = await getAccount(deps.records, caller.accountId);
  if (user === null || account === null) throw new AppError('token_invalid', 'The user no longer exists.');
  const allowed = permissionNames.filter((name) => isPermitted(user.role, name));
  return {
    ...toUserResponse(user),
    account: toAccountResponse(account),
    permissions: allowed.filter((name) => name !== 'video' || user.role !== 'viewer' || user.canViewVideo),
    dashboard_api_key: caller.sessionId === null ? null : await getDashboardKey(deps, caller),
  };
}
