import { defineRoute, type Route, type RouteInput } from '@fleet/service-kit';
import type { Static, TObject, TSchema } from 'typebox';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import type { Permission } from './roles.ts';

/** What a route asks for. */
export interface RouteAccess {
  /**
   * `both`: API key and bearer token of one account (the default); `bearer`: the token alone; `key`: the API key alone; `none`: neither (the route checks
   * what it has to by itself); `either`: both where one of them is sent, else the route checks what it takes in their place (`callerIfAny`).
   */
  readonly credentials?: 'both' | 'bearer' | 'key' | 'none' | 'either';
  /** What the caller's role must be allowed. Default: `read` for GET, `fleet` for the rest. */
  readonly permission?: Permission;
  /** What the API key must be allowed; null: nothing in particular. Default: `read` for GET, `write` for the rest. */
  readonly scope?: KeyScope | null;
}

/** A row of the Platform API's route table. */
export interface PlatformRoute extends Route {
  readonly access: Required<RouteAccess>;
  /** True for a POST that creates or charges: `Idempotency-Key` is honoured. */
  readonly isIdempotent: boolean;
}

type StaticOr<S, D> = S extends TSchema ? Static<S> : D;

/** Answers that every route with credentials can give; a route adds its own. */
const commonErrors = {
  400: 'The request is not valid; `details` names each fault.',
  429: 'Too many requests.',
  500: 'Unexpected server error.',
  503: 'A backend cannot be reached at the moment, or the request took too long.',
} as const;
const credentialErrors = {
  401: 'The API key or the token is missing or not valid.',
  403: 'The role or the key does not allow this, or key and token belong to different accounts.',
} as const;

const requestTimeoutMs = 30_000;

/** Declares a row: what all rows have in common is filled in, the handler's input is typed by the schemas. */
export function platformRoute<
  const Q extends TObject | undefined = undefined,
  const B extends TSchema | undefined = undefined,
  const P extends TObject | undefined = undefined,
>(
  route: Omit<Route, 'handle' | 'query' | 'body' | 'params' | 'errors'> & {
    readonly access?: RouteAccess;
    readonly isIdempotent?: boolean;
    /** True for what is sent for as long as the caller reads: it has no limit of time, and is not counted as a request by the address alone. */
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
  // `X-Account-Id` is 404 where there is no such account.
  const hasRecord = route.params !== undefined || credentials === 'both';
  const params = hasRecord ? { 404: 'There is no such record, or it is not visible to the caller.' } : {};
  const replays = isIdempotent
    ? {
        409: 'A request with this Idempotency-Key is still running.',
        422: 'The Idempotency-Key was used with another body.',
      }
    : {};
  const body = route.body === undefined ? {} : { 413: 'The body is too large.', 415: 'The body is not plain UTF-8.' };
  return {
    ...(isStream ? {} : { timeoutMs: requestTimeoutMs, bucket: 'platform' }),
    // What creates or starts something answers that alone.
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
