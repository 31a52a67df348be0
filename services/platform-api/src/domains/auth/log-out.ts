import { AppError, type RequestContext } from '@fleet/service-kit';
import { findCaller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { findSessionOfToken, revokeSession } from '../sessions/use-cases.ts';
import { readSessionCookie } from './session-cookie.ts';
import { requestOrigin } from './token-set.ts';

type LogOutDeps = Pick<Deps, 'records' | 'bus' | 'config' | 'log'>;

/** A session that a user ends. */
interface EndedSession {
  readonly id: number;
  readonly accountId: number;
  readonly userId: number;
}

/** Ends the session of the caller's token, or that of the cookie if the request has no token. */
export async function logOut(deps: LogOutDeps, context: RequestContext): Promise<void> {
  const session = await findEndedSession(deps, context);
  await revokeSession(deps, session, session.id);
  const actor = { ...session, ip: requestOrigin(context).ip };
  await audit(deps, actor, 'auth.logout', { type: 'sessions', id: session.id });
}

async function findEndedSession(deps: LogOutDeps, context: RequestContext): Promise<EndedSession> {
  const caller = findCaller(context);
  if (caller !== undefined) {
    const { sessionId: id, accountId, userId } = caller;
    if (id === null) throw new AppError('state_conflict', 'The token was minted by an API key and has no session.');
    return { id, accountId, userId };
  }
  const session = await findSessionOfToken(deps.records, readSessionCookie(deps, context));
  if (session === null) throw new AppError('token_invalid', 'The cookie belongs to no session.');
  return { id: session._id, accountId: session.accountId, userId: session.userId };
}
