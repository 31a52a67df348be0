import type { Request, Response } from 'express';
import type { Static, TObject, TSchema } from 'typebox';
import type { Logger } from '../runtime/log.ts';
import type { AppError } from './errors.ts';

/** Context of a handler in addition to the validated parts. */
export interface RequestContext {
  /** `X-Request-Id` of the client, or a generated one; logged and forwarded, never used for decisions. */
  readonly requestId: string;
  readonly log: Logger;
  /** `performance.now()` of the arrival. */
  readonly receivedAtMs: number;
  /** Aborted when the client disconnects or the time-out has passed. */
  readonly signal: AbortSignal;
  readonly request: Request;
  readonly response: Response;
}

/** Represents a response with a status of its own; plain handler results are 200. */
export class Reply<T = unknown> {
  readonly status: number;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, body: T, headers: Record<string, string> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** One row of a service's route table: the schemas validate the request and generate the OpenAPI document. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Express path below the API's base, with `:name` parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** True if a missing body equals an empty object. */
  readonly bodyIsOptional?: boolean;
  /**
   * Converts the bytes of a body to the value that `body` validates, instead of JSON: forms, multipart, bodies with a
   * signature (`getRawBody`). An empty body is valid too. Without `body` the handler receives the result unchanged.
   */
  readonly readBody?: (bytes: Buffer, context: RequestContext) => unknown;
  /** Content types of the body, default application/json. */
  readonly bodyTypes?: readonly string[];
  /** Largest body of this route, where it differs from that of the API. */
  readonly bodyLimitBytes?: number;
  /** Error body, where it differs from that of the API. */
  readonly renderError?: (error: AppError, requestId: string) => unknown;
  /** Response body; absent when the handler writes the response itself (a stream). */
  readonly response?: TSchema;
  /** True for a response that only a deployment changes: it has an ETag, and `If-None-Match` gets 304. */
  readonly isStatic?: boolean;
  /** True for a handler that sends its response with `sendWithEtag`. */
  readonly hasEtag?: boolean;
  /** Content types of the response, default application/json. */
  readonly contentType?: string | readonly string[];
  /** Successful statuses in addition to 200 with the same body; a sentence each. */
  readonly extraSuccesses?: Readonly<Record<number, string>>;
  /** False if these are the only successful statuses. */
  readonly returns200?: boolean;
  /** Other statuses by number: a sentence, or a schema if the body is not the API's error. */
  readonly errors: Readonly<Record<number, string | OwnErrorResponse>>;
  /** Time-out after which the client gets 503; absent for streams. */
  readonly timeoutMs?: number;
  /** False for a public route. */
  readonly isSecured?: boolean;
  /** Name of the rate limit bucket, for the service's own middleware. */
  readonly bucket?: string;
  /** Any one of these scopes of an API key permits the route; without them every key does. */
  readonly scopes?: readonly string[];
  /**
   * Returns the caller's right on the record of the request without which it is 403, for the service's own middleware.
   */
  readonly requiredRight?: (input: Pick<RouteInput, 'query' | 'params' | 'body'>) => string;
  /**
   * False for a GET with an effect on a device: HEAD must be safe, so it is 405. True elsewhere: HEAD is GET without
   * the body.
   */
  readonly allowHead?: boolean;
  readonly handle: (input: RouteInput) => Promise<unknown>;
}

/** An error whose body is not the API's. */
export interface OwnErrorResponse {
  readonly description: string;
  readonly schema: TSchema;
  /** An example of the body, unless `renderError` creates it. */
  readonly example?: unknown;
}

/** The validated parts of a request. */
export interface RouteInput<Q = unknown, B = unknown, P = unknown> {
  readonly query: Q;
  readonly body: B;
  readonly params: P;
  readonly context: RequestContext;
}

type StaticOr<S, D> = S extends TSchema ? Static<S> : D;

/**
 * Declares a row of the route table. The schemas type the handler's input. Its result is the response, a Reply, or
 * undefined if it wrote the response itself.
 */
export function defineRoute<
  const Q extends TObject | undefined = undefined,
  const B extends TSchema | undefined = undefined,
  const P extends TObject | undefined = undefined,
>(
  route: Omit<Route, 'handle' | 'query' | 'body' | 'params'> & {
    readonly query?: Q;
    readonly body?: B;
    readonly params?: P;
    readonly handle: (
      input: RouteInput<StaticOr<Q, Record<string, never>>, StaticOr<B, undefined>, StaticOr<P, Record<string, never>>>,
    ) => Promise<unknown>;
  },
): Route {
  return route as unknown as Route;
}
