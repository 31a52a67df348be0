import { setMaxListeners } from 'node:events';
import { type Bus, DeviceCommandClient, openBus } from '@fleet/bus';
import {
  createAdminRouter,
  createLogger,
  createMetrics,
  Encryption,
  getPodId,
  Lifecycle,
  type Logger,
  listen,
  type Running,
  redactConfig,
  retryUntilSuccess,
} from '@fleet/service-kit';
import { createRedisClient, openDatabase } from '@fleet/storage';
import { AccessTokens } from '../access/access-tokens.ts';
import { trackMissedInvalidations } from '../access/missed-invalidations.ts';
import { allowedOrigins } from '../access/origins.ts';
import { Principals } from '../access/principals.ts';
import { createPlatformRateLimits } from '../access/rate-limits.ts';
import { createBilling } from '../domains/billing/create-billing.ts';
import { createOcrEngine } from '../domains/documents/ocr.ts';
import { Notifications } from '../domains/notifications/raise.ts';
import { PartnerChannels } from '../domains/partners/channels.ts';
import { PartnerTelemetry } from '../domains/partners/telemetry.ts';
import { SigningKeys } from '../domains/signing-keys/signing-keys.ts';
import { loadTollGates } from '../domains/toll-gates/load-file.ts';
import { publishRecordChanges } from '../event-consumers/record-changes.ts';
import { renderPlatformError } from '../http-api/errors.ts';
import { MailQueue } from '../mail/mail-queue.ts';
import { MapServices } from '../maps/map-services.ts';
import { platformMessages } from '../notification-delivery/platform-messages.ts';
import { Background } from '../platform/background.ts';
import type { Deps } from '../platform/deps.ts';
import { createMessageSender, type MessageSender } from '../providers/message-sender.ts';
import { migrate } from '../store/migrate.ts';
import { RecordStore } from '../store/record-store.ts';
import { createPlatformApp } from './app.ts';
import { bootstrap } from './bootstrap.ts';
import { type Config, parseRoles, type Role, schema } from './config.ts';
import { migrations } from './migrations.ts';

export interface PlatformApi extends Running {
  readonly httpPort: number;
  /** What the running domains work with; tests make records with it. */
  readonly deps: Deps;
}

/** What tests put instead of the real thing. */
export interface Overrides {
  readonly log?: Logger;
  readonly messages?: MessageSender;
  /** False where a test sweeps when it wants to: the service would come in between. */
  readonly runsJobs?: boolean;
}

/** Downloads that are under way when the service stops may take so long: their callers ask for the rest with Range. */
const downloadTimeoutMs = 5_000;

