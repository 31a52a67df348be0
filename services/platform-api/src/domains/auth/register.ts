import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../deps.ts';
import { openAccount } from '../accounts/use-cases.ts';
import { hashPassword } from '../users/passwords.ts';
import { readContact } from '../users/rules.ts';
import { logUserIn } from './token-set.ts';

type Parts = Pick<Deps, 'records' | 'bus' | 'config' | 'tokens' | 'log'>;

/** Opens an account with its first owner, and logs the owner in. */
export async function register(
  deps: Parts,
  given: {
    name: string;
    email?: string | undefined;
    phone_number?: string | undefined;
    password: string;
    account_name: string;
  },
  context: RequestContext,
) {
  if (!deps.config.SIGNUP_ENABLED)
    throw new AppError('permission_denied', 'Accounts are opened by the operator here: ask there.');
  const contact = readContact(given);
  const passwordHash = await hashPassword(given.password);
  const owner = { name: given.name, ...contact, passwordHash };
  const { user } = await openAccount(deps.records, { name: given.account_name }, owner);
  return logUserIn(deps, user, 'registration', context);
}
