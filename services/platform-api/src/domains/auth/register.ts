import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { createAccount } from '../accounts/use-cases.ts';
import { hashPassword } from '../users/passwords.ts';
import { readContact } from '../users/rules.ts';
import { createTokenSet } from './token-set.ts';

type RegisterDeps = Pick<Deps, 'records' | 'bus' | 'config' | 'tokens' | 'log'>;

/** Creates an account with its first owner and logs the owner in. */
export async function register(
  deps: RegisterDeps,
  input: {
    name: string;
    email?: string | undefined;
    phone_number?: string | undefined;
    password: string;
    account_name: string;
  },
  context: RequestContext,
) {
  if (!deps.config.SIGNUP_ENABLED)
    throw new AppError('permission_denied', 'Sign-up is disabled. Contact the operator to open an account.');
  const contact = readContact(input);
  const passwordHash = await hashPassword(input.password);
  const owner = { name: input.name, ...contact, passwordHash };
  const { user } = await createAccount(deps.records, { name: input.account_name }, owner);
  return createTokenSet(deps, user, 'registration', context);
}
