import { Reply, singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { parsePhoneNumber } from '../../platform/phone.ts';
import { toUserResponse, userSchema } from '../users/responses.ts';
import { logIn } from './log-in.ts';
import { logOut } from './log-out.ts';
import { getMe, meSchema } from './me.ts';
import { mintToken } from './mint-token.ts';
import { codeSeconds, sendCode, verifyCode } from './one-time-codes.ts';
import { checkResetToken, forgotPassword, resetPassword } from './passwords.ts';
import { refreshTokens } from './refresh.ts';
import { register } from './register.ts';
import {
  checkTokenBody,
  forgotBody,
  loginBody,
  refreshBody,
  registerBody,
  resetBody,
  sendCodeBody,
  tokenCheckSchema,
  verifyCodeBody,
} from './schema.ts';
import { clearedCookie, createTokenReply, hasSessionCookie, readSessionCookie } from './session-cookie.ts';
import { tokenSetSchema } from './token-set.ts';

const tags = ['Log-in'];
const publicAccess = { credentials: 'none' } as const;
const credentialErrors = 'The credentials are wrong or expired.';
const suspended = 'The account is suspended.';

const logInRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/auth/register',
    operationId: 'register',
    summary: 'Register an account',
    description:
      'Creates an account with its first owner and logs the owner in. Requires `email`, `phone_number` or both.',
    tags,
    access: publicAccess,
    bucket: 'login',
    isIdempotent: true,
    body: registerBody,
    response: singleSchema(tokenSetSchema),
    extraSuccesses: { 201: 'The account was created and its owner is logged in.' },
    errors: { 403: 'Sign-up is disabled; the operator creates accounts.', 409: 'The e-mail or phone number is taken.' },
    handle: async ({ body, context }) =>
      createTokenReply(await register(deps, body, context), body.session === 'cookie', 201, {
        Location: '/api/auth/me',
      }),
  }),
  platformRoute({
    method: 'post',
    path: '/auth/login',
    operationId: 'login',
    summary: 'Log in with a password',
    description:
      'Five failures lock an identifier for 15 minutes. Error 401 is `invalid_credentials` if the identifier or password is wrong, and `two_factor_required` if a `code` of the authenticator app is required.',
    tags,
    access: publicAccess,
    bucket: 'login',
    body: loginBody,
    response: singleSchema(tokenSetSchema),
    errors: { 401: credentialErrors, 403: suspended },
    handle: async ({ body, context }) => createTokenReply(await logIn(deps, body, context), body.session === 'cookie'),
  }),
  platformRoute({
    method: 'post',
    path: '/auth/otp/send',
    operationId: 'sendOneTimeCode',
    summary: 'Send a log-in code by SMS',
    description: 'Sends a code if a user has the phone number. The response is the same if no user has it.',
    tags,
    access: publicAccess,
    bucket: 'login',
    body: sendCodeBody,
    extraSuccesses: { 202: 'The code is sent if a user has the number.' },
    response: singleSchema(Type.Object({ phone_number: Type.String(), expires_in: Type.Integer() })),
    handle: async ({ body, context }) => {
      const phone = parsePhoneNumber(body.phone_number);
      await sendCode(deps, phone, context);
      return new Reply(202, { data: { phone_number: phone, expires_in: codeSeconds } });
    },
  }),
  platformRoute({
    method: 'post',
    path: '/auth/otp/verify',
    operationId: 'verifyOneTimeCode',
    summary: 'Log in with a one-time code',
    tags,
    access: publicAccess,
    bucket: 'login',
    body: verifyCodeBody,
    response: singleSchema(tokenSetSchema),
    errors: { 401: credentialErrors, 403: suspended },
    handle: async ({ body, context }) => {
      const input = { phoneNumber: parsePhoneNumber(body.phone_number), code: body.code, totpCode: body.totp_code };
      return createTokenReply(await verifyCode(deps, input, context), body.session === 'cookie');
    },
  }),
];

const passwordRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/auth/password/forgot',
    operationId: 'forgotPassword',
    summary: 'Send a password reset link',
    description: 'The response is the same if the user does not exist.',
    tags,
    access: publicAccess,
    bucket: 'login',
    body: forgotBody,
    extraSuccesses: { 202: 'The link is sent if the user exists.' },
    response: singleSchema(Type.Object({})),
    handle: async ({ body, context }) => {
      await forgotPassword(deps, body.identifier, context);
      return new Reply(202, { data: {} });
    },
  }),
  platformRoute({
    method: 'post',
    path: '/auth/password/check',
    operationId: 'checkPasswordToken',
    summary: 'Check a reset or invitation token',
    description: 'Does not consume the token.',
    tags,
    access: publicAccess,
    bucket: 'login',
    body: checkTokenBody,
    response: singleSchema(tokenCheckSchema),
    errors: { 401: credentialErrors },
    handle: async ({ body }) => {
      const { kind, name, accountName, expiresAt } = await checkResetToken(deps, body.token);
      return { data: { kind, name, account_name: accountName, expires_at: expiresAt.toISOString() } };
    },
  }),
  platformRoute({
    method: 'post',
    path: '/auth/password/reset',
    operationId: 'resetPassword',
    summary: 'Set a new password',
    description: 'Requires the token of a reset link or an invitation. Ends all sessions of the user.',
    tags,
    access: publicAccess,
    bucket: 'login',
    body: resetBody,
    response: singleSchema(userSchema),
    errors: { 401: credentialErrors },
    handle: async ({ body, context }) => ({ data: toUserResponse(await resetPassword(deps, body, context)) }),
  }),
];

const tokenRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/auth/refresh',
    operationId: 'refresh',
    summary: 'Refresh the tokens of a session',
    description:
      'Consumes the refresh token and returns the next one. Reuse of a consumed token ends the session. Without `refresh_token` it uses the session cookie, which requires an allowed origin.',
    tags,
    access: publicAccess,
    bucket: 'refresh',
    body: refreshBody,
    bodyIsOptional: true,
    response: singleSchema(tokenSetSchema),
    errors: { 401: credentialErrors, 403: suspended },
    handle: async ({ body, context }) => {
      const isCookie = body.refresh_token === undefined;
      const refreshToken = body.refresh_token ?? readSessionCookie(deps, context);
      return createTokenReply(await refreshTokens(deps, { refreshToken, isCookie }, context), isCookie);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/auth/api-token',
    operationId: 'mintToken',
    summary: 'Mint an access token',
    description:
      'Mints a token for a server with an API key that can mint tokens. The response has no refresh token: use the key to mint the next token. The token expires with the key.',
    tags,
    access: { credentials: 'key', permission: 'self', scope: null },
    bucket: 'login',
    response: singleSchema(tokenSetSchema),
    handle: async ({ context }) => ({ data: await mintToken(deps, getCaller(context)) }),
  }),
  platformRoute({
    method: 'post',
    path: '/auth/logout',
    operationId: 'logout',
    summary: 'Log out',
    description:
      'Ends the session of the token. All services reject the token within five seconds. Without a token it ends the session of the cookie, which requires an allowed origin.',
    tags,
    access: { credentials: 'session', permission: 'self' },
    response: singleSchema(Type.Object({})),
    errors: { 409: 'The token was minted by an API key and has no session.' },
    handle: async ({ context }) => {
      await logOut(deps, context);
      return new Reply(200, { data: {} }, hasSessionCookie(context) ? clearedCookie : {});
    },
  }),
  platformRoute({
    method: 'get',
    path: '/auth/me',
    operationId: 'getMe',
    summary: 'Get the current user',
    description: 'Returns the caller, with account and permissions.',
    tags,
    access: { credentials: 'bearer', permission: 'self', scope: null },
    response: singleSchema(meSchema),
    handle: async ({ context }) => ({ data: await getMe(deps, getCaller(context)) }),
  }),
];

export const authRoutes = (deps: Deps): PlatformRoute[] => [
  ...logInRoutes(deps),
  ...passwordRoutes(deps),
  ...tokenRoutes(deps),
];
