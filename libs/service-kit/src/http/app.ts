import express, { type Express } from 'express';
import type { Registry } from '../runtime/metrics.ts';
import { compressResponses } from './compress.ts';
import { measureRequests } from './request-durations.ts';

/**
 * Creates an Express application with compression and without defaults that leak: no `X-Powered-By`, no trusted proxies
 * unless configured. Routes create ETags.
 */
export function createApp(
  options: {
    trustProxy?: string | number | boolean /** Receives the durations of requests. */;
    metrics?: Registry;
  } = {},
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  if (options.trustProxy !== undefined) app.set('trust proxy', options.trustProxy);
  if (options.metrics !== undefined) app.use(measureRequests(options.metrics));
  app.use((_request, response, next) => {
    response.set('X-Content-Type-Options', 'nosniff');
    next();
  });
  app.use(compressResponses());
  return app;
}
