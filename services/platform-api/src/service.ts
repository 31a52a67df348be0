import { type Bus, openBus, servePing } from '@fleet/bus';
import {
  adminRoutes,
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
import { openDatabase } from '@fleet/storage';
import { bootstrap, UntilDone } from './bootstrap.ts';
import { type Config, schema } from './config.ts';
import { serveApiKeys } from './domains/api-keys/handlers.ts';
import { serveVehicles } from './domains/vehicles/handlers.ts';
import { apiRoutes, errorRoutes } from './routes/api.ts';
import { startPage } from './routes/start-page.ts';
import { Records } from './store/records.ts';

export interface PlatformApi extends Running {
  readonly httpPort: number;
}

/** Starts the service. Health answers from the first moment; it is ready once the broker, the database and the first records are there. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<PlatformApi> {
  const log = overrides.log ?? createLogger('platform-api', config.LOG_LEVEL);
  const name = podId(config.POD_ID);
  const lifecycle = new Lifecycle(log);
  log.info(shownConfig(schema, config), 'starting');
  try {
    const database = openDatabase(config.MONGODB_URL, { appName: name });
    lifecycle.onStop('database', () => database.close());
    const records = new Records(database);
    const firstRecords = new UntilDone(log, () => bootstrap(config, records, log));
    lifecycle.onStop('first records', () => firstRecords.stop());

    let bus: Bus | undefined;
    const app = createApp();
    app.use(
      adminRoutes(lifecycle, createMetrics('platform-api'), {
        message_broker: () => bus?.isUp() ?? false,
        database: () => database.ping(),
        first_records: () => firstRecords.isDone,
      }),
    );
    app.use(startPage());
    app.use('/api', apiRoutes(records, log));
    app.use(...errorRoutes(log));
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    lifecycle.onStop('http', () => http.close());

    const opened = await openBus(config.NATS_URL, { name, log });
    bus = opened;
    lifecycle.onStop('bus', () => opened.close());
    const onError = (error: unknown): void => log.error({ err: error }, 'a bus request failed');
    for (const served of [
      ...serveApiKeys(opened, records, onError),
      ...serveVehicles(opened, records, onError),
      servePing(opened, 'platform-api', { onError }),
    ])
      lifecycle.onStop('bus request', () => served.stop());
    log.info({ httpPort: http.port }, 'started');
    return { httpPort: http.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}
