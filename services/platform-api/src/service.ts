import { setMaxListeners } from 'node:events';
import { type Bus, DeviceAsker, openBus } from '@fleet/bus';
import {
  adminRoutes,
  createLogger,
  createMetrics,
  Encryption,
  Lifecycle,
  type Logger,
  listen,
  podId,
  type Running,
  shownConfig,
} from '@fleet/service-kit';
import { dialRedis, openDatabase } from '@fleet/storage';
import { AccessTokens } from './access/access-tokens.ts';
import { allowedOrigins } from './access/origins.ts';
import { Principals } from './access/principals.ts';
import { platformRateLimits } from './access/rate-limits.ts';
import { noteUnheardChanges } from './access/unheard-changes.ts';
import { createPlatformApp } from './app.ts';
import { Background } from './background.ts';
import { bootstrap, UntilDone } from './bootstrap.ts';
import { type Config, type Role, rolesOf, schema } from './config.ts';
import type { Deps } from './deps.ts';
import { billingOf } from './domains/billing/billing.ts';
import { ocrEngine } from './domains/documents/ocr.ts';
import { Notifications } from './domains/notifications/raise.ts';
import { PartnerChannels } from './domains/partners/channels.ts';
import { PartnerTelemetry } from './domains/partners/telemetry.ts';
import { SigningKeys } from './domains/signing-keys/signing-keys.ts';
import { loadTollGates } from './domains/toll-gates/load-file.ts';
import { announceChanges } from './events/record-changes.ts';
import { MailQueue } from './mail/queue.ts';
import { MapServices } from './maps/map-services.ts';
import { type Messages, messagesOf } from './providers/messages.ts';
import { platformError } from './routes/errors.ts';
import { platformMessages } from './senders/platform-messages.ts';
import { migrate } from './store/migrations.ts';
import { Records } from './store/records.ts';

export interface PlatformApi extends Running {
  readonly httpPort: number;
  /** What the running domains work with; tests make records with it. */
  readonly deps: Deps;
}

/** What tests put in the place of the real thing. */
export interface Overrides {
  readonly log?: Logger;
  readonly messages?: Messages;
  /** False where a test sweeps when it wants to: the service would come in between. */
  readonly isSweeping?: boolean;
}

/** Downloads that are under way when the service stops may take so long: their callers ask for the rest with Range. */
const downloadGraceMs = 5_000;

