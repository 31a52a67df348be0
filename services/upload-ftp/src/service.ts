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
import { openDatabase } from '@fleet/storage';
import { type Config, schema } from './config.ts';
import { startFtp } from './ftp/server.ts';

export interface UploadFtp extends Running {
  readonly httpPort: number;
  readonly ftpPort: number;
}

/** Starts the service: health answers from the first moment; it is ready once the broker, the database and the FTP port are there. */
export async function create(
  config: Config,
  overrides: { log?: Logger; loginLimitMs?: number } = {},
): Promise<UploadFtp> {
  const log = overrides.log ?? createLogger('upload-ftp', config.LOG_LEVEL);
  const name = podId(config.POD_ID);
  const lifecycle = new Lifecycle(log);
  const metrics = createMetrics('upload-ftp');
  log.info(shownConfig(schema, config), 'starting');
  try {
    const database = openDatabase(config.MONGODB_URL, { appName: name });
    lifecycle.onStop('database', () => database.close());

    let bus: Bus | undefined;
    let isListening = (): boolean => false;
    const app = createApp();
    app.use(
      adminRoutes(lifecycle, metrics, {
        message_broker: () => bus?.isUp() ?? false,
        database: () => database.ping(),
        upload_server: () => isListening(),
      }),
    );
    app.use(...apiErrors(log));
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    lifecycle.onStop('http', () => http.close());

    const opened = await openBus(config.NATS_URL, { name, log });
    bus = opened;
    lifecycle.onStop('bus', () => opened.close());

    const ftp = await startFtp(
      {
        host: config.HOST,
        port: config.FTP_PORT,
        publicHost: config.FTP_PUBLIC_HOST,
        passivePorts: { min: config.FTP_PASV_MIN, max: config.FTP_PASV_MAX },
        ...(overrides.loginLimitMs === undefined ? {} : { loginLimitMs: overrides.loginLimitMs }),
      },
      log,
      metrics,
    );
    isListening = () => ftp.isListening();
    lifecycle.onStop('ftp', () => ftp.stop());

    const ping = servePing(opened, 'upload-ftp', {
      onError: (error) => log.error({ err: error }, 'a ping failed'),
      isWorking: () => isListening(),
    });
    lifecycle.onStop('ping', () => ping.stop());
    log.info({ httpPort: http.port, ftpPort: ftp.port }, 'started');
    return { httpPort: http.port, ftpPort: ftp.port, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}
