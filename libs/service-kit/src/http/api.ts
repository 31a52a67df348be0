import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { TObject, TSchema } from 'typebox';
import { stringifyBigInt } from '../runtime/bigint-json.ts';
import type { Logger } from '../runtime/log.ts';
import { AppError } from './errors.ts';
import { parseJsonBody, readBytes, readJsonBytes } from './json-body.ts';
import { contextMiddleware, getRequestContext, setErrorRenderer, setRawBody } from './request-context.ts';
import { nameRoute } from './request-durations.ts';
import { Reply, type RequestContext, type Route } from './route.ts';
import { getSentNames } from './sent-names.ts';
import { sendWithEtag } from './static-content.ts';
import { traceRequest } from './trace-request.ts';
import { compileBody, compileParameters, type DescribeFaults, hasUint64 } from './validate.ts';

/** The validated parts of a request. */
interface RequestInput {
  readonly query: unknown;
  readonly params: unknown;
  readonly body: unknown;
}

/** A request before its handler runs. */
export interface ReceivedRequest {
  /** Undefined after a failed check: the handler then throws its error. */
  readonly input: RequestInput | undefined;
  /** Reads the body as it was sent. */
  readonly readBytes: () => Promise<Buffer>;
}

/** Settings of an API in addition to its routes. */
interface ApiOptions {
  readonly log: Logger;
  readonly routes: readonly Route[];
  /** Largest body in bytes; a larger one is 413 before it has been read. */
  readonly bodyLimitBytes: number;
  /** Runs before the parameters are checked: credentials, rate limits. Throws an AppError to reject the request. */
  readonly guard?: (route: Route, context: RequestContext) => Promise<void>;
  /** Runs after the parameters have been checked: limits that count by a parameter, such as the device. */
  readonly admit?: (route: Route, input: RequestInput, context: RequestContext) => Promise<void>;
  /** Compiles the validator of bodies instead of `compileBody`. */
  readonly compileBody?: (schema: TSchema) => (raw: unknown, context: RequestContext) => unknown;
  /** Describes faults of parameters instead of the validator's words. */
  readonly describeFaults?: DescribeFaults;
  /** Wraps the handler and the error of a failed check: idempotency and properties of all responses. */
  readonly around?: (
    route: Route,
    received: ReceivedRequest,
    context: RequestContext,
    handle: () => Promise<unknown>,
  ) => Promise<unknown>;
  /** True if an invalid path parameter is 404 instead of 400. */
  readonly hidesInvalidPaths?: boolean;
}

/**
 * Builds the router of an API: request id, guard, body limit, validation, handler, time-out. Errors go to the handlers of
 * `createErrorHandlers`.
 */
export function createApi(options: ApiOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: false });
  router.use(contextMiddleware(options.log));
  const routesByPath = new Map<string, Route[]>();
  for (const route of options.routes) routesByPath.set(route.path, [...(routesByPath.get(route.path) ?? []), route]);
  for (const [path, routes] of [...routesByPath].toSorted(([a], [b]) => matchOrder(a).localeCompare(matchOrder(b)))) {
    const allowed = [...routes.flatMap(allowedMethods), 'OPTIONS'].join(', ');
    const rejectMethod: RequestHandler = (request) => {
      throw new AppError(
        'method_not_allowed',
        `${request.method} is not a method of this path; it accepts ${allowed}.`,
        {
          headers: { Allow: allowed },
        },
      );
    };
    // Express would handle HEAD by the GET route.
    if (!allowed.includes('HEAD')) router.head(path, rejectMethod);
    for (const route of routes) router[route.method](path, ...createRouteHandlers(route, options));
    router.options(path, (_request, response) => void response.status(204).set('Allow', allowed).end());
    router.all(path, rejectMethod);
  }
  return router;
}

/** Sorts `/users/invite` before `/users/:id`: Express takes the first matching path. */
const matchOrder = (path: string): string =>
  path
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '1' : '0'))
    .join('');

const allowedMethods = (route: Route): string[] =>
  route.method === 'get' && route.allowHead !== false ? ['GET', 'HEAD'] : [route.method.toUpperCase()];

