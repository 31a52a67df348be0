import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { isVersionConflict, retryOnConflict } from '../../store/optimistic-retry.ts';
import type { User } from '../users/schema.ts';
import { changeUser, findUser, spendStep } from '../users/use-cases.ts';
import { createOtpauthUrl, generateTotpSecret, matchTotp } from './totp.ts';

type TwoFactorDeps = Pick<Deps, 'records' | 'encryption'>;

const sealPurpose = (user: User): string => `totp of user ${user._id}`;

export const isTwoFactorEnabled = (user: User): boolean => (user.totp?.confirmedAt ?? null) !== null;

/** True for a code of now that was not used before; it is used by that. */
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

/** Asks for the second factor where the user has one: `missing` or `wrong` otherwise. */
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

/** Makes the secret for an authenticator app; it counts once a code has confirmed it. */
export async function enrollTwoFactor(
  { records, encryption }: TwoFactorDeps,
  user: User,
): Promise<{ secret: string; otpauth_url: string }> {
  if (isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is on already.');
  const secret = generateTotpSecret();
  const totp = { sealedSecret: encryption.seal(secret, sealPurpose(user)), confirmedAt: null, lastStep: 0 };
  await changeUser(records, user, user._id, { totp });
  return { secret, otpauth_url: createOtpauthUrl(secret, user.email ?? user.phoneNumber ?? user.name) };
}

const wrongCodeError = (): AppError =>
  new AppError('validation_failed', 'The code is not right, or was used before.', {
    details: [{ path: '/code', message: 'is not right' }],
  });

/** Turns two-factor log-in on, with a code that shows that the app has the secret. */
export async function confirmTwoFactor(deps: TwoFactorDeps, user: User, code: string, now = new Date()): Promise<User> {
  if (isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is on already.');
  if (user.totp === null)
    throw new AppError('state_conflict', 'Ask for a secret first: the same request without a code.');
  if (!(await consumeTotpCode(deps, user, code, now))) throw wrongCodeError();
  const { sealedSecret } = user.totp;
  const confirm = async (): Promise<User | null> => {
    const current = await findUser(deps.records, user, user._id);
    // Another secret has taken its place meanwhile, which the app may not have.
    if (current === null || current.totp?.sealedSecret !== sealedSecret)
      throw new AppError('state_conflict', 'The secret is another one by now: confirm that.');
    const totp = { ...current.totp, confirmedAt: now };
    return changeUser(deps.records, user, user._id, { totp }, current.version);
  };
  return (await retryOnConflict(confirm, isVersionConflict)) ?? user;
}

/** Turns two-factor log-in off, with a code. */
export async function disableTwoFactor(deps: TwoFactorDeps, user: User, code: string, now = new Date()): Promise<User> {
  if (!isTwoFactorEnabled(user)) throw new AppError('state_conflict', 'Two-factor log-in is not on.');
  if (!(await consumeTotpCode(deps, user, code, now))) throw wrongCodeError();
  return (await changeUser(deps.records, user, user._id, { totp: null })) ?? user;
}
