import { AppError, createApp, getRequestContext, type Logger, type Registry } from '@fleet/service-kit';
import type { Express, RequestHandler } from 'express';
import { createPlatformErrorHandlers } from '../http-api/errors.ts';
import { createStartPage } from '../http-api/start-page.ts';

/** Creates an application whose API is added later. Until then the paths of the API respond with 503. */
export function createPlatformApp(
  log: Logger,
  trustProxy: string,
  metrics: Registry,
  dashboard: RequestHandler | undefined,
): { app: Express; readonly serve: (api: RequestHandler) => void } {
  let api: RequestHandler | undefined;
  const app = createApp({ trustProxy, metrics });
  app.use(createStartPage(dashboard === undefined ? '/' : '/developers'));
  if (dashboard !== undefined) app.use(dashboard);
  app.use((request, response, next) => {
    if (api !== undefined) return void api(request, response, next);
    const isOurs = request.path.startsWith('/api') || request.path.startsWith('/.well-known');
    if (!isOurs) return next();
    getRequestContext(request, response, log);
    throw new AppError('unavailable', 'The service is still starting. Retry.');
  });
  app.use(...createPlatformErrorHandlers(log));
  return { app, serve: (created) => (api = created) };
}