/** Starts the service. Health answers from the first moment; it is ready once the broker, the database and the first records are there. */
export async function create(config: Config, overrides: Overrides = {}): Promise<PlatformApi> {
  const log = overrides.log ?? createLogger('platform-api', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  log.info(redactConfig(schema, config), 'starting');
  try {
    return await start(config, log, lifecycle, overrides);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function start(config: Config, log: Logger, lifecycle: Lifecycle, overrides: Overrides): Promise<PlatformApi> {
  const name = getPodId(config.POD_ID);
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  lifecycle.onStop('database', () => database.close());
  const records = new RecordStore(database);
  const stopping = new AbortController();
  const firstRecords = retryUntilSuccess(
    async () => {
      await migrate(database, log, migrations, { signal: stopping.signal });
      await bootstrap(config, records, log);
      await loadTollGates({ database, records, log }, config.TOLL_GATES_FILE, stopping.signal);
    },
    (error) => log.warn({ err: error }, 'the first records could not be written yet'),
  );
  lifecycle.onStop('first records', () => {
    stopping.abort();
    return firstRecords.stop();
  });

  let bus: Bus | undefined;
  const metrics = createMetrics('platform-api');
  const { app, serve } = createPlatformApp(
    log,
    config.TRUST_PROXY,
    createAdminRouter(
      lifecycle,
      metrics,
      { message_broker: () => bus?.isUp() ?? false, first_records: () => firstRecords.isDone },
      { database: () => database.ping() },
    ),
  );
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT, renderError: renderPlatformError });
  const stopped = new AbortController();
  // One listener for each download.
  setMaxListeners(0, stopped.signal);
  let closing: Promise<void> | undefined;
  const closeHttp = async (): Promise<void> => {
    const timer = setTimeout(() => stopped.abort(), downloadTimeoutMs);
    await http.close();
    clearTimeout(timer);
  };
  // For a start that fails before there is anybody who could be answered.
  lifecycle.onStop('http', () => (closing ??= closeHttp()));

  const loading = loadRoles(parseRoles(config.PLATFORM_ROLES));
  const connectedBus = await openBus(config.NATS_URL, { name, log });
  lifecycle.onStop('bus', () => connectedBus.close());
  // Ready means that the roles are served: nothing is awaited between this line and their start.
  const roles = await loading;
  bus = connectedBus;
  publishRecordChanges(records, connectedBus);
  const deps = createDeps(config, log, lifecycle, {
    database,
    records,
    bus: connectedBus,
    ownMessages: overrides.messages ?? createMessageSender(config, log),
    stopped: stopped.signal,
  });
  const missedInvalidations = trackMissedInvalidations(deps);
  lifecycle.onStop('unheard changes', () => missedInvalidations.stop());
  const principals = new Principals(records, connectedBus, log);
  lifecycle.onStop('principals', () => principals.stop());
  // Requests under way end with all that they need.
  lifecycle.onStop('requests', () => (closing ??= closeHttp()));
  const origins = allowedOrigins(config.PUBLIC_BASE_URL, config.ALLOWED_ORIGINS);
  roles.startApi?.(deps, lifecycle, {
    serve,
    principals,
    origins,
    runsJobs: overrides.runsJobs !== false,
    hasFirstRecords: () => firstRecords.isDone,
  });
  roles.startWebsocket?.(deps, lifecycle, http.server, { principals, origins, metrics });
  roles.startTelemetryRole?.(deps, lifecycle, metrics);
  await connectedBus.flush();
  log.info({ httpPort: http.port }, 'started');
  return { httpPort: http.port, deps, stop: () => lifecycle.stop() };
}

/** Loads the modules of this process's roles alone, while the backends are connected to: they are most of the service. */
async function loadRoles(roles: ReadonlySet<Role>) {
  const api = roles.has('api') ? await import('./api-role.ts') : undefined;
  const websocket = roles.has('websocket') ? await import('../websocket/start.ts') : undefined;
  const telemetry = roles.has('telemetry') ? await import('./telemetry-role.ts') : undefined;
  return {
    startApi: api?.startApi,
    startWebsocket: websocket?.startWebsocket,
    startTelemetryRole: telemetry?.startTelemetryRole,
  };
}

function createDeps(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  base: Pick<Deps, 'database' | 'records' | 'bus' | 'ownMessages' | 'stopped'>,
): Deps {
  const redis = createRedisClient(config.REDIS_URL, {
    name: 'platform-api',
    onError: (error) => log.warn({ err: error }, 'redis is away'),
  });
  lifecycle.onStop('redis', () => redis.destroy());
  const background = new Background(log);
  // Behind the messages, which then wait for no provider any more, and before what it works with.
  lifecycle.onStop('background', () => background.drain());
  const messages = platformMessages(config, base.ownMessages);
  lifecycle.onStop('messages', () => messages.stop());
  const asker = new DeviceCommandClient(base.bus);
  lifecycle.onStop('device asker', () => asker.stop());
  const telemetry = new PartnerTelemetry(base.bus, config, log);
  lifecycle.onStop('partner telemetry', () => telemetry.stop());
  const ocr = createOcrEngine(config, log);
  lifecycle.onStop('reader of documents', () => ocr.stop());
  const billing = createBilling(config);
  lifecycle.onStop('payment gateway', () => billing.gateway.stop());
  const maps = new MapServices(config, { log, redis });
  lifecycle.onStop('map providers', () => maps.stop());
  const encryption = new Encryption(config.ENCRYPTION_KEY);
  const mails = new MailQueue({ database: base.database, encryption, log, messages: base.ownMessages });
  lifecycle.onStop('mail queue', () => mails.stop());
  const partnerChannels = new PartnerChannels({ ...base, config, encryption, log });
  lifecycle.onStop('partner channels', () => partnerChannels.stop());
  const signingKeys = new SigningKeys({ database: base.database, encryption, log });
  const notifications = new Notifications({ ...base, redis, log, config, maps });
  lifecycle.onStop('notifications', () => notifications.stop());
  return {
    config,
    log,
    ...base,
    messages,
    mails,
    background,
    asker,
    billing,
    telemetry,
    partnerChannels,
    notifications,
    ocr,
    redis,
    encryption,
    signingKeys,
    tokens: new AccessTokens(signingKeys, config.JWT_ISSUER),
    maps,
    limits: createPlatformRateLimits(config, redis),
  };
}
