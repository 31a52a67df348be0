import { type Bus, openBus, servePing } from '@fleet/bus';
import {
  adminRoutes,
  apiErrors,
  createApp,
  createLogger,
  createMetrics,
  Lifecycle,
  type Logger,
  listen,
  podId,
  type Running,
  shownConfig,
} from '@fleet/service-kit';
import { openDatabase, openRedis, type Redis, redisAnswers } from '@fleet/storage';
import { type Config, schema } from './config.ts';

export interface WebhookDispatcher extends Running {
  readonly httpPort: number;
}

/** Starts the service: health answers from the first moment; it is ready once the broker, Redis and the database are there. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<WebhookDispatcher> {
  const log = overrides.log ?? createLogger('webhook-dispatcher', config.LOG_LEVEL);
  const name = podId(config.POD_ID);
  const lifecycle = new Lifecycle(log);
  log.info(shownConfig(schema, config), 'starting');
  try {
    const database = openDatabase(config.MONGODB_URL, { appName: name });
    lifecycle.onStop('database', () => database.close());

    let bus: Bus | undefined;
    let redis: Redis | undefined;
    const app = createApp();
    app.use(
      adminRoutes(lifecycle, createMetrics('webhook-dispatcher'), {
        message_broker: () => bus?.isUp() ?? false,
        state_store: () => redis !== undefined && redisAnswers(redis),
        database: () => database.ping(),
      }),
    );
    app.use(...apiErrors(log));
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    lifecycle.onStop('http', () => http.close());

    const openedRedis = await openRedis(config.REDIS_URL, {
      name,
      onError: (error) =>
        log.warn({ detail: error instanceof Error ? error.message : error }, 'Redis can not be reached'),
    });
    redis = openedRedis;
    lifecycle.onStop('redis', () => openedRedis.destroy());

    const openedBus = await openBus(config.NATS_URL, { name, log });
    bus = openedBus;
    lifecycle.onStop('bus', () => openedBus.close());

    const onError = (error: unknown): void => log.error({ err: error }, 'a ping failed');
    const ping = servePing(openedBus, 'webhook-dispatcher', { onError });
    lifecycle.onStop('ping', () => ping.stop());
    log.info({ httpPort: http.port }, 'started');
    return { httpPort: http.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}
