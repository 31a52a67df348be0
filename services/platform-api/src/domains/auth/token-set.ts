import { AppError, type RequestContext } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { accessTokenSeconds } from '../../access/access-tokens.ts';
import type { Deps } from '../../platform/deps.ts';
import { nullable } from '../../platform/schemas.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { audit } from '../audit/use-cases.ts';
import { refreshSeconds } from '../sessions/rules.ts';
import { openSession, revokeSession } from '../sessions/use-cases.ts';
import { toUserResponse, userSchema } from '../users/responses.ts';
import type { User } from '../users/schema.ts';
import { findUser, recordLogIn } from '../users/use-cases.ts';

export const tokenSetSchema = Type.Object(
  {
    token_type: Type.Literal('Bearer'),
    access_token: Type.String(),
    expires_in: Type.Literal(accessTokenSeconds, { description: 'Seconds.' }),
    refresh_token: nullable(Type.String()),
    refresh_expires_in: Type.Literal(refreshSeconds, { description: 'Seconds.' }),
    user: userSchema,
  },
  { title: 'TokenSet' },
);

export const toTokenSetResponse = (
  accessToken: string,
  refreshToken: string | null,
  user: User,
): Static<typeof tokenSetSchema> => ({
  token_type: 'Bearer',
  access_token: accessToken,
  expires_in: accessTokenSeconds,
  refresh_token: refreshToken,
  refresh_expires_in: refreshSeconds,
  user: toUserResponse(user),
});

/** Returns the IP address and user agent of a request. */
export const requestOrigin = ({ request }: Pick<RequestContext, 'request'>) => ({
  ip: request.ip ?? '',
  userAgent: request.get('user-agent')?.slice(0, 300) ?? null,
});

/** Opens a session for an authenticated user and returns its first tokens. */
export async function createTokenSet(
  deps: Pick<Deps, 'records' | 'bus' | 'tokens' | 'log'>,
  user: User,
  by: 'registration' | 'password' | 'code',
  context: Pick<RequestContext, 'request'>,
): Promise<Static<typeof tokenSetSchema>> {
  if (!(await isAccountActive(deps.records, user.accountId)))
    throw new AppError('account_suspended', 'The account is suspended.');
  const origin = requestOrigin(context);
  const { session, refreshToken } = await openSession(deps.records, user, origin);
  // A new password ends the existing sessions. A session that the old password opens concurrently must end itself.
  const now = await findUser(deps.records, user, user._id);
  if (now === null || now.disabled || now.passwordHash !== user.passwordHash) {
    await revokeSession(deps, session, session._id);
    throw new AppError('token_invalid', 'The user was modified during the log-in. Log in again.');
  }
  const lastLoginAt = await recordLogIn(deps.records, user._id);
  const { accountId, _id: userId, role } = user;
  const accessToken = await deps.tokens.issue({ userId, accountId, role, sessionId: session._id, mintedByKeyId: null });
  const actor = { accountId, userId, ip: origin.ip };
  await audit(deps, actor, 'auth.login', { type: 'sessions', id: session._id }, { by });
  return toTokenSetResponse(accessToken, refreshToken, { ...user, lastLoginAt });
}
