import { servePing } from '@fleet/bus';
import { createDocumentSender, getRequestContext, type Lifecycle, runPeriodically } from '@fleet/service-kit';
import { type RequestHandler, Router } from 'express';
import { AccessGuard, type AccessGuardDeps } from '../access/access-guard.ts';
import { serveSessions } from '../access/handlers.ts';
import { serveApiKeys } from '../domains/api-keys/handlers.ts';
import { serveCaptures } from '../domains/captures/handlers.ts';
import { resumeCaptures } from '../domains/captures/resume-captures.ts';
import { CommandWorker, workerTimings } from '../domains/commands/command-worker.ts';
import { serveDataLimits } from '../domains/data-usage/handlers.ts';
import { servePartners } from '../domains/partners/handlers.ts';
import { serveVehicles } from '../domains/vehicles/handlers.ts';
import { serveVideoAccess } from '../domains/video-access/handlers.ts';
import { serveWebhooks } from '../domains/webhooks/handlers.ts';
import { startDeviceAccessConsumer } from '../event-consumers/device-access.ts';
import { createPlatformRouter, throwIfDatabaseUnavailable } from '../http-api/platform-router.ts';
import { JobScheduler } from '../jobs/scheduler.ts';
import type { Deps } from '../platform/deps.ts';
import { IdempotencyKeyStore } from '../store/idempotency.ts';
import { apiBasePath, apiDocument } from './api-document.ts';
import { jobs } from './jobs.ts';
import { createPlatformRoutes } from './routes.ts';

/** Dependencies of the role. */
export interface ApiRoleDeps extends Pick<AccessGuardDeps, 'principals' | 'origins'> {
  readonly serve: (api: RequestHandler) => void;
  /** False in tests that run the jobs themselves. */
  readonly runsJobs: boolean;
  readonly hasFirstRecords: () => boolean;
}

/** Starts the role `api`: HTTP, requests on the bus, the command queue and jobs. */
export function startApi(deps: Deps, lifecycle: Lifecycle, roleDeps: ApiRoleDeps): void {
  roleDeps.serve(createApiHandler(deps, roleDeps));
  serveBusRequests(deps, lifecycle, roleDeps);
  const commands = new CommandWorker(deps, workerTimings(deps.config));
  lifecycle.onStop('command queue', () => commands.stop());
  deps.mails.start();
  if (!roleDeps.runsJobs) return;
  lifecycle.onStop('captures', resumeCapturesPeriodically(deps));
  const scheduler = new JobScheduler(deps, jobs, roleDeps.hasFirstRecords);
  lifecycle.onStop('jobs', () => scheduler.stop());
}

/** More often than other jobs, as a user waits for the pictures. */
const resumeIntervalMs = 1_500;

const resumeCapturesPeriodically = (deps: Deps): (() => Promise<void>) =>
  runPeriodically(
    resumeIntervalMs,
    () => resumeCaptures(deps),
    (error) => deps.log.warn({ err: error }, 'could not continue captures yet'),
  );

/**
 * Creates the handler of the API: the public keys, the OpenAPI document, the route table, and the errors for unknown
 * paths.
 */
function createApiHandler(deps: Deps, roleDeps: Pick<AccessGuardDeps, 'principals' | 'origins'>): RequestHandler {
  const { log, records, tokens, limits, database } = deps;
  const access = new AccessGuard({ records, tokens, limits, ...roleDeps });
  const router = Router({ caseSensitive: true });
  router.get('/.well-known/jwks.json', async (request, response) => {
    getRequestContext(request, response, log);
    const keys = await deps.signingKeys.jwks().catch(throwIfDatabaseUnavailable);
    response.set('Cache-Control', 'public, max-age=60').json({ keys });
  });
  const sendDocument = createDocumentSender(apiDocument);
  router.get(`${apiBasePath}/openapi.json`, (request, response) => {
    getRequestContext(request, response, log);
    sendDocument(response);
  });
  router.use(
    apiBasePath,
    createPlatformRouter({
      log,
      routes: createPlatformRoutes(deps),
      idempotency: new IdempotencyKeyStore(database),
      authorize: (route, context) => access.authorize(route, context),
    }),
  );
  // Unauthenticated callers get 401 for unknown paths, so that they cannot find out which paths exist.
  router.use(apiBasePath, async (request, response, next) => {
    await access.authenticateAny(getRequestContext(request, response, log));
    next();
  });
  return router;
}

function serveBusRequests(
  deps: Deps,
  lifecycle: Lifecycle,
  roleDeps: Pick<AccessGuardDeps, 'principals' | 'origins'>,
): void {
  const { bus, records, log } = deps;
  const onError = (error: unknown): void => log.error({ err: error }, 'a bus request failed');
  for (const server of [
    ...serveApiKeys(bus, records, onError),
    ...serveVehicles(bus, records, onError),
    serveDataLimits(bus, deps, onError),
    serveSessions(bus, { ...deps, ...roleDeps }, onError),
    serveVideoAccess(bus, { records, ...roleDeps }, onError),
    ...servePartners(deps, onError),
    startDeviceAccessConsumer(deps),
    serveCaptures(bus, deps, onError),
    ...serveWebhooks(bus, deps, onError),
    servePing(bus, 'platform-api', { onError }),
  ])
    lifecycle.onStop('bus request', () => server.stop());
}
