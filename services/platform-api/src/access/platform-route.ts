import { defineRoute, type Route, type RouteInput } from '@fleet/service-kit';
import type { Static, TObject, TSchema } from 'typebox';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import type { Permission } from './roles.ts';

/** Access requirements of a route. */
interface RouteAccess {
  /**
   * `both`: API key and bearer token of one account (the default). `bearer`: the token only. `key`: the API key only.
   * `none`: neither; the route checks what it requires. `either`: both if the request has an API key; otherwise the
   * route checks the credential that it accepts instead (`callerIfAny`). `session`: the token if the request has one;
   * otherwise the route checks the cookie of the session.
   */
  readonly credentials?: 'both' | 'bearer' | 'key' | 'none' | 'either' | 'session';
  /** Permission that the caller's role requires. Default: `read` for GET, `fleet` otherwise. */
  readonly permission?: Permission;
  /** Scope that the API key requires; null: none. Default: `read` for GET, `write` otherwise. */
  readonly scope?: KeyScope | null;
}

/** A row of the Platform API's route table. */
export interface PlatformRoute extends Route {
  readonly access: Required<RouteAccess>;
  /** True for a POST that creates or charges: the route honours `Idempotency-Key`. */
  readonly isIdempotent: boolean;
}

type StaticOr<S, D> = S extends TSchema ? Static<S> : D;

/** Error responses of every route; a route adds its own. */
const commonErrors = {
  400: 'The request is not valid. `details` lists each fault.',
  429: 'Too many requests.',
  500: 'Unexpected server error.',
  503: 'A backend is unavailable, or the request took too long.',
} as const;
const credentialErrors = {
  401: 'The API key or the token is missing or not valid.',
  403: 'The role or the key lacks the permission, or key and token belong to different accounts.',
} as const;

const requestTimeoutMs = 30_000;

/**
 * Declares a row of the route table. Adds what all rows have in common and types the handler's input by the schemas.
 */
export function platformRoute<
  const Q extends TObject | undefined = undefined,
  const B extends TSchema | undefined = undefined,
  const P extends TObject | undefined = undefined,
>(
  route: Omit<Route, 'handle' | 'query' | 'body' | 'params' | 'errors'> & {
    readonly access?: RouteAccess;
    readonly isIdempotent?: boolean;
    /**
     * True for a response that is sent for as long as the client reads. It has no timeout and is not counted in the
     * bucket `platform`.
     */
    readonly isStream?: boolean;
    readonly errors?: Route['errors'];
    readonly query?: Q;
    readonly body?: B;
    readonly params?: P;
    readonly handle: (
      input: RouteInput<StaticOr<Q, Record<string, never>>, StaticOr<B, undefined>, StaticOr<P, Record<string, never>>>,
    ) => Promise<unknown>;
  },
): PlatformRoute {
  const { access = {}, isIdempotent = false, isStream = false, ...row } = route;
  const isRead = route.method === 'get';
  const credentials = access.credentials ?? 'both';
  const errors = { ...commonErrors, ...(credentials === 'none' ? {} : credentialErrors), ...route.errors };
  // `X-Account-Id` of an unknown account is 404.
  const hasRecord = route.params !== undefined || credentials === 'both';
  const params = hasRecord ? { 404: 'The record does not exist, or it is not visible to the caller.' } : {};
  const replays = isIdempotent
    ? {
        409: 'A request with this Idempotency-Key is still running.',
        422: 'The Idempotency-Key was used with another body.',
      }
    : {};
  const body = route.body === undefined ? {} : { 413: 'The body is too large.', 415: 'The body is not plain UTF-8.' };
  return {
    ...(isStream ? {} : { timeoutMs: requestTimeoutMs, bucket: 'platform' }),
    // Routes that create or start something respond only with 201 or 202.
    returns200: route.extraSuccesses?.[201] === undefined && route.extraSuccesses?.[202] === undefined,
    ...defineRoute({
      ...row,
      isSecured: credentials !== 'none',
      errors: { ...replays, ...params, ...errors, ...body },
    } as never),
    access: {
      credentials,
      permission: access.permission ?? (isRead ? 'read' : 'fleet'),
      scope: access.scope === undefined ? (isRead ? 'read' : 'write') : access.scope,
    },
    isIdempotent,
  };
}
