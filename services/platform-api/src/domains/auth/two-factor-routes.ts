import { AppError, singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { type Caller, getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { toUserResponse, userFields, userSchema } from '../users/responses.ts';
import type { User } from '../users/schema.ts';
import { findUser } from '../users/use-cases.ts';
import { LoginThrottle } from './login-throttle.ts';
import { endTotpBody, totpBody } from './schema.ts';
import { confirmTwoFactor, disableTwoFactor, enrollTwoFactor } from './two-factor.ts';

const tags = ['Log-in'];
const access = { credentials: 'bearer', permission: 'self' } as const;
const totpSecretSchema = Type.Object({ secret: Type.String(), otpauth_url: Type.String() }, { title: 'TotpSecret' });

const enabledSchema = Type.Object(
  {
    ...userFields,
    recovery_codes: Type.Array(Type.String(), {
      description: 'Ten codes, each of which replaces a code of the app once. Returned only in this response.',
    }),
  },
  { title: 'TwoFactorEnabled' },
);

const conflict = { 409: 'Two-factor log-in is already enabled, not prepared, or not enabled.' };

async function loadUser({ records }: Pick<Deps, 'records'>, caller: Caller): Promise<User> {
  const user = await findUser(records, caller, caller.userId);
  if (user === null) throw new AppError('token_invalid', 'The user no longer exists. Log in as another user.');
  return user;
}

/** Runs a change that requires a code, with the throttle of log-ins against guessing. */
async function changeWithCode<R>(
  deps: Deps,
  caller: Caller,
  action: string,
  change: (user: User) => Promise<R>,
): Promise<R> {
  const throttle = await LoginThrottle.begin(deps, `two-factor of user ${caller.userId}`);
  const result = await change(await loadUser(deps, caller));
  await throttle.reset();
  await audit(deps, caller, action, { type: 'users', id: caller.userId });
  return result;
}

export const twoFactorRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/auth/totp',
    operationId: 'startTwoFactor',
    summary: 'Enable two-factor log-in',
    description:
      'Without `code`, returns a secret. With a `code` that the app computes from the secret, enables two-factor log-in and returns recovery codes.',
    tags,
    access,
    bucket: 'login',
    body: totpBody,
    bodyIsOptional: true,
    response: singleSchema(Type.Union([totpSecretSchema, enabledSchema])),
    errors: conflict,
    handle: async ({ body, context }) => {
      const caller = getCaller(context);
      const { code } = body;
      if (code === undefined || code === null)
        return { data: await enrollTwoFactor(deps, await loadUser(deps, caller)) };
      const { user, recoveryCodes } = await changeWithCode(deps, caller, 'auth.two-factor-on', (one) =>
        confirmTwoFactor(deps, one, code),
      );
      return { data: { ...toUserResponse(user), recovery_codes: [...recoveryCodes] } };
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/auth/totp',
    operationId: 'endTwoFactor',
    summary: 'Disable two-factor log-in',
    description: 'Requires a code of the app or a recovery code.',
    tags,
    access,
    bucket: 'login',
    body: endTotpBody,
    response: singleSchema(userSchema),
    errors: conflict,
    handle: async ({ body, context }) => {
      const caller = getCaller(context);
      const user = await changeWithCode(deps, caller, 'auth.two-factor-off', (one) =>
        disableTwoFactor(deps, one, body.code),
      );
      return { data: toUserResponse(user) };
    },
  }),
];
