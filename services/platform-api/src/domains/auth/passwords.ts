import { createHash, randomBytes } from 'node:crypto';
import { AppError, dayMs, hourMs, type RequestContext } from '@fleet/service-kit';
import type { Mail, MailStatus } from '../../mail/mail-queue.ts';
import type { Deps } from '../../platform/deps.ts';
import { getAccount } from '../accounts/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { revokeSessionsOf } from '../sessions/use-cases.ts';
import { hashPassword } from '../users/passwords.ts';
import type { User } from '../users/schema.ts';
import { changeUser, findUser } from '../users/use-cases.ts';
import { findByIdentifier, normalizeIdentifier } from './login-throttle.ts';
import { consumeResetToken, findResetToken, insertResetToken, removeResetTokens } from './store.ts';
import { requestOrigin } from './token-set.ts';

const resetTtlMs = hourMs;
const invitationTtlMs = 7 * dayMs;

type PasswordDeps = Pick<Deps, 'records' | 'database' | 'messages' | 'mails' | 'config' | 'bus' | 'log'>;
type ForgotPasswordDeps = PasswordDeps & Pick<Deps, 'limits'>;

const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

// The token is in the fragment, which browsers send to no server, so that no log contains it.
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
  return { token, url: `${deps.config.PUBLIC_BASE_URL}/reset-password#token=${token}` };
}

type UserMessage = Pick<Mail, 'purpose' | 'subject' | 'text' | 'lifetimeMs'>;

/** Sends a message to a user by mail, or by SMS if the user has no e-mail address. An SMS is not retried. */
async function sendToUser(deps: PasswordDeps, user: User, message: UserMessage): Promise<MailStatus> {
  const { _id: userId, accountId, email, phoneNumber } = user;
  if (email !== null) return deps.mails.send({ accountId, userId, to: email, ...message });
  await deps.messages.send({ kind: 'sms', to: phoneNumber ?? '', text: message.text });
  return deps.messages.delivers('sms') ? 'sent' : 'not_configured';
}

/**
 * Revokes the links to set a password and cancels their mails, because the password was set or the address was changed.
 */
export async function revokeResetTokens(
  { database, mails }: Pick<Deps, 'database' | 'mails'>,
  { _id }: Pick<User, '_id'>,
): Promise<void> {
  await removeResetTokens(database, _id);
  await mails.cancel(_id);
}

const isUnchanged = (before: User, now: User | null): boolean =>
  now?.email === before.email && now.phoneNumber === before.phoneNumber && now.passwordHash === before.passwordHash;

/**
 * Sends a password reset link. The response does not reveal whether the identifier has a user. The limit is that of
 * one-time codes.
 */
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
    // A change of the address or password revokes all tokens. It may have happened just before this token was inserted.
    if (!isUnchanged(user, await findUser(deps.records, user, user._id))) return revokeResetTokens(deps, user);
    const text = `Set a new password within an hour: ${url}`;
    await sendToUser(deps, user, {
      purpose: 'password_reset',
      subject: 'Set a new password',
      text,
      lifetimeMs: resetTtlMs,
    });
  };
  // Not awaited, so that the response time reveals nothing.
  void send().catch((error: unknown) => context.log.warn({ err: error }, 'could not send a password reset link'));
}

/** The result of an invitation; `url` is set if the inviter must pass the link on. */
export interface Invitation {
  readonly status: MailStatus;
  readonly url?: string;
}

/**
 * Sends a link to set the first password to a new user, valid for seven days. The user is already stored, so a failure
 * is part of the result.
 */
export async function sendInvitation(deps: PasswordDeps, user: User): Promise<Invitation> {
  try {
    const { url } = await createResetLink(deps, user, invitationTtlMs);
    const status = await sendLink(deps, user, url);
    return status === 'failed' || status === 'not_configured' ? { status, url } : { status };
  } catch (error) {
    deps.log.error({ err: error, userId: user._id }, 'could not create an invitation link');
    return { status: 'failed' };
  }
}

async function sendLink(deps: PasswordDeps, user: User, url: string): Promise<MailStatus> {
  const text = `You are invited to the fleet platform. Choose a password within seven days: ${url}`;
  const subject = 'Your invitation to the fleet platform';
  try {
    return await sendToUser(deps, user, { purpose: 'invitation', subject, text, lifetimeMs: invitationTtlMs });
  } catch (error) {
    deps.log.error({ err: error, userId: user._id }, 'could not send an invitation');
    return 'failed';
  }
}

/** The purpose of a valid token, and whom it greets. */
interface TokenCheck {
  readonly kind: 'reset' | 'invitation';
  readonly name: string;
  readonly accountName: string;
  readonly expiresAt: Date;
}

/** Returns what a token is for, without consuming it. */
export async function checkResetToken(deps: Pick<Deps, 'records' | 'database'>, value: string): Promise<TokenCheck> {
  const token = await findResetToken(deps.database, hashToken(value), new Date());
  const user = token === null ? null : await findUser(deps.records, token, token.userId);
  const account = token === null ? null : await getAccount(deps.records, token.accountId);
  if (token === null || user === null || user.disabled || account === null) throw wrongToken();
  const kind = user.passwordHash === null ? 'invitation' : 'reset';
  return { kind, name: user.name, accountName: account.name, expiresAt: token.expiresAt };
}

const wrongToken = (): AppError =>
  new AppError('token_invalid', 'The token is wrong, used or expired. Request a new one.');

/** Sets the password of the user to whom the token belongs and ends all sessions. */
export async function resetPassword(
  deps: PasswordDeps,
  input: { token: string; password: string },
  context: RequestContext,
): Promise<User> {
  const passwordHash = await hashPassword(input.password);
  const token = await consumeResetToken(deps.database, hashToken(input.token), new Date());
  const user = token === null ? null : await findUser(deps.records, token, token.userId);
  if (token === null || user === null || user.disabled) throw wrongToken();
  const changed = (await changeUser(deps.records, token, user._id, { passwordHash })) ?? user;
  await removeResetTokens(deps.database, user._id);
  await revokeSessionsOf(deps, user);
  const actor = { accountId: user.accountId, userId: user._id, ip: requestOrigin(context).ip };
  await audit(deps, actor, 'auth.password-reset', { type: 'users', id: user._id });
  return changed;
}
