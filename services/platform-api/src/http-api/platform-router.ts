import {
  AppError,
  compileBodyParser,
  createApi,
  describeErrors,
  getIgnoredFields,
  getSentNames,
  type IdempotencyStore,
  type Logger,
  type ReceivedRequest,
  Reply,
  type RequestContext,
  type Route,
  withIdempotencyKey,
} from '@fleet/service-kit';
import { isDatabaseUnavailable } from '@fleet/storage';
import type { Router } from 'express';
import { findCaller } from '../access/caller.ts';
import type { PlatformRoute } from '../access/platform-route.ts';

/** Largest body, unless a route reads its own (docs/reference/conventions.md). */
const bodyLimitBytes = 1024 * 1024;

/** Dependencies of the router. */
interface PlatformRouterDeps {
  readonly log: Logger;
  readonly routes: readonly PlatformRoute[];
  readonly idempotency: IdempotencyStore;
  /** Checks credentials and role and counts the request. Throws an AppError to reject it. */
  readonly authorize: (route: PlatformRoute, context: RequestContext) => Promise<void>;
}

/**
 * Creates the router of the Platform API, which applies every convention of docs/reference/conventions.md to the rows
 * of the route table.
 */
export const createPlatformRouter = ({ log, routes, idempotency, authorize: admit }: PlatformRouterDeps): Router =>
  createApi({
    log,
    routes,
    bodyLimitBytes,
    compileBody: compileBodyParser,
    describeFaults: describeErrors,
    hidesInvalidPaths: true,
    guard: (route, context) => admit(asPlatformRoute(route), context),
    around: async (route, received, context, handle) => {
      const handleNamed = () => handle().catch((error: unknown) => withSentNames(error, context));
      const result = asPlatformRoute(route).isIdempotent
        ? withIdempotencyKey(
            idempotency,
            { caller: idempotencyScope(context), body: () => readBody(received) },
            context,
            handleNamed,
          )
        : handleNamed();
      return withMeta(await result.catch(throwIfDatabaseUnavailable), context);
    },
  });

/** Throws an error with the field names as the caller wrote them. */
function withSentNames(error: unknown, context: RequestContext): never {
  throw error instanceof AppError ? getSentNames(context).error(error) : error;
}

/** Returns the validated body, so that its formatting does not matter; the raw text if the validation failed. */
const readBody = async ({ input, readBytes }: ReceivedRequest): Promise<unknown> =>
  input === undefined ? (await readBytes()).toString('latin1') : input.body;

const asPlatformRoute = (route: Route): PlatformRoute => route as PlatformRoute;

/** Throws 503 if the database is unavailable, because the caller can retry. */
export function throwIfDatabaseUnavailable(cause: unknown): never {
  throw isDatabaseUnavailable(cause)
    ? new AppError('unavailable', 'The database is unavailable. Retry later.', { cause })
    : cause;
}

function idempotencyScope(context: RequestContext): string {
  const caller = findCaller(context);
  // Staff act in several accounts, so a response in one account must not be replayed in another.
  return caller === undefined ? `ip:${context.request.ip ?? ''}` : `user:${caller.userId}:${caller.accountId}`;
}

/**
 * Adds the ignored fields of the body, and the version of a single record as ETag. Records are not cached: some of their
 * fields, such as `terminal_sync`, change without a new version.
 */
function withMeta(result: unknown, context: RequestContext): unknown {
  const reply = result instanceof Reply ? result : new Reply(200, result);
  const { status, body } = reply;
  if (typeof body !== 'object' || body === null || !('data' in body)) return result;
  const version = (body.data as { version?: unknown } | null)?.version;
  const headers =
    typeof version === 'number'
      ? { 'Cache-Control': 'no-store', ...reply.headers, ETag: `"${version}"` }
      : { ...reply.headers };
  const ignored = getIgnoredFields(context);
  if (ignored.length === 0) return new Reply(status, body, headers);
  const { meta } = body as { meta?: object };
  return new Reply(status, { ...body, meta: { ...meta, ignored_fields: ignored } }, headers);
}
