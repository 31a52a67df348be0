import { randomUUID } from 'node:crypto';
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { TObject, TSchema } from 'typebox';
import { stringifyBigInt } from '../runtime/bigint-json.ts';
import { type Logger, redactUrl } from '../runtime/log.ts';
import { compressResponses } from './compress.ts';
import { AppError } from './errors.ts';
import { parseJsonBody, readBytes, readJsonBytes } from './json-body.ts';
import { isLastResponse, sendLastResponse } from './last-response.ts';
import { Reply, type RequestContext, type Route } from './route.ts';
import { getSentNames } from './sent-names.ts';
import { sendWithEtag } from './static-content.ts';
import { compileBody, compileParameters, type DescribeFaults } from './validate.ts';

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
export interface ApiOptions {
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

const contexts = new WeakMap<Request, RequestContext>();
const rawBodies = new WeakMap<RequestContext, Buffer>();
const errorBodies = new WeakMap<RequestContext, NonNullable<Route['renderError']>>();

/** Bytes of the body on routes with `readBody`; empty elsewhere. */
export const getRawBody = (context: RequestContext): Buffer => rawBodies.get(context) ?? Buffer.alloc(0);
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Creates an Express application with compression and without defaults that leak: no `X-Powered-By`, no trusted proxies
 * unless configured. Routes create ETags.
 */
export function createApp(options: { trustProxy?: string | number | boolean } = {}): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  if (options.trustProxy !== undefined) app.set('trust proxy', options.trustProxy);
  app.use((_request, response, next) => {
    response.set('X-Content-Type-Options', 'nosniff');
    next();
  });
  app.use(compressResponses());
  return app;
}

/**
 * Builds the router of an API: request id, guard, body limit, validation, handler, time-out. Errors go to `apiErrors`.
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

/**
 * Creates the last two handlers of an app: 404 for unknown paths, and every error as the JSON body that `render`
 * creates.
 */
export function createErrorHandlers(
  log: Logger,
  render: (error: AppError, requestId: string) => unknown = apiError,
): [RequestHandler, ErrorRequestHandler] {
  const notFound: RequestHandler = (request) => {
    if (!isDecodable(request.path)) throw new AppError('validation_failed', 'The path is not valid percent-encoding.');
    throw new AppError('not_found', `There is no ${request.method} ${request.path}.`);
  };
  const onError: ErrorRequestHandler = (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const appError = toAppError(error);
    const context = getRequestContext(request, response, log);
    if (appError.status >= 500) {
      // Faults of a device or a backend are logged with their reason; only internal faults have a stack.
      const detail = { status: appError.status, url: redactUrl(request.originalUrl) };
      if (appError.status === 500) context.log.error({ ...detail, err: appError.cause ?? appError }, appError.message);
      else context.log.warn({ ...detail, reason: causeMessage(appError.cause) }, appError.message);
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const rendered = (errorBodies.get(context) ?? render)(appError, context.requestId);
    response.status(appError.status).set(appError.headers);
    if (isLastResponse(request, appError.status))
      sendLastResponse(request, response.type('json'), JSON.stringify(rendered));
    else response.json(rendered);
  };
  return [notFound, onError];
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    // Only malformed input gets here.
    return false;
  }
}

/** Returns the error body of the Device API, with exactly its two fields. */
export const apiError = (error: AppError): { status: number; error: string } => ({
  status: error.status,
  error: error.message,
});

const causeMessage = (cause: unknown): string | undefined => (cause instanceof Error ? cause.message : undefined);

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { type, status } = (error ?? {}) as { type?: string; status?: number };
  if (type === 'entity.too.large') return new AppError('body_too_large', 'The request body is too large.');
  if (type === 'entity.parse.failed') return new AppError('malformed_json', 'The request body is not valid JSON.');
  if (type === 'charset.unsupported' || type === 'encoding.unsupported')
    return new AppError('unsupported_media_type', 'The encoding of the request body is not supported.');
  if (status !== undefined && status >= 400 && status < 500)
    return new AppError('validation_failed', 'The request could not be read.', { cause: error });
  return new AppError('internal', 'An unexpected error occurred.', { cause: error });
}

function contextMiddleware(log: Logger): RequestHandler {
  return (request, response, next) => {
    getRequestContext(request, response, log);
    next();
  };
}

/** Returns the context of a request, created on first use. */
export function getRequestContext(request: Request, response: Response, log: Logger): RequestContext {
  const existing = contexts.get(request);
  if (existing !== undefined) return existing;
  const callerRequestId = request.get('x-request-id');
  const requestId =
    callerRequestId !== undefined && requestIdPattern.test(callerRequestId) ? callerRequestId : randomUUID();
  const disconnect = new AbortController();
  response.once('close', () => disconnect.abort(new Error('the client disconnected')));
  if (!response.headersSent) response.set('X-Request-Id', requestId);
  const context: RequestContext = {
    requestId,
    log: log.child({ requestId }),
    receivedAtMs: performance.now(),
    signal: disconnect.signal,
    request,
    response,
  };
  contexts.set(request, context);
  return context;
}

function createRouteHandlers(route: Route, options: ApiOptions): RequestHandler[] {
  const parseQuery = route.query && compileParameters(route.query, 'query', options.describeFaults);
  const parseParams = route.params && createPathParser(route.params, options.hidesInvalidPaths === true);
  const parseBody = route.body && (options.compileBody ?? compileBody)(route.body);
  const guard: RequestHandler = async (request, response, next) => {
    const context = getRequestContext(request, response, options.log);
    if (route.renderError !== undefined) errorBodies.set(context, route.renderError);
    if (options.guard !== undefined) await withTimeout(options.guard(route, context), route.timeoutMs, context);
    next();
  };
  const handle: RequestHandler = async (request, response) => {
    const context = getRequestContext(request, response, options.log);
    let bodyPromise: Promise<Buffer> | undefined;
    const readBodyOnce = (): Promise<Buffer> => (bodyPromise ??= readRequestBody(request));
    const validated = await toOutcome(async () => {
      const params = parseParams?.(request.params) ?? {};
      const query = parseQuery?.(request.query, getSentNames(context)) ?? {};
      return { params, query, body: await parseRequestBody(readBodyOnce, context) };
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
    else response.send(text);
  };
  const bodyLimitBytes = route.bodyLimitBytes ?? options.bodyLimitBytes;
  // Checks known fields only: others are ignored, however deep they are.
  const maxDepth = options.compileBody === undefined ? Number.POSITIVE_INFINITY : undefined;
  // Content-Type is ignored: clients often omit it for JSON.
  const readRequestBody = (request: Request): Promise<Buffer> =>
    route.readBody === undefined ? readJsonBytes(request, bodyLimitBytes) : readBytes(request, bodyLimitBytes);
  const parseRequestBody = async (readBodyOnce: () => Promise<Buffer>, context: RequestContext): Promise<unknown> => {
    if (route.readBody === undefined) return parseBody && parseBody(parseJson(await readBodyOnce()), context);
    const bytes = await readBodyOnce();
    rawBodies.set(context, bytes);
    const value = await route.readBody(bytes, context);
    return parseBody === undefined ? value : parseBody(value, context);
  };
  const parseJson = (bytes: Buffer): unknown => {
    if (bytes.length > 0) return parseJsonBody(bytes, maxDepth);
    if (route.bodyIsOptional === true) return {};
    throw new AppError('validation_failed', 'A JSON body is required.');
  };
  return [guard, handle];
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
