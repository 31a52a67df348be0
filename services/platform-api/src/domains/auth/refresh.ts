import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { audit } from '../audit/use-cases.ts';
import type { Session } from '../sessions/schema.ts';
import { refreshSession } from '../sessions/use-cases.ts';
import type { User } from '../users/schema.ts';
import { findUser } from '../users/use-cases.ts';
import { requestOrigin, toTokenSetResponse } from './token-set.ts';

type RefreshDeps = Pick<Deps, 'records' | 'bus' | 'tokens' | 'log' | 'encryption'>;

/**
 * Returns the next tokens of a session. A reused refresh token ends the session; that of a cookie can be repeated for 30
 * seconds, because a browser may lose a response.
 */
export async function refreshTokens(
  deps: RefreshDeps,
  { refreshToken, isCookie }: { readonly refreshToken: string; readonly isCookie: boolean },
  context: RequestContext,
) {
  const { ip } = requestOrigin(context);
  const request = { refreshToken, ip, isRepeatable: isCookie };
  const refreshed = await refreshSession(deps, request, (session) => issueAccessToken(deps, session));
  if (refreshed.kind === 'reused') {
    const { accountId, userId, _id: id } = refreshed.session;
    await audit(deps, { accountId, userId, ip }, 'auth.refresh-reused', { type: 'sessions', id });
  }
  if (refreshed.kind === 'expired') throw new AppError('token_expired', 'The session has ended. Log in again.');
  if (refreshed.kind !== 'refreshed')
    throw new AppError('token_invalid', 'The refresh token is not valid. Log in again.');
  const { accessToken, user } = refreshed.result;
  return toTokenSetResponse(accessToken, refreshed.refreshToken, user);
}

/** Issues an access token for a session whose user is still admitted. */
async function issueAccessToken(deps: RefreshDeps, session: Session): Promise<{ accessToken: string; user: User }> {
  const user = await findUser(deps.records, session, session.userId);
  if (user === null || user.disabled) throw new AppError('token_invalid', 'The user no longer exists.');
  if (!(await isAccountActive(deps.records, session.accountId)))
    throw new AppError('account_suspended', 'The account is suspended.');
  const claims = { userId: user._id, accountId: user.accountId, role: user.role, mintedByKeyId: null };
  return { accessToken: await deps.tokens.issue({ ...claims, sessionId: session._id }), user };
}
