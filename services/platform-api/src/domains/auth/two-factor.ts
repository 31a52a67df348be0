import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { isVersionConflict, retryOnConflict } from '../../store/optimistic-retry.ts';
import type { User } from '../users/schema.ts';
import { changeUser, findUser, spendStep } from '../users/use-cases.ts';
import { createOtpauthUrl, generateTotpSecret, matchTotp } from './totp.ts';

type TwoFactorDeps = Pick<Deps, 'records' | 'encryption'>;

const sealPurpose = (user: User): string => `totp of user ${user._id}`;

const isTwoFactorEnabled = (user: User): boolean => (user.totp?.confirmedAt ?? null) !== null;

/** Returns true for a currently valid, unused code, and marks it as used. */
async function consumeTotpCode(
  { records, encryption }: TwoFactorDeps,
  user: User,
  code: string,
  now: Date,
): Promise<boolean> {
  if (user.totp === null) return false;
  const secret = encryption.open(user.totp.sealedSecret, sealPurpose(user));
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
  return (await consumeTotpCode(deps, user, code, now)) ? 'fine' : 'wrong';
}

/** Creates the secret for an authenticator app. Two-factor log-in is enabled once a code has confirmed the secret. */
export async function enrollTwoFactor(
  { records, encryption }: TwoFactorDeps,
  user: User,
): Promise<{ secret: string; otpauth_url: string }> {
  if (isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is already enabled.');
  const secret = generateTotpSecret();
  const totp = { sealedSecret: encryption.seal(secret, sealPurpose(user)), confirmedAt: null, lastStep: 0 };
  await changeUser(records, user, user._id, { totp });
  return { secret, otpauth_url: createOtpauthUrl(secret, user.email ?? user.phoneNumber ?? user.name) };
}

const wrongCodeError = (): AppError =>
  new AppError('validation_failed', 'The code is wrong or was already used.', {
    details: [{ path: '/code', message: 'is wrong or used' }],
  });

/** Enables two-factor log-in with a code, which proves that the app has the secret. */
export async function confirmTwoFactor(deps: TwoFactorDeps, user: User, code: string, now = new Date()): Promise<User> {
  if (isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is already enabled.');
  if (user.totp === null)
    throw new AppError('state_conflict', 'No secret exists yet. Send the request without a code first.');
  if (!(await consumeTotpCode(deps, user, code, now))) throw wrongCodeError();
  const { sealedSecret } = user.totp;
  const confirm = async (): Promise<User | null> => {
    const current = await findUser(deps.records, user, user._id);
    // A concurrent request has replaced the secret, and the app may not have the new one.
    if (current === null || current.totp?.sealedSecret !== sealedSecret)
      throw new AppError('state_conflict', 'The secret was replaced by a newer request. Send a code of the new one.');
    const totp = { ...current.totp, confirmedAt: now };
    return changeUser(deps.records, user, user._id, { totp }, current.version);
  };
  return (await retryOnConflict(confirm, isVersionConflict)) ?? user;
}

/** Disables two-factor log-in with a code. */
export async function disableTwoFactor(deps: TwoFactorDeps, user: User, code: string, now = new Date()): Promise<User> {
  if (!isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is not enabled.');
  if (!(await consumeTotpCode(deps, user, code, now))) throw wrongCodeError();
  return (await changeUser(deps.records, user, user._id, { totp: null })) ?? user;
}
