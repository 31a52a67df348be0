import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from '../runtime/log.ts';
import type { RequestContext, Route } from './route.ts';

type RenderError = NonNullable<Route['renderError']>;

const contexts = new WeakMap<Request, RequestContext>();
const rawBodies = new WeakMap<RequestContext, Buffer>();
const errorRenderers = new WeakMap<RequestContext, RenderError>();
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** Returns the bytes of the body on routes with `readBody`; empty elsewhere. */
export const getRawBody = (context: RequestContext): Buffer => rawBodies.get(context) ?? Buffer.alloc(0);

/** Saves the bytes that `getRawBody` returns. */
export const setRawBody = (context: RequestContext, bytes: Buffer): void => void rawBodies.set(context, bytes);

/** Returns the error body of the request's route, where it differs from that of the API. */
export const getErrorRenderer = (context: RequestContext): RenderError | undefined => errorRenderers.get(context);

/** Saves the error body of the request's route. */
export const setErrorRenderer = (context: RequestContext, render: RenderError): void =>
  void errorRenderers.set(context, render);

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

/** Creates the context of each request on its arrival. */
export function contextMiddleware(log: Logger): RequestHandler {
  return (request, response, next) => {
    getRequestContext(request, response, log);
    next();
  };
}
