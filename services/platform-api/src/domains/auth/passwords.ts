import { createHash, randomBytes } from 'node:crypto';
import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Mail, MailStatus } from '../../mail/mail-queue.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { revokeSessionsOf } from '../sessions/use-cases.ts';
import { hashPassword } from '../users/passwords.ts';
import type { User } from '../users/schema.ts';
import { changeUser, findUser } from '../users/use-cases.ts';
import { findByIdentifier, normalizeIdentifier } from './login-throttle.ts';
import { consumeResetToken, insertResetToken, removeResetTokens } from './store.ts';
import { requestOrigin } from './token-set.ts';

const hourMs = 3_600_000;
const resetTtlMs = hourMs;
const invitationTtlMs = 7 * 24 * hourMs;

type PasswordDeps = Pick<Deps, 'records' | 'database' | 'messages' | 'mails' | 'config' | 'bus' | 'log'>;
type ForgotPasswordDeps = PasswordDeps & Pick<Deps, 'limits'>;

const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

async function createResetLink(
  deps: PasswordDeps,
  user: User,
  lifetimeMs: number,
): Promise<{ token: string; url: string }> {
  const token = `pr_${randomBytes(32).toString('base64url')}`;
  const expiresAt = new Date(Date.now() + lifetimeMs);
  await insertResetToken(deps.database, {
    _id: hashToken(token),
    accountId: user.accountId,
    userId: user._id,
    expiresAt,
  });
  return { token, url: `${deps.config.PUBLIC_BASE_URL}/reset-password?token=${token}` };
}

type UserMessage = Pick<Mail, 'purpose' | 'subject' | 'text' | 'lifetimeMs'>;

/** Sends a message to a user: by mail where there is an address, else by SMS, which is tried once. */
async function sendToUser(deps: PasswordDeps, user: User, message: UserMessage): Promise<MailStatus> {
  const { _id: userId, accountId, email, phoneNumber } = user;
  if (email !== null) return deps.mails.send({ accountId, userId, to: email, ...message });
  await deps.messages.send({ kind: 'sms', to: phoneNumber ?? '', text: message.text });
  return deps.messages.delivers('sms') ? 'sent' : 'not_configured';
}

/** What was sent to a user to set a password with is worth nothing any more: there is another password, or what was sent went to an address that is not the user's. */
export async function revokeResetTokens(
  { database, mails }: Pick<Deps, 'database' | 'mails'>,
  { _id }: Pick<User, '_id'>,
): Promise<void> {
  await removeResetTokens(database, _id);
  await mails.cancel(_id);
}

const isUnchanged = (before: User, now: User | null): boolean =>
  now?.email === before.email && now.phoneNumber === before.phoneNumber && now.passwordHash === before.passwordHash;

/** Sends what opens the setting of a new password to a user who forgot it; to the caller all identifiers are the same. No more are sent than one-time codes. */
export async function forgotPassword(
  deps: ForgotPasswordDeps,
  identifier: string,
  context: RequestContext,
): Promise<void> {
  const send = async (): Promise<void> => {
    const normalized = normalizeIdentifier(identifier);
    await deps.limits.consume('codes', `password:${normalized}`);
    const user = await findByIdentifier(deps, normalized);
    if (user === null || user.disabled) return;
    const { url } = await createResetLink(deps, user, resetTtlMs);
    // Who changes the address or the password ends all tokens, and may have done so just before there was this one.
    if (!isUnchanged(user, await findUser(deps.records, user, user._id))) return revokeResetTokens(deps, user);
    const text = `Set a new password within an hour: ${url}`;
    await sendToUser(deps, user, {
      purpose: 'password_reset',
      subject: 'Set a new password',
      text,
      lifetimeMs: resetTtlMs,
    });
  };
  // Not waited for, so that the time tells nothing.
  void send().catch((error: unknown) => context.log.warn({ err: error }, 'a link to a new password was not sent'));
}

/** What became of an invitation; `url` where the inviter has to pass it on. */
export interface Invitation {
  readonly status: MailStatus;
  readonly url?: string;
}

/** Sends a new user what opens the setting of the first password, valid for seven days. The user is on record already: a failure is part of the result. */
export async function sendInvitation(deps: PasswordDeps, user: User): Promise<Invitation> {
  try {
    const { url } = await createResetLink(deps, user, invitationTtlMs);
    const status = await sendLink(deps, user, url);
    return status === 'failed' || status === 'not_configured' ? { status, url } : { status };
  } catch (error) {
    deps.log.error({ err: error, userId: user._id }, 'a link for an invitation could not be created');
    return { status: 'failed' };
  }
}

async function sendLink(deps: PasswordDeps, user: User, url: string): Promise<MailStatus> {
  const text = `You are invited to the fleet platform. Choose a password within seven days: ${url}`;
  const subject = 'Your invitation to the fleet platform';
  try {
    return await sendToUser(deps, user, { purpose: 'invitation', subject, text, lifetimeMs: invitationTtlMs });
  } catch (error) {
    deps.log.error({ err: error, userId: user._id }, 'an invitation could not be sent');
    return 'failed';
  }
}

/** Sets the password of the user whose token this is, and ends all sessions. */
export async function resetPassword(
  deps: PasswordDeps,
  input: { token: string; password: string },
  context: RequestContext,
): Promise<User> {
  const passwordHash = await hashPassword(input.password);
  const token = await consumeResetToken(deps.database, hashToken(input.token), new Date());
  const user = token === null ? null : await findUser(deps.records, token, token.userId);
  if (token === null || user === null || user.disabled)
    throw new AppError('token_invalid', 'The token is wrong, used, or no longer valid.');
  const changed = (await changeUser(deps.records, token, user._id, { passwordHash })) ?? user;
  await removeResetTokens(deps.database, user._id);
  await revokeSessionsOf(deps, user);
  const actor = { accountId: user.accountId, userId: user._id, ip: requestOrigin(context).ip };
  await audit(deps, actor, 'auth.password-reset', { type: 'users', id: user._id });
  return changed;
}
