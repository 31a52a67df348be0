import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { isPassword } from '../users/passwords.ts';
import type { User } from '../users/schema.ts';
import { findByIdentifier, LoginThrottle, normalizeIdentifier } from './login-throttle.ts';
import { createTokenSet, requestOrigin } from './token-set.ts';
import { checkSecondFactor } from './two-factor.ts';

type LogInDeps = Pick<Deps, 'records' | 'database' | 'bus' | 'tokens' | 'encryption' | 'limits' | 'log' | 'background'>;

/**
 * Returns the error of a rejected log-in. It is the same for an unknown identifier, a wrong password and a disabled
 * user.
 */
const invalidCredentialsError = (): AppError =>
  new AppError('invalid_credentials', 'The identifier or the password is wrong.');

/** Logs a user in with a password, and with a time-based code if the user has enabled two-factor log-in. */
export async function logIn(
  deps: LogInDeps,
  input: { identifier: string; password: string; code?: string | undefined },
  context: RequestContext,
) {
  const identifier = normalizeIdentifier(input.identifier);
  await deps.limits.consume('login', `identifier:${identifier}`, context);
  const throttle = await LoginThrottle.begin(deps, identifier);
  const user = await findByIdentifier(deps, identifier);
  const isPasswordRight = await isPassword(user?.passwordHash ?? null, input.password);
  if (user === null || !isPasswordRight || user.disabled) {
    if (user !== null) auditFailure(deps, user, context);
    throw invalidCredentialsError();
  }
  await verifySecondFactor(deps, user, input.code, throttle);
  await throttle.reset();
  return createTokenSet(deps, user, 'password', context);
}

/** Throws 401 `two_factor_required` if a code is required and is missing or wrong. */
export async function verifySecondFactor(
  deps: Pick<Deps, 'records' | 'encryption'>,
  user: User,
  code: string | undefined,
  throttle: LoginThrottle,
): Promise<void> {
  const verdict = await checkSecondFactor(deps, user, code);
  if (verdict === 'fine') return;
  if (verdict === 'missing') await throttle.revert();
  const message = verdict === 'missing' ? 'A code of the authenticator app is required.' : 'The code is wrong.';
  throw new AppError('two_factor_required', message);
}

/**
 * Writes a failed log-in to the audit log in the background: unknown identifiers have no entry, and the response time
 * must not reveal that.
 */
function auditFailure(deps: LogInDeps, user: User, context: RequestContext): void {
  const actor = { accountId: user.accountId, ip: requestOrigin(context).ip };
  const record = () => audit(deps, actor, 'auth.login-failed', { type: 'users', id: user._id });
  deps.background.run(record, 'could not record a failed log-in');
}
