import { setMaxListeners } from 'node:events';
import { type Bus, DeviceCommandClient, openBus } from '@fleet/bus';
import {
  createLogger,
  createMetrics,
  Encryption,
  getPodId,
  Lifecycle,
  type Logger,
  listen,
  type Registry,
  type Running,
  redactConfig,
  retryUntilSuccess,
  startAdminServer,
} from '@fleet/service-kit';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { createRedisClient, type Database, openDatabase } from '@fleet/storage';
import { AccessTokens } from '../access/access-tokens.ts';
import { trackMissedInvalidations } from '../access/missed-invalidations.ts';
import { allowedOrigins } from '../access/origins.ts';
import { Principals } from '../access/principals.ts';
import { createPlatformRateLimits } from '../access/rate-limits.ts';
import { createBilling } from '../domains/billing/create-billing.ts';
import { createDashboardConfig } from '../domains/dashboard-config/use-cases.ts';
import { createOcrEngine } from '../domains/documents/ocr.ts';
import { NotificationPublisher } from '../domains/notifications/notification-publisher.ts';
import { PartnerChannels } from '../domains/partners/partner-channels.ts';
import { PartnerTelemetry } from '../domains/partners/telemetry.ts';
import { SigningKeys } from '../domains/signing-keys/signing-keys.ts';
import { loadTollGates } from '../domains/toll-gates/load-toll-gates.ts';
import { publishRecordChanges } from '../event-consumers/publish-record-changes.ts';
import { serveDashboard } from '../http-api/dashboard.ts';
import { renderPlatformError } from '../http-api/errors.ts';
import { MailQueue } from '../mail/mail-queue.ts';
import { MapServices } from '../maps/map-services.ts';
import { createPlatformMessageSender } from '../notification-delivery/platform-message-sender.ts';
import { Background } from '../platform/background.ts';
import type { Deps } from '../platform/deps.ts';
import { readThresholds } from '../platform/thresholds.ts';
import { createMessageSender, type MessageSender } from '../providers/message-sender.ts';
import { migrate, type SchemaVersion } from '../store/migrate.ts';
import { RecordStore } from '../store/record-store.ts';
import { createPlatformApp } from './app.ts';
import { bootstrap } from './bootstrap.ts';
import { type Config, parseRoles, type Role, schema } from './config.ts';
import { migrations } from './migrations.ts';
import { createSchemaVersionGauge } from './schema-version-gauge.ts';

export interface PlatformApi extends Running {
  /** 0 if no role of the process serves HTTP. */
  readonly httpPort: number;
  readonly adminPort: number;
  /** Dependencies of the running domains; tests create records with them. */
  readonly deps: Deps;
}

/** Replacements of parts of the service in tests. */
interface Overrides {
  readonly log?: Logger;
  readonly messages?: MessageSender;
  /** False in tests that run the jobs themselves, because scheduled runs would interfere. */
  readonly runsJobs?: boolean;
}

/** Time that running downloads get when the service stops. Clients request the remainder with Range. */
const downloadTimeoutMs = 5_000;

