import { servePing } from '@fleet/bus';
import { contextOf, type Lifecycle, staticDocument } from '@fleet/service-kit';
import { type RequestHandler, Router } from 'express';
import { Access, type AccessParts } from './access/authenticate.ts';
import { apiBasePath, apiDocument } from './api-document.ts';
import type { Deps } from './deps.ts';
import { serveApiKeys } from './domains/api-keys/handlers.ts';
import { serveAudit } from './domains/audit/handlers.ts';
import { CommandWorker, workerTimes } from './domains/commands/worker.ts';
import { servePartners } from './domains/partners/handlers.ts';
import { serveVehicles } from './domains/vehicles/handlers.ts';
import { serveWebhooks } from './domains/webhooks/handlers.ts';
import { platformRoutes } from './routes/index.ts';
import { platformApi, unavailable } from './routes/platform-api.ts';
import { IdempotencyKeys } from './store/idempotency.ts';
import { Sweeper } from './sweeper.ts';

/** Parts of the service that the role works with. */
export interface ApiRoleParts extends Pick<AccessParts, 'principals' | 'origins'> {
  readonly serve: (api: RequestHandler) => void;
  /** False where a test sweeps by itself. */
  readonly isSweeping: boolean;
  readonly hasFirstRecords: () => boolean;
}

/** Starts the role `api`: HTTP, requests on the bus, the command queue, sweeps. */
export function startApi(deps: Deps, lifecycle: Lifecycle, parts: ApiRoleParts): void {
  parts.serve(createPlatformApi(deps, parts));
  serveBus(deps, lifecycle);
  const commands = new CommandWorker(deps, workerTimes(deps.config));
  lifecycle.onStop('command queue', () => commands.stop());
  deps.mails.start();
  if (!parts.isSweeping) return;
  const sweeper = new Sweeper(deps, parts.hasFirstRecords);
  lifecycle.onStop('sweeps', () => sweeper.stop());
}

/** All of the API: the route table, the public keys, and what is said about paths that do not exist. */
function createPlatformApi(deps: Deps, parts: Pick<AccessParts, 'principals' | 'origins'>): RequestHandler {
  const { log, records, tokens, limits, database } = deps;
  const access = new Access({ records, tokens, limits, ...parts });
  const router = Router({ caseSensitive: true });
  router.get('/.well-known/jwks.json', async (request, response) => {
    contextOf(request, response, log);
    const keys = await deps.signingKeys.jwks().catch(unavailable);
    response.set('Cache-Control', 'public, max-age=60').json({ keys });
  });
  const sendDocument = staticDocument(apiDocument);
  router.get(`${apiBasePath}/openapi.json`, (request, response) => {
    contextOf(request, response, log);
    sendDocument(response);
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

function serveBus(deps: Deps, lifecycle: Lifecycle): void {
  const { bus, records, log } = deps;
  const onError = (error: unknown): void => log.error({ err: error }, 'a bus request failed');
  for (const served of [
    ...serveApiKeys(bus, records, onError),
    ...serveVehicles(bus, records, onError),
    ...servePartners(deps, onError),
    serveAudit(deps),
    ...serveWebhooks(bus, deps, onError),
    servePing(bus, 'platform-api', { onError }),
  ])
    lifecycle.onStop('bus request', () => served.stop());
}
