import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { type Invitation, revokeResetTokens, sendInvitation } from '../auth/passwords.ts';
import { assertCanAssignRole } from './commands.ts';
import type { User } from './schema.ts';
import { findUser } from './use-cases.ts';

/**
 * Sends another invitation. Never invites a user who has logged in: the link, which the response may contain, would
 * open that user's account.
 */
export async function inviteAgain(
  deps: Deps,
  caller: Caller,
  id: number,
  context: RequestContext,
): Promise<{ user: User; invitation: Invitation }> {
  const user = await findUser(deps.records, caller, id);
  if (user === null) throw new AppError('not_found', 'There is no such user.');
  assertCanAssignRole(caller, user.role);
  if (user.passwordHash !== null || user.lastLoginAt !== null || user.disabled)
    throw new AppError('state_conflict', 'The user has accepted an invitation or is disabled.');
  await deps.limits.consume('codes', `invitation:${id}`, context);
  await revokeResetTokens(deps, user);
  const invitation = await sendInvitation(deps, user);
  await audit(deps, caller, 'users.invite', { type: 'users', id }, { status: invitation.status });
  return { user, invitation };
}
