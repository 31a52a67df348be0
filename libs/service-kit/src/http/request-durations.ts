import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import onHeaders from 'on-headers';
import { Histogram, type Registry } from '../runtime/metrics.ts';

const name = 'http_request_duration_seconds';
const bucketsS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 90];
/** Route of requests that match no route of an API, such as files and unknown paths. */
const otherRoute = 'other';

const routes = new WeakMap<IncomingMessage, string>();

/** Names the route of a request in metrics by its pattern, such as `/api/vehicles/:id`. */
export const nameRoute =
  (path: string): RequestHandler =>
  (request, _response, next) => {
    routes.set(request, request.baseUrl + path);
    next();
  };

/**
 * Measures the time from each request to the headers of its response. Streams and downloads therefore count until they
 * begin. Requests without a response are not counted: those of clients that have disconnected, and websockets.
 */
export function measureRequests(metrics: Registry): RequestHandler {
  const seconds = findHistogram(metrics);
  return (request, response, next) => {
    const startMs = performance.now();
    onHeaders(response, () => {
      const labels = {
        method: request.method,
        route: routes.get(request) ?? otherRoute,
        status: String(response.statusCode),
      };
      seconds.observe(labels, (performance.now() - startMs) / 1000);
    });
    next();
  };
}

/** Returns the histogram of a process, whose HTTP ports share it. */
const findHistogram = (metrics: Registry): Histogram =>
  (metrics.getSingleMetric(name) as Histogram | undefined) ??
  new Histogram({
    name,
    help: 'time from an HTTP request to the headers of its response, by route pattern; "other" is outside the APIs',
    labelNames: ['method', 'route', 'status'],
    buckets: bucketsS,
    registers: [metrics],
  });