/**
 * Starts the service. Health checks respond immediately. The service is ready once the broker, the database and the
 * first records are available.
 */
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
  const health: Health = { metrics: createMetrics('platform-api') };
  health.metrics.registerMetric(createSchemaVersionGauge(() => health.firstRecords?.schemaVersion()));
  const adminPort = await openAdminPort(config, log, lifecycle, health);
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  health.database = database;
  lifecycle.onStop('database', () => database.close());
  const records = new RecordStore(database);
  const firstRecords = writeFirstRecords(config, log, lifecycle, records);
  health.firstRecords = firstRecords;
  const roleNames = parseRoles(config.PLATFORM_ROLES);
  const stopped = createStopSignal();
  const servesHttp = roleNames.has('api') || roleNames.has('websocket');
  const ownMessages = overrides.messages ?? createMessageSender(config, log);
  const http = servesHttp
    ? await openHttp({ config, log, ownMessages, metrics: health.metrics }, lifecycle, stopped)
    : undefined;

  const loading = loadRoles(roleNames);
  const bus = await openBus(config.NATS_URL, { name, log });
  lifecycle.onStop('bus', () => bus.close());
  // The service is ready from here on, so nothing may be awaited between this line and the start of the roles.
  const roles = await loading;
  health.bus = bus;
  publishRecordChanges(records, bus);
  const deps = createDeps(config, log, lifecycle, { database, records, bus, ownMessages, stopped: stopped.signal });
  const missedInvalidations = trackMissedInvalidations(deps);
  lifecycle.onStop('missed invalidations', () => missedInvalidations.stop());
  const principals = new Principals(records, bus, log);
  lifecycle.onStop('principals', () => principals.stop());
  // Stops before the dependencies of running requests.
  lifecycle.onStop('requests', () => http?.close());
  const origins = allowedOrigins(config.PUBLIC_BASE_URL, config.ALLOWED_ORIGINS);
  if (http !== undefined) {
    roles.startApi?.(deps, lifecycle, {
      serve: http.serve,
      principals,
      origins,
      runsJobs: overrides.runsJobs !== false,
      hasFirstRecords: () => firstRecords.isDone,
    });
    roles.startWebsocket?.(deps, lifecycle, http.server, { principals, origins, metrics: health.metrics });
  }
  roles.startTelemetryRole?.(deps, lifecycle, health.metrics);
  lifecycle.markStarted();
  await bus.flush();
  const ports = { httpPort: http?.port ?? 0, adminPort };
  log.info(ports, 'started');
  return { ...ports, deps, stop: () => lifecycle.stop() };
}

/** Migrates the database and writes the first records, as soon as the database is available. */
function writeFirstRecords(config: Config, log: Logger, lifecycle: Lifecycle, records: RecordStore) {
  const { database } = records;
  const stopping = new AbortController();
  let schemaVersion: SchemaVersion | undefined;
  const firstRecords = retryUntilSuccess(
    async () => {
      schemaVersion = await migrate(database, log, migrations, { signal: stopping.signal });
      await bootstrap(config, records, log);
      await loadTollGates({ database, records, log }, config.TOLL_GATES_FILE, stopping.signal);
    },
    (error) => log.warn({ err: error }, 'could not write the first records yet'),
  );
  lifecycle.onStop('first records', () => {
    stopping.abort();
    return firstRecords.stop();
  });
  return {
    get isDone() {
      return firstRecords.isDone;
    },
    /** Undefined until the migrations are applied. */
    schemaVersion: () => schemaVersion,
  };
}

/** What the health checks test. */
interface Health {
  /** Undefined until the service can serve requests. */
  bus?: Bus;
  database?: Database;
  firstRecords?: ReturnType<typeof writeFirstRecords>;
  readonly metrics: Registry;
}

const openAdminPort = (config: Config, log: Logger, lifecycle: Lifecycle, health: Health): Promise<number> =>
  startAdminServer({
    config,
    lifecycle,
    log,
    metrics: health.metrics,
    checks: {
      message_broker: () => health.bus?.isUp() ?? false,
      migrations: () => health.firstRecords?.schemaVersion() !== undefined,
      first_records: () => health.firstRecords?.isDone ?? false,
    },
    backends: { database: () => health.database?.ping() ?? false },
  });

/** Creates the signal that ends running downloads. */
function createStopSignal(): AbortController {
  const stopped = new AbortController();
  // Each download adds one listener.
  setMaxListeners(0, stopped.signal);
  return stopped;
}

