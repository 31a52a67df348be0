import {
  allowOrigins,
  createApi,
  createApp,
  createDocumentSender,
  createErrorHandlers,
  getRequestContext,
  serveSwaggerUi,
} from '@fleet/service-kit';
import type { Express, RequestHandler } from 'express';
import { DeviceAuthorizer } from './access/device-authorizer.ts';
import { getPermittedOrigins } from './access/permitted-origins.ts';
import type { RateLimits } from './access/rate-limits.ts';
import { apiBasePath, createApiDocument, createVideoDocument, partnerBasePath } from './api-document.ts';
import type { Deps } from './deps.ts';
import type { Metrics } from './metrics.ts';
import { historyStreamFlv } from './routes/history-stream-flv.ts';
import { deviceApiRoutes } from './routes/index.ts';
import { realtimeStreamFlv } from './routes/realtime-stream-flv.ts';
import { sendInstruct } from './routes/send-instruct.ts';
import { videoRoutes } from './video-routes/index.ts';

/** Largest body of the Device API. */
const bodyLimitBytes = 16 * 1024;

interface HttpDeps {
  readonly limits: RateLimits;
  /** Receives the durations of requests. */
  readonly metrics: Metrics;
}

/** Creates the HTTP application: the Device API, its document and page. */
export function createDeviceApi(deps: Deps, httpDeps: HttpDeps): Express {
  const app = createApp({ trustProxy: deps.config.TRUST_PROXY, metrics: httpDeps.metrics });
  const sendDocument = createDocumentSender(createApiDocument);
  app.get(`${apiBasePath}/openapi.json`, (request, response) => {
    getRequestContext(request, response, deps.log);
    sendDocument(response);
  });
  const docsPage = serveSwaggerUi({
    title: 'Device API',
    specs: [{ name: 'Device API', url: `${apiBasePath}/openapi.json` }],
  });
  app.use('/docs', docsPage);
  // For deployments whose proxy forwards /api/v1 only.
  app.use(`${apiBasePath}/docs`, docsPage);
  const streamPaths = [historyStreamFlv(deps), realtimeStreamFlv(deps)].map(({ path }) => apiBasePath + path);
  app.use(streamPaths, allowPages(deps));
  const authorizer = new DeviceAuthorizer(deps, httpDeps.limits);
  app.use(
    apiBasePath,
    createApi({
      log: deps.log,
      routes: deviceApiRoutes(deps),
      bodyLimitBytes,
      guard: (route, context) => deps.guard.authenticate(route, context, { acceptsSessions: false }),
      admit: (...request) => authorizer.authorize(...request),
    }),
  );
  if (deps.config.PARTNER_COMMAND_ENABLED)
    app.use(
      partnerBasePath,
      createApi({ log: deps.log, routes: [sendInstruct(deps, httpDeps.limits)], bodyLimitBytes }),
    );
  app.use(...createErrorHandlers(deps.log));
  return app;
}

/** Creates the video service: the same use cases under its own paths and port. */
export function createVideoService(deps: Deps, httpDeps: HttpDeps): Express {
  const app = createApp({ trustProxy: deps.config.TRUST_PROXY, metrics: httpDeps.metrics });
  app.use(allowPages(deps));
  const sendDocument = createDocumentSender(createVideoDocument);
  app.get('/openapi.json', (request, response) => {
    getRequestContext(request, response, deps.log);
    sendDocument(response);
  });
  app.use(
    '/docs',
    serveSwaggerUi({ title: 'Video service', specs: [{ name: 'Video service', url: '/openapi.json' }] }),
  );
  const authorizer = new DeviceAuthorizer(deps, httpDeps.limits);
  app.use(
    createApi({
      log: deps.log,
      routes: videoRoutes(deps),
      bodyLimitBytes,
      guard: (route, context) => deps.guard.authenticate(route, context, { acceptsSessions: true }),
      admit: (...request) => authorizer.authorize(...request),
    }),
  );
  app.use(...createErrorHandlers(deps.log));
  return app;
}

/** Pages of the platform are of another origin than the video service. */
const allowPages = ({ config }: Pick<Deps, 'config'>): RequestHandler => allowOrigins(getPermittedOrigins(config));
