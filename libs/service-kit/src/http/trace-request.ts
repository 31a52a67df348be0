import type { Request, RequestHandler, Response } from 'express';
import { tracer } from '../tracing/active-tracer.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { Route } from './route.ts';

/**
 * Creates the handler that runs the rest of a request in a server span. It continues the trace of the header
 * `traceparent`.
 */
export const traceRequest =
  (route: Route): RequestHandler =>
  (request, response, next) => {
    if (tracer === undefined) next();
    else runInServerSpan(tracer, route, request, response, next);
  };

function runInServerSpan(active: Tracer, route: Route, request: Request, response: Response, next: () => void): void {
  const path = `${request.baseUrl}${route.path}`;
  const span = active.startSpan({
    kind: 'server',
    name: `${request.method} ${path}`,
    // Neither path nor query: both may contain tokens, and terminal numbers.
    attributes: { 'http.request.method': request.method, 'http.route': path, 'url.scheme': request.protocol },
    parent: active.extract((name) => request.get(name)),
  });
  response.once('close', () => {
    const { statusCode, headersSent } = response;
    if (headersSent) span.setAttributes({ 'http.response.status_code': statusCode });
    if (!headersSent || statusCode >= 500) span.fail(headersSent ? String(statusCode) : 'client_disconnected');
    span.end();
  });
  active.run(span.context, next);
}