/** Opens the HTTP port. Requests are served once `serve` is called. */
async function openHttp(
  { config, log, ownMessages, metrics }: Pick<Deps, 'config' | 'log' | 'ownMessages'> & Pick<Health, 'metrics'>,
  lifecycle: Lifecycle,
  stopped: AbortController,
) {
  const { app, serve } = createPlatformApp(log, config.TRUST_PROXY, metrics, createDashboard({ config, ownMessages }));
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT, renderError: renderPlatformError });
  const closeHttp = async (): Promise<void> => {
    const timer = setTimeout(() => stopped.abort(), downloadTimeoutMs);
    await http.close();
    clearTimeout(timer);
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= closeHttp());
  // Covers a start that fails before requests are served.
  lifecycle.onStop('http', close);
  return { port: http.port, server: http.server, serve, close };
}

/** Returns the handler of the dashboard; undefined if the installation serves none. */
function createDashboard(deps: Pick<Deps, 'config' | 'ownMessages'>) {
  const { DASHBOARD_DIR: folder } = deps.config;
  return folder === undefined ? undefined : serveDashboard(folder, createDashboardConfig(deps));
}

/**
 * Loads only the modules of this process's roles, while the backends connect. The modules take most of the start time.
 */
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

type BaseDeps = Pick<Deps, 'database' | 'records' | 'bus' | 'ownMessages' | 'stopped'>;

function createDeps(config: Config, log: Logger, lifecycle: Lifecycle, base: BaseDeps): Deps {
  const redis = createRedisClient(config.REDIS_URL, {
    name: 'platform-api',
    onError: (error) => log.warn({ err: error }, 'Redis is unavailable'),
  });
  lifecycle.onStop('redis', () => redis.destroy());
  const background = new Background(log);
  // Stops after the messages, which then wait for no provider, and before the dependencies of background work.
  lifecycle.onStop('background', () => background.drain());
  const encryption = new Encryption(config.ENCRYPTION_KEY);
  const thresholds = readThresholds(config);
  const signingKeys = new SigningKeys({ database: base.database, encryption, log });
  const providers = createProviders(config, log, lifecycle, { ...base, redis, encryption });
  const notifications = new NotificationPublisher({ ...base, redis, log, config, thresholds, maps: providers.maps });
  lifecycle.onStop('notifications', () => notifications.stop());
  return {
    config,
    thresholds,
    log,
    ...base,
    ...providers,
    background,
    notifications,
    redis,
    encryption,
    signingKeys,
    tokens: new AccessTokens(signingKeys, config.JWT_ISSUER),
    streamTokens: new StreamTokens({
      secrets: config.STREAM_TOKEN_SECRET,
      lifetimeSeconds: config.STREAM_TOKEN_SECONDS,
    }),
    limits: createPlatformRateLimits(config, redis),
  };
}

/** Creates the clients of terminals, partners and other servers. */
function createProviders(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  deps: BaseDeps & Pick<Deps, 'redis' | 'encryption'>,
) {
  const { bus, database, redis, encryption, ownMessages } = deps;
  const messages = createPlatformMessageSender(config, ownMessages);
  lifecycle.onStop('messages', () => messages.stop());
  const commandClient = new DeviceCommandClient(bus);
  lifecycle.onStop('device commands', () => commandClient.stop());
  const telemetry = new PartnerTelemetry(bus, config, log);
  lifecycle.onStop('partner telemetry', () => telemetry.stop());
  const ocr = createOcrEngine(config, log);
  lifecycle.onStop('document reader', () => ocr.stop());
  const billing = createBilling(config);
  lifecycle.onStop('payment gateway', () => billing.gateway.stop());
  const maps = new MapServices(config, { log, redis });
  lifecycle.onStop('map providers', () => maps.stop());
  const mails = new MailQueue({ database, encryption, log, messages: ownMessages });
  lifecycle.onStop('mail queue', () => mails.stop());
  const partnerChannels = new PartnerChannels({ ...deps, config, log });
  lifecycle.onStop('partner channels', () => partnerChannels.stop());
  return { messages, commandClient, telemetry, ocr, billing, maps, mails, partnerChannels };
}