function createRouteHandlers(route: Route, options: ApiOptions): RequestHandler[] {
  const parseQuery = route.query && compileParameters(route.query, 'query', options.describeFaults);
  const parseParams = route.params && createPathParser(route.params, options.hidesInvalidPaths === true);
  const bodyReader = createBodyReader(route, options);
  const guard: RequestHandler = async (request, response, next) => {
    const context = getRequestContext(request, response, options.log);
    if (route.renderError !== undefined) setErrorRenderer(context, route.renderError);
    if (options.guard !== undefined) await withTimeout(options.guard(route, context), route.timeoutMs, context);
    next();
  };
  const handle: RequestHandler = async (request, response) => {
    const context = getRequestContext(request, response, options.log);
    let bodyPromise: Promise<Buffer> | undefined;
    const readBodyOnce = (): Promise<Buffer> => (bodyPromise ??= bodyReader.read(request));
    const validated = await toOutcome(async () => {
      const params = parseParams?.(request.params) ?? {};
      const query = parseQuery?.(request.query, getSentNames(context)) ?? {};
      return { params, query, body: await bodyReader.parse(readBodyOnce, context) };
    });
    const run = async (): Promise<unknown> => {
      const runHandler = async (): Promise<unknown> => {
        if ('error' in validated) throw validated.error;
        await options.admit?.(route, validated.value, context);
        return route.handle({ ...validated.value, context });
      };
      const input = 'error' in validated ? undefined : validated.value;
      return options.around === undefined
        ? runHandler()
        : options.around(route, { input, readBytes: readBodyOnce }, context, runHandler);
    };
    const result = await withTimeout(run(), route.timeoutMs, context);
    if (response.headersSent || result === undefined) return;
    const { status, headers, body: responseBody } = result instanceof Reply ? result : new Reply(200, result);
    const text = stringifyBigInt(responseBody);
    response.status(status).set(headers).type('json');
    if (route.isStatic === true) sendWithEtag(response.set('Cache-Control', 'private, no-cache'), text);
    else sendText(response, text);
  };
  return [nameRoute(route.path), traceRequest(route), guard, handle];
}

/**
 * Sends a text. Express would turn it into 304 if `If-None-Match` has the ETag of a record: that is its version, which
 * computed fields do not change.
 */
function sendText(response: Response, text: string): void {
  response.set('Content-Length', String(Buffer.byteLength(text)));
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

/** Reading and parsing of a route's bodies. */
interface BodyReader {
  /** Reads the bytes, up to the limit. */
  read(request: Request): Promise<Buffer>;
  /** Returns the validated body; undefined on routes without one. */
  parse(readBodyOnce: () => Promise<Buffer>, context: RequestContext): Promise<unknown>;
}

function createBodyReader(route: Route, options: ApiOptions): BodyReader {
  const bodyLimitBytes = route.bodyLimitBytes ?? options.bodyLimitBytes;
  const parseBody = route.body && (options.compileBody ?? compileBody)(route.body);
  // Checks known fields only: others are ignored, however deep they are.
  const maxDepth = options.compileBody === undefined ? Number.POSITIVE_INFINITY : undefined;
  const hasBigInts = route.body !== undefined && hasUint64(route.body);
  const parseJson = (bytes: Buffer): unknown => {
    if (bytes.length > 0) return parseJsonBody(bytes, maxDepth, hasBigInts);
    if (route.bodyIsOptional === true) return {};
    throw new AppError('validation_failed', 'A JSON body is required.');
  };
  return {
    // Content-Type is ignored: clients often omit it for JSON.
    read: (request) =>
      route.readBody === undefined ? readJsonBytes(request, bodyLimitBytes) : readBytes(request, bodyLimitBytes),
    parse: async (readBodyOnce, context) => {
      if (route.readBody === undefined) return parseBody && parseBody(parseJson(await readBodyOnce()), context);
      const bytes = await readBodyOnce();
      setRawBody(context, bytes);
      const value = await route.readBody(bytes, context);
      return parseBody === undefined ? value : parseBody(value, context);
    },
  };
}

/** Runs `run`, and returns its error instead of throwing it. */
async function toOutcome<T>(run: () => Promise<T>): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await run() };
  } catch (error) {
    return { error };
  }
}

function createPathParser(
  schema: TObject,
  hidesInvalidPaths: boolean,
): (raw: Readonly<Record<string, unknown>>) => unknown {
  const parse = compileParameters(schema, 'path');
  if (!hidesInvalidPaths) return parse;
  return (raw) => {
    try {
      return parse(raw);
    } catch (cause) {
      throw new AppError('not_found', 'There is no such record.', { cause });
    }
  };
}

async function withTimeout<T>(work: Promise<T>, timeoutMs: number | undefined, context: RequestContext): Promise<T> {
  if (timeoutMs === undefined) return work;
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const timeout = new Promise<never>((_resolve, reject) => {
    const remainingMs = Math.max(0, timeoutMs - (performance.now() - context.receivedAtMs));
    timer = setTimeout(
      () =>
        reject(
          new AppError('request_timeout', `The request ran past the server's limit of ${timeoutMs / 1000} seconds.`),
        ),
      remainingMs,
    );
  });
  // The loser of the race must not become an unhandled rejection.
  work.catch((error: unknown) => {
    if (isSettled) context.log.warn({ err: error }, 'work failed after its request had ended');
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    isSettled = true;
    clearTimeout(timer);
  }
}
