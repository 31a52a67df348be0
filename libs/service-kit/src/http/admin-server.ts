import type { Lifecycle } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/log.ts';
import type { Registry } from '../runtime/metrics.ts';
import { createAdminRouter, listen, type ReadinessChecks } from './admin.ts';
import { createApp } from './app.ts';
import { createErrorHandlers } from './error-handlers.ts';

/** Returns the settings of the admin port. Each service has its own default, so that one machine can run them all. */
export const adminSettings = (defaultPort: number) =>
  ({
    ADMIN_PORT: {
      type: 'integer',
      minimum: 0,
      maximum: 65_535,
      default: defaultPort,
      description: 'internal port of health and metrics; 0 selects a free port',
    },
    ADMIN_HOST: { type: 'string', optional: true, description: 'bind address of ADMIN_PORT; HOST if absent' },
  }) as const;

interface AdminServerOptions {
  readonly config: {
    readonly HOST: string;
    readonly ADMIN_PORT: number;
    readonly ADMIN_HOST: string | undefined;
  };
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly checks: ReadinessChecks;
  /** Dependencies that replicas share: they must have worked once. */
  readonly backends?: ReadinessChecks;
}

/**
 * Serves health and metrics on a port of their own. A service starts it before everything else, so that it is also the
 * last part to stop: an orchestrator then sees a slow start and a drain. Returns the port.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<number> {
  const { config, lifecycle, log, metrics, checks, backends } = options;
  const app = createApp();
  app.use(createAdminRouter(lifecycle, metrics, checks, backends), ...createErrorHandlers(log));
  const server = await listen(app, { host: config.ADMIN_HOST ?? config.HOST, port: config.ADMIN_PORT });
  lifecycle.onStop('admin', () => server.close());
  return server.port;
}
