import { AppError, contextOf, createApp, type Logger } from '@fleet/service-kit';
import { type Express, type RequestHandler, Router } from 'express';
import { Access, type AccessParts } from './access/authenticate.ts';
import { apiBasePath, apiDocument } from './api-document.ts';
import type { Deps } from './deps.ts';
import { errorRoutes } from './routes/errors.ts';
import { platformRoutes } from './routes/index.ts';
import { platformApi, unavailable } from './routes/platform-api.ts';
import { startPage } from './routes/start-page.ts';
import { IdempotencyKeys } from './store/idempotency.ts';

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

/** All of the API: the route table, the public keys, and what is said about paths that do not exist. */
export function createPlatformApi(deps: Deps, parts: Pick<AccessParts, 'principals' | 'origins'>): RequestHandler {
  const { log, records, tokens, limits, database } = deps;
  const access = new Access({ records, tokens, limits, ...parts });
  const router = Router({ caseSensitive: true });
  router.get('/.well-known/jwks.json', async (request, response) => {
    contextOf(request, response, log);
    const keys = await deps.signingKeys.jwks().catch(unavailable);
    response.set('Cache-Control', 'public, max-age=60').json({ keys });
  });
  const document = apiDocument();
  router.get(`${apiBasePath}/openapi.json`, (request, response) => {
    contextOf(request, response, log);
    response.json(document);
  });
  router.use(
    apiBasePath,
    platformApi({
      log,
      routes: platformRoutes(deps),
      idempotency: new IdempotencyKeys(database),
      admit: (route, context) => access.admit(route, context),
    }),
  );
  // What does not exist is told only to whom anything is told: 401 before 404.
  router.use(apiBasePath, async (request, response, next) => {
    await access.checkAny(contextOf(request, response, log));
    next();
  });
  return router;
}
