import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, DeviceCommandClient, openBus, servePing } from '@fleet/bus';
import {
  createLogger,
  createMetrics,
  Lifecycle,
  type Logger,
  type Running,
  redactConfig,
  startAdminServer,
} from '@fleet/service-kit';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { connectRedis, openDatabase, UploadRepository } from '@fleet/storage';
import { AuditOutbox } from './access/audit-outbox.ts';
import { Guard } from './access/guard.ts';
import { KeyCache } from './access/key-cache.ts';
import { MainStreamViewers } from './access/main-stream-viewers.ts';
import { createRateLimits, type RateLimits } from './access/rate-limits.ts';
import { TalkAudit } from './access/talk-audit.ts';
import { VideoAccessCache } from './access/video-access-cache.ts';
import { ViewMonitor } from './access/view-monitor.ts';
import { createDeviceApi, createVideoService } from './app.ts';
import { type Config, configSchema } from './config.ts';
import type { Deps } from './deps.ts';
import { serveUseCases } from './handlers/serve-use-cases.ts';
import { HttpServers } from './http-servers.ts';
import { type Metrics, registerAuditMetrics, registerCommandMetrics } from './metrics.ts';
import { SmsProvider } from './providers/sms-provider.ts';
import { CameraUtcOffsets } from './use-cases/camera-utc-offsets.ts';
import { TalkTurns } from './use-cases/talk/talk-turns.ts';

const name = 'device-api';

/** A running device-api and its ports. */
export interface DeviceApiService extends Running {
  readonly port: number;
  readonly videoPort: number;
  readonly adminPort: number;
}

/** Starts all parts: connects, listens, and stops in reverse order. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<DeviceApiService> {
  const log = overrides.log ?? createLogger(name, config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log, {
    stepTimeoutMs: Math.max(config.STOP_GRACE_MS, config.DRAIN_DELAY_MS) + 10_000,
  });
  log.info({ config: redactConfig(configSchema, config) }, 'starting');
  try {
    return await start(config, log, lifecycle);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<DeviceApiService> {
  const onError = (error: unknown): void => log.warn({ err: error }, 'a part reported an error');
  const metrics = createMetrics(name);
  let connectedBus: Bus | undefined;
  const checks = { bus: () => connectedBus?.isUp() ?? false };
  const adminPort = await startAdminServer({ config, lifecycle, log, metrics, checks });
  const backends = await connectBackends(config, log, lifecycle, onError);
  const { bus, redis } = backends;
  connectedBus = bus;
  const commandClient = new DeviceCommandClient(bus, { returnTimeoutMs: config.DEVICE_RETURN_WAIT_MS });
  lifecycle.onStop('commandClient', () => commandClient.stop());
  registerCommandMetrics(commandClient, metrics);

  const stopping = new AbortController();
  const stopped = new AbortController();
  // One listener for each open stream and each pending command.
  setMaxListeners(0, stopping.signal, stopped.signal);
  const limits = createRateLimits(config, redis);
  const { guard, streamTokens } = createGuard({ config, log, bus, redis, lifecycle, limits, metrics });
  const sms = SmsProvider.fromConfig(config);
  lifecycle.onStop('sms', () => sms?.stop());
  const talkTurns = new TalkTurns({ redis, bus, log });
  lifecycle.onStop('talk turns', () => talkTurns.stop());
  const deps: Deps = {
    config,
    log,
    ...backends,
    commandClient,
    utcOffsets: new CameraUtcOffsets(bus),
    uploads: new UploadRepository(backends.database),
    guard,
    streamTokens,
    talkTurns,
    mainStreamViewers: new MainStreamViewers(redis),
    sms,
    stopping: stopping.signal,
    stopped: stopped.signal,
  };
  const useCaseServers = serveUseCases(deps);
  lifecycle.onStop('use cases on the bus', () => useCaseServers.stop());
  lifecycle.onStop('pending work', () => stopped.abort());
  const httpServers = new HttpServers(config, () => stopped.abort());
  lifecycle.onStop('http', () => httpServers.stop());
  const port = await httpServers.listen(createDeviceApi(deps, { limits, metrics }), config.HTTP_PORT);
  const videoPort = await httpServers.listenWithWebsockets(
    createVideoService(deps, { limits, metrics }),
    config.VIDEO_HTTP_PORT,
  );
  lifecycle.onStop('streams', () => stopping.abort());
  const ping = servePing(bus, name, { onError });
  lifecycle.onStop('ping', () => ping.stop());
  lifecycle.onStop('drain', () => delay(config.DRAIN_DELAY_MS));
  await bus.flush();
  lifecycle.markStarted();
  log.info({ port, videoPort, adminPort }, 'listening');
  return { port, videoPort, adminPort, stop: () => lifecycle.stop() };
}

async function connectBackends(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  onError: (error: unknown) => void,
): Promise<Pick<Deps, 'bus' | 'database' | 'redis'>> {
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  lifecycle.onStop('database', () => database.close());
  const redis = await connectRedis(config.REDIS_URL, { name, onError });
  lifecycle.onStop('redis', () => redis.destroy());
  const bus = await openBus(config.NATS_URL, { name, log });
  lifecycle.onStop('bus', () => bus.close());
  return { bus, database, redis };
}

/** Returns the guard of both APIs, whose caches and monitors stop with the service. */
function createGuard({
  config,
  log,
  bus,
  redis,
  lifecycle,
  limits,
  metrics,
}: Pick<Deps, 'bus' | 'config' | 'log' | 'redis'> & {
  readonly lifecycle: Lifecycle;
  readonly limits: RateLimits;
  readonly metrics: Metrics;
}): Pick<Deps, 'guard' | 'streamTokens'> {
  const keys = new KeyCache(bus, log);
  lifecycle.onStop('keyCache', () => keys.stop());
  const auditOutbox = new AuditOutbox(bus, log);
  lifecycle.onStop('auditOutbox', () => auditOutbox.stop());
  registerAuditMetrics(auditOutbox, metrics);
  const talkAudit = new TalkAudit({ redis, bus, outbox: auditOutbox, log });
  lifecycle.onStop('talkAudit', () => talkAudit.stop());
  const videoAccess = new VideoAccessCache(bus, log);
  lifecycle.onStop('videoAccess', () => videoAccess.stop());
  const views = new ViewMonitor(videoAccess);
  lifecycle.onStop('views', () => views.stop());
  const streamTokens = new StreamTokens({
    secrets: config.STREAM_TOKEN_SECRET,
    lifetimeSeconds: config.STREAM_TOKEN_SECONDS,
  });
  const guard = new Guard({ bus, config, auditOutbox, keys, limits, streamTokens, talkAudit, videoAccess, views });
  return { guard, streamTokens };
}
