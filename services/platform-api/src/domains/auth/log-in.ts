import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../deps.ts';
import { audit } from '../audit/use-cases.ts';
import { isPassword } from '../users/passwords.ts';
import type { User } from '../users/schema.ts';
import { Attempts, findByIdentifier, normalIdentifier } from './attempts.ts';
import { logUserIn, originOf } from './token-set.ts';
import { checkSecondFactor } from './two-factor.ts';

type Parts = Pick<Deps, 'records' | 'database' | 'bus' | 'tokens' | 'encryption' | 'limits' | 'log' | 'background'>;

/** The refusal of a log-in: the same for an unknown identifier, a wrong password and a disabled user. */
export const wrongLogIn = (): AppError =>
  new AppError('invalid_credentials', 'The identifier or the password is wrong.');

/** Log-in with a password, and with a time-based code where the user has turned that on. */
export async function logIn(
  deps: Parts,
  given: { identifier: string; password: string; code?: string | undefined },
  context: RequestContext,
) {
  const identifier = normalIdentifier(given.identifier);
  await deps.limits.consume('login', `identifier:${identifier}`, context);
  const attempts = await Attempts.begin(deps, identifier);
  const user = await findByIdentifier(deps, identifier);
  const isRight = await isPassword(user?.passwordHash ?? null, given.password);
  if (user === null || !isRight || user.disabled) {
    if (user !== null) auditFailure(deps, user, context);
    throw wrongLogIn();
  }
  await passSecondFactor(deps, user, given.code, attempts);
  await attempts.succeeded();
  return logUserIn(deps, user, 'password', context);
}

/** 401 `two_factor_required` where a code is due and none or a wrong one is given. */
export async function passSecondFactor(
  deps: Pick<Deps, 'records' | 'encryption'>,
  user: User,
  code: string | undefined,
  attempts: Attempts,
): Promise<void> {
  const verdict = await checkSecondFactor(deps, user, code);
  if (verdict === 'fine') return;
  if (verdict === 'missing') await attempts.takeBack();
  const message = verdict === 'missing' ? 'A code of the authenticator app is required.' : 'The code is not right.';
  throw new AppError('two_factor_required', message);
}

/** Not waited for, so that the time tells nothing: of an identifier that nobody has there is no note. */
function auditFailure(deps: Parts, user: User, context: RequestContext): void {
  const doer = { accountId: user.accountId, ip: originOf(context).ip };
  const note = () => audit(deps, doer, 'auth.login-failed', { type: 'users', id: user._id });
  deps.background.run(note, 'a failed log-in could not be noted');
}
