import express, { type Express } from 'express';
import { compressResponses } from './compress.ts';

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