/** Starts the service. Health answers from the first moment; it is ready once the broker, the database and the first records are there. */
export async function create(config: Config, overrides: Overrides = {}): Promise<PlatformApi> {
  const log = overrides.log ?? createLogger('platform-api', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  log.info(shownConfig(schema, config), 'starting');
  try {
    return await start(config, log, lifecycle, overrides);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function start(config: Config, log: Logger, lifecycle: Lifecycle, overrides: Overrides): Promise<PlatformApi> {
  const name = podId(config.POD_ID);
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  lifecycle.onStop('database', () => database.close());
  const records = new Records(database);
  const stopping = new AbortController();
  const firstRecords = new UntilDone(log, 'the first records could not be written yet', async () => {
    await migrate(database, log, { signal: stopping.signal });
    await bootstrap(config, records, log);
    await loadTollGates({ database, records, log }, config.TOLL_GATES_FILE, stopping.signal);
  });
  lifecycle.onStop('first records', () => {
    stopping.abort();
    return firstRecords.stop();
  });

  let bus: Bus | undefined;
  const metrics = createMetrics('platform-api');
  const { app, serve } = createPlatformApp(
    log,
    config.TRUST_PROXY,
    adminRoutes(
      lifecycle,
      metrics,
      { message_broker: () => bus?.isUp() ?? false, first_records: () => firstRecords.isDone },
      { database: () => database.ping() },
    ),
  );
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT, renderError: platformError });
  const stopped = new AbortController();
  // One listener for each download.
  setMaxListeners(0, stopped.signal);
  let closing: Promise<void> | undefined;
  const closeHttp = async (): Promise<void> => {
    const grace = setTimeout(() => stopped.abort(), downloadGraceMs);
    await http.close();
    clearTimeout(grace);
  };
  // For a start that fails before there is anybody who could be answered.
  lifecycle.onStop('http', () => (closing ??= closeHttp()));

  const loading = loadRoles(rolesOf(config.PLATFORM_ROLES));
  const opened = await openBus(config.NATS_URL, { name, log });
  lifecycle.onStop('bus', () => opened.close());
  // Ready means that the roles are served: nothing is awaited between this line and their start.
  const parts = await loading;
  bus = opened;
  announceChanges(records, opened);
  const deps = makeDeps(config, log, lifecycle, {
    database,
    records,
    bus: opened,
    ownMessages: overrides.messages ?? messagesOf(config, log),
    stopped: stopped.signal,
  });
  const unheard = noteUnheardChanges(deps);
  lifecycle.onStop('unheard changes', () => unheard.stop());
  const principals = new Principals(records, opened, log);
  lifecycle.onStop('principals', () => principals.stop());
  // Requests under way end with all that they need.
  lifecycle.onStop('requests', () => (closing ??= closeHttp()));
  const origins = allowedOrigins(config.PUBLIC_BASE_URL, config.ALLOWED_ORIGINS);
  parts.startApi?.(deps, lifecycle, {
    serve,
    principals,
    origins,
    isSweeping: overrides.isSweeping !== false,
    hasFirstRecords: () => firstRecords.isDone,
  });
  parts.startWebsocket?.(deps, lifecycle, http.server, { principals, origins, metrics });
  parts.startTelemetryRole?.(deps, lifecycle, metrics);
  log.info({ httpPort: http.port }, 'started');
  return { httpPort: http.port, deps, stop: () => lifecycle.stop() };
}

/** Loads the modules of this process's roles alone, while the backends are connected to: they are most of the service. */
async function loadRoles(roles: ReadonlySet<Role>) {
  const api = roles.has('api') ? await import('./api-role.ts') : undefined;
  const websocket = roles.has('websocket') ? await import('./websocket/start.ts') : undefined;
  const telemetry = roles.has('telemetry') ? await import('./telemetry-role.ts') : undefined;
  return {
    startApi: api?.startApi,
    startWebsocket: websocket?.startWebsocket,
    startTelemetryRole: telemetry?.startTelemetryRole,
  };
}

function makeDeps(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  parts: Pick<Deps, 'database' | 'records' | 'bus' | 'ownMessages' | 'stopped'>,
): Deps {
  const redis = dialRedis(config.REDIS_URL, {
    name: 'platform-api',
    onError: (error) => log.warn({ err: error }, 'redis is away'),
  });
  lifecycle.onStop('redis', () => redis.destroy());
  const background = new Background(log);
  // Behind the messages, which then wait for no provider any more, and before what it works with.
  lifecycle.onStop('background', () => background.settled());
  const messages = platformMessages(config, parts.ownMessages);
  lifecycle.onStop('messages', () => messages.stop());
  const asker = new DeviceAsker(parts.bus);
  lifecycle.onStop('device asker', () => asker.stop());
  const telemetry = new PartnerTelemetry(parts.bus, config, log);
  lifecycle.onStop('partner telemetry', () => telemetry.stop());
  const ocr = ocrEngine(config, log);
  lifecycle.onStop('reader of documents', () => ocr.stop());
  const billing = billingOf(config);
  lifecycle.onStop('payment gateway', () => billing.gateway.stop());
  const maps = new MapServices(config, { log, redis });
  lifecycle.onStop('map providers', () => maps.stop());
  const encryption = new Encryption(config.ENCRYPTION_KEY);
  const mails = new MailQueue({ database: parts.database, encryption, log, messages: parts.ownMessages });
  lifecycle.onStop('mail queue', () => mails.stop());
  const partnerChannels = new PartnerChannels({ ...parts, config, encryption, log });
  lifecycle.onStop('partner channels', () => partnerChannels.stop());
  const signingKeys = new SigningKeys({ database: parts.database, encryption, log });
  const notifications = new Notifications({ ...parts, redis, log, config, maps });
  lifecycle.onStop('notifications', () => notifications.stop());
  return {
    config,
    log,
    ...parts,
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
    limits: platformRateLimits(config, redis),
  };
}
