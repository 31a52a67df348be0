import { AppError, Reply, type RequestContext } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { allowedOrigins, isFromAllowedOrigin } from '../../access/origins.ts';
import type { Deps } from '../../platform/deps.ts';
import { refreshSeconds } from '../sessions/rules.ts';
import type { tokenSetSchema } from './token-set.ts';

/** Browsers accept a cookie with this prefix only over HTTPS or from loopback, and never for another host. */
const cookieName = '__Host-fleet-session';
const attributes = 'Path=/; HttpOnly; Secure; SameSite=Strict';

/** Field of the log-in bodies that moves the refresh token into a cookie. */
export const sessionField = Type.Optional(
  Type.Literal('cookie', {
    description:
      'For pages in a browser: sets the refresh token as a cookie that scripts cannot read, and returns null instead.',
  }),
);

type TokenSet = Static<typeof tokenSetSchema>;

/** Creates the response of a log-in or a refresh. In cookie mode the refresh token is only in the cookie. */
export function createTokenReply(
  tokens: TokenSet,
  isCookieSession: boolean,
  status = 200,
  headers: Record<string, string> = {},
): Reply<{ data: TokenSet }> {
  if (!isCookieSession || tokens.refresh_token === null) return new Reply(status, { data: tokens }, headers);
  const cookie = `${cookieName}=${tokens.refresh_token}; Max-Age=${refreshSeconds}; ${attributes}`;
  return new Reply(status, { data: { ...tokens, refresh_token: null } }, { ...headers, 'Set-Cookie': cookie });
}

/** Header that removes the cookie from the browser. */
export const clearedCookie = { 'Set-Cookie': `${cookieName}=; Max-Age=0; ${attributes}` };

/** Returns true if the request has the cookie of a session. */
export const hasSessionCookie = ({ request }: RequestContext): boolean => readCookie(request.get('cookie')) !== null;

/**
 * Returns the refresh token of the cookie. Throws 401 without a cookie, and 403 for a page of another origin, because
 * browsers add cookies to requests that another page causes.
 */
export function readSessionCookie({ config }: Pick<Deps, 'config'>, { request }: RequestContext): string {
  const token = readCookie(request.get('cookie'));
  if (token === null) throw new AppError('token_missing', 'Send refresh_token, or the cookie of a session.');
  const origins = allowedOrigins(config.PUBLIC_BASE_URL, config.ALLOWED_ORIGINS);
  if (!isFromAllowedOrigin((name) => request.get(name), origins))
    throw new AppError('origin_not_allowed', 'The session cookie is not valid from this origin.');
  return token;
}

function readCookie(header: string | undefined): string | null {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === cookieName && value !== undefined && value !== '') return value;
  }
  return null;
}
