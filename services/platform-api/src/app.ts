import { AppError, contextOf, createApp, type Logger } from '@fleet/service-kit';
import type { Express, RequestHandler } from 'express';
import { errorRoutes } from './routes/errors.ts';
import { startPage } from './routes/start-page.ts';

/** An application whose API comes later: until it is there, its paths answer 503. */
export function createPlatformApp(
  log: Logger,
  trustProxy: string,
  ...first: readonly RequestHandler[]
): { app: Express; readonly serve: (api: RequestHandler) => void } {
  let api: RequestHandler | undefined;
  const app = createApp({ trustProxy });
  for (const handler of first) app.use(handler);
  app.use(startPage());
  app.use((request, response, next) => {
    if (api !== undefined) return void api(request, response, next);
    const isOurs = request.path.startsWith('/api') || request.path.startsWith('/.well-known');
    if (!isOurs) return next();
    contextOf(request, response, log);
    throw new AppError('unavailable', 'The service is still starting.');
  });
  app.use(...errorRoutes(log));
  return { app, serve: (made) => (api = made) };
}
