import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { isVersionConflict, retryOnConflict } from '../../store/optimistic-retry.ts';
import type { User } from '../users/schema.ts';
import { changeUser, findUser, spendRecoveryCode, spendStep } from '../users/use-cases.ts';
import { generateRecoveryCodes, hashRecoveryCode, readRecoveryCode } from './recovery-codes.ts';
import { createOtpauthUrl, generateTotpSecret, matchTotp } from './totp.ts';

type TwoFactorDeps = Pick<Deps, 'records' | 'encryption'>;

/** Purpose of the encrypted secret of a user's authenticator app. */
export const totpPurpose = (userId: number): string => `totp of user ${userId}`;

const isTwoFactorEnabled = (user: User): boolean => (user.totp?.confirmedAt ?? null) !== null;

/** Returns true for a currently valid code of the app, or a recovery code, that is unused. Marks it as used. */
async function consumeCode(
  { records, encryption }: TwoFactorDeps,
  user: User,
  code: string,
  now: Date,
): Promise<boolean> {
  if (user.totp === null) return false;
  const recoveryHash = readRecoveryCode(user._id, code);
  if (recoveryHash !== null) return isTwoFactorEnabled(user) && spendRecoveryCode(records, user._id, recoveryHash);
  const secret = encryption.open(user.totp.sealedSecret, totpPurpose(user._id));
  const step = matchTotp(secret, code, now, user.totp.lastStep);
  return step !== null && (await spendStep(records, user._id, step));
}

/** Checks the second factor if the user has one. */
export async function checkSecondFactor(
  deps: TwoFactorDeps,
  user: User,
  code: string | undefined,
  now = new Date(),
): Promise<'fine' | 'missing' | 'wrong'> {
  if (!isTwoFactorEnabled(user)) return 'fine';
  if (code === undefined) return 'missing';
  return (await consumeCode(deps, user, code, now)) ? 'fine' : 'wrong';
}

/** Creates the secret for an authenticator app. Two-factor log-in is enabled once a code has confirmed the secret. */
export async function enrollTwoFactor(
  { records, encryption }: TwoFactorDeps,
  user: User,
): Promise<{ secret: string; otpauth_url: string }> {
  if (isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is already enabled.');
  const secret = generateTotpSecret();
  const totp = { sealedSecret: encryption.seal(secret, totpPurpose(user._id)), confirmedAt: null, lastStep: 0 };
  await changeUser(records, user, user._id, { totp });
  return { secret, otpauth_url: createOtpauthUrl(secret, user.email ?? user.phoneNumber ?? user.name) };
}

const wrongCodeError = (): AppError =>
  new AppError('validation_failed', 'The code is wrong or was already used.', {
    details: [{ path: '/code', message: 'is wrong or used' }],
  });

/** A user with two-factor log-in, and the recovery codes, which are not stored in this form. */
interface EnabledTwoFactor {
  readonly user: User;
  readonly recoveryCodes: readonly string[];
}

/** Enables two-factor log-in with a code, which proves that the app has the secret. */
export async function confirmTwoFactor(
  deps: TwoFactorDeps,
  user: User,
  code: string,
  now = new Date(),
): Promise<EnabledTwoFactor> {
  if (isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is already enabled.');
  if (user.totp === null)
    throw new AppError('state_conflict', 'No secret exists yet. Send the request without a code first.');
  if (!(await consumeCode(deps, user, code, now))) throw wrongCodeError();
  const { sealedSecret } = user.totp;
  const recoveryCodes = generateRecoveryCodes();
  const recoveryHashes = recoveryCodes.map((one) => hashRecoveryCode(user._id, one));
  const confirm = async (): Promise<User | null> => {
    const current = await findUser(deps.records, user, user._id);
    // A concurrent request has replaced the secret, and the app may not have the new one.
    if (current === null || current.totp?.sealedSecret !== sealedSecret)
      throw new AppError('state_conflict', 'The secret was replaced by a newer request. Send a code of the new one.');
    const totp = { ...current.totp, confirmedAt: now, recoveryHashes };
    return changeUser(deps.records, user, user._id, { totp }, current.version);
  };
  return { user: (await retryOnConflict(confirm, isVersionConflict)) ?? user, recoveryCodes };
}

/** Disables two-factor log-in with a code. */
export async function disableTwoFactor(deps: TwoFactorDeps, user: User, code: string, now = new Date()): Promise<User> {
  if (!isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is not enabled.');
  if (!(await consumeCode(deps, user, code, now))) throw wrongCodeError();
  return (await changeUser(deps.records, user, user._id, { totp: null })) ?? user;
}
