import { setMaxListeners } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { DeviceCommandClient, openBus, servePing } from '@fleet/bus';
import {
  Counter,
  createLogger,
  createMetrics,
  Gauge,
  Lifecycle,
  type Logger,
  listen,
  type Running,
  redactConfig,
} from '@fleet/service-kit';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { serveWebsockets } from '@fleet/service-kit/websocket';
import { connectRedis, openDatabase, UploadRepository } from '@fleet/storage';
import type { Express } from 'express';
import { AuditOutbox } from './access/audit-outbox.ts';
import { Guard } from './access/guard.ts';
import { KeyCache } from './access/key-cache.ts';
import { MainStreamViewers } from './access/main-stream-viewers.ts';
import { createRateLimits } from './access/rate-limits.ts';
import { VideoAccessCache } from './access/video-access-cache.ts';
import { ViewMonitor } from './access/view-monitor.ts';
import { createDeviceApi, createVideoService } from './app.ts';
import { type Config, configSchema } from './config.ts';
import type { Deps } from './deps.ts';
import { serveUseCases } from './handlers/serve-use-cases.ts';
import { SmsProvider } from './providers/sms-provider.ts';
import { CameraUtcOffsets } from './use-cases/camera-utc-offsets.ts';
import { TalkTurns } from './use-cases/talk/talk-turns.ts';

const name = 'device-api';

/** A running device-api and its ports. */
export interface DeviceApiService extends Running {
  readonly port: number;
  readonly videoPort: number;
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
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  lifecycle.onStop('database', () => database.close());
  const redis = await connectRedis(config.REDIS_URL, { name, onError });
  lifecycle.onStop('redis', () => redis.destroy());
  const bus = await openBus(config.NATS_URL, { name, log });
  lifecycle.onStop('bus', () => bus.close());
  const commandClient = new DeviceCommandClient(bus, { returnTimeoutMs: config.DEVICE_RETURN_WAIT_MS });
  lifecycle.onStop('commandClient', () => commandClient.stop());
  const keyCache = new KeyCache(bus, log);
  lifecycle.onStop('keyCache', () => keyCache.stop());
  const auditOutbox = new AuditOutbox(bus, log);
  lifecycle.onStop('auditOutbox', () => auditOutbox.stop());

  const stopping = new AbortController();
  const stopped = new AbortController();
  // One listener for each open stream and each pending command.
  setMaxListeners(0, stopping.signal, stopped.signal);
  const limits = createRateLimits(config, redis);
  const videoAccess = new VideoAccessCache(bus, log);
  lifecycle.onStop('videoAccess', () => videoAccess.stop());
  const views = new ViewMonitor(videoAccess);
  lifecycle.onStop('views', () => views.stop());
  const streamTokens = new StreamTokens({
    secrets: config.STREAM_TOKEN_SECRET,
    lifetimeSeconds: config.STREAM_TOKEN_SECONDS,
  });
  const guard = new Guard({ bus, config, auditOutbox, keys: keyCache, limits, streamTokens, videoAccess, views });
  const sms = SmsProvider.fromConfig(config);
  lifecycle.onStop('sms', () => sms?.stop());
  const talkTurns = new TalkTurns({ redis, bus, log });
  lifecycle.onStop('talk turns', () => talkTurns.stop());
  const deps: Deps = {
    config,
    log,
    bus,
    redis,
    database,
    commandClient,
    utcOffsets: new CameraUtcOffsets(bus),
    uploads: new UploadRepository(database),
    guard,
    streamTokens,
    talkTurns,
    mainStreamViewers: new MainStreamViewers(redis),
    sms,
    stopping: stopping.signal,
    stopped: stopped.signal,
  };
  registerCommandMetrics(commandClient, metrics);
  registerAuditMetrics(auditOutbox, metrics);
  const useCaseServers = serveUseCases(deps);
  lifecycle.onStop('use cases on the bus', () => useCaseServers.stop());
  lifecycle.onStop('pending work', () => stopped.abort());
  const servers: Awaited<ReturnType<typeof listen>>[] = [];
  lifecycle.onStop('http', async () => {
    const graceTimer = setTimeout(() => stopped.abort(), config.STOP_GRACE_MS);
    await Promise.all(servers.map((server) => server.close(config.STOP_GRACE_MS + 2_000)));
    clearTimeout(graceTimer);
  });
  const serveHttp = async (app: Express, port: number, acceptsWebsockets = false): Promise<number> => {
    const server = await listen(app, { host: config.HOST, port, configure: configureServer });
    if (acceptsWebsockets) serveWebsockets(server.server, app);
    servers.push(server);
    return server.port;
  };
  const port = await serveHttp(createDeviceApi(deps, { limits, lifecycle, metrics }), config.HTTP_PORT);
  const videoPort = await serveHttp(createVideoService(deps, { limits }), config.VIDEO_HTTP_PORT, true);
  lifecycle.onStop('streams', () => stopping.abort());
  const ping = servePing(bus, name, { onError });
  lifecycle.onStop('ping', () => ping.stop());
  lifecycle.onStop('drain', () => delay(config.DRAIN_DELAY_MS));
  await bus.flush();
  log.info({ port, videoPort }, 'listening');
  return { port, videoPort, stop: () => lifecycle.stop() };
}

function configureServer(server: Server): void {
  // Requests have no or a small body; responses have the time-out of their route, streams none.
  server.requestTimeout = 30_000;
  server.headersTimeout = 15_000;
  server.timeout = 0;
}

function registerCommandMetrics(commandClient: DeviceCommandClient, metrics: ReturnType<typeof createMetrics>): void {
  const gauge = new Gauge({
    name: 'device_api_commands_in_flight',
    help: 'Pending commands to devices',
    registers: [],
    collect() {
      this.set(commandClient.inFlight);
    },
  });
  metrics.registerMetric(gauge);
}

function registerAuditMetrics(auditOutbox: AuditOutbox, metrics: ReturnType<typeof createMetrics>): void {
  const pendingGauge = new Gauge({
    name: 'device_api_audit_entries_waiting',
    help: 'Audit events that JetStream has not stored yet',
    registers: [],
    collect() {
      this.set(auditOutbox.pending);
    },
  });
  const droppedCounter = new Counter({
    name: 'device_api_audit_entries_dropped_total',
    help: 'Audit events that were lost because JetStream was unavailable for too long',
    registers: [],
    collect() {
      this.reset();
      this.inc(auditOutbox.dropped);
    },
  });
  metrics.registerMetric(pendingGauge);
  metrics.registerMetric(droppedCounter);
}
