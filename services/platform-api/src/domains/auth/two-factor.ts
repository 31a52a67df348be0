import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../deps.ts';
import { isOtherVersion, untilAlone } from '../../store/again.ts';
import type { User } from '../users/schema.ts';
import { changeUser, findUser, spendStep } from '../users/use-cases.ts';
import { matchTotp, newTotpSecret, otpauthUrl } from './totp.ts';

type Parts = Pick<Deps, 'records' | 'encryption'>;

const purposeOf = (user: User): string => `totp of user ${user._id}`;

export const isTwoFactorOn = (user: User): boolean => (user.totp?.confirmedAt ?? null) !== null;

/** True for a code of now that was not used before; it is used by that. */
async function isCode({ records, encryption }: Parts, user: User, code: string, now: Date): Promise<boolean> {
  if (user.totp === null) return false;
  const secret = encryption.open(user.totp.sealedSecret, purposeOf(user));
  const step = matchTotp(secret, code, now, user.totp.lastStep);
  return step !== null && (await spendStep(records, user._id, step));
}

/** Asks for the second factor where the user has one: `missing` or `wrong` otherwise. */
export async function checkSecondFactor(
  parts: Parts,
  user: User,
  code: string | undefined,
  now = new Date(),
): Promise<'fine' | 'missing' | 'wrong'> {
  if (!isTwoFactorOn(user)) return 'fine';
  if (code === undefined) return 'missing';
  return (await isCode(parts, user, code, now)) ? 'fine' : 'wrong';
}

/** Makes the secret for an authenticator app; it counts once a code has confirmed it. */
export async function prepareTwoFactor(
  { records, encryption }: Parts,
  user: User,
): Promise<{ secret: string; otpauth_url: string }> {
  if (isTwoFactorOn(user)) throw new AppError('state_conflict', 'Two-factor log-in is on already.');
  const secret = newTotpSecret();
  const totp = { sealedSecret: encryption.seal(secret, purposeOf(user)), confirmedAt: null, lastStep: 0 };
  await changeUser(records, user, user._id, { totp });
  return { secret, otpauth_url: otpauthUrl(secret, user.email ?? user.phoneNumber ?? user.name) };
}

const wrongCode = (): AppError =>
  new AppError('validation_failed', 'The code is not right, or was used before.', {
    details: [{ path: '/code', message: 'is not right' }],
  });

/** Turns two-factor log-in on, with a code that shows that the app has the secret. */
export async function confirmTwoFactor(parts: Parts, user: User, code: string, now = new Date()): Promise<User> {
  if (isTwoFactorOn(user)) throw new AppError('state_conflict', 'Two-factor log-in is on already.');
  if (user.totp === null)
    throw new AppError('state_conflict', 'Ask for a secret first: the same request without a code.');
  if (!(await isCode(parts, user, code, now))) throw wrongCode();
  const { sealedSecret } = user.totp;
  const confirm = async (): Promise<User | null> => {
    const known = await findUser(parts.records, user, user._id);
    // Another secret has taken its place meanwhile, which the app may not have.
    if (known === null || known.totp?.sealedSecret !== sealedSecret)
      throw new AppError('state_conflict', 'The secret is another one by now: confirm that.');
    const totp = { ...known.totp, confirmedAt: now };
    return changeUser(parts.records, user, user._id, { totp }, known.version);
  };
  return (await untilAlone(confirm, isOtherVersion)) ?? user;
}

/** Turns two-factor log-in off, with a code. */
export async function endTwoFactor(parts: Parts, user: User, code: string, now = new Date()): Promise<User> {
  if (!isTwoFactorOn(user)) throw new AppError('state_conflict', 'Two-factor log-in is not on.');
  if (!(await isCode(parts, user, code, now))) throw wrongCode();
  return (await changeUser(parts.records, user, user._id, { totp: null })) ?? user;
}
