import { type Bus, DeviceCommandClient, openBus, servePing } from '@fleet/bus';
import {
  createApi,
  createApp,
  createErrorHandlers,
  createLogger,
  createMetrics,
  getPodId,
  Lifecycle,
  type Logger,
  listen,
  parseProxyNetworks,
  type Registry,
  type Running,
  redactConfig,
  startAdminServer,
} from '@fleet/service-kit';
import { serveWebsockets } from '@fleet/service-kit/websocket';
import { connectRedis, pingRedis, type Redis, type StreamKind } from '@fleet/storage';
import { type Config, schema } from './config.ts';
import { createStreams, type MediaDeps, type Streams } from './create-streams.ts';
import { serveBus } from './handlers/serve-bus.ts';
import { openIngestPort } from './ingest/ingest-port.ts';
import { registerMediaMetrics } from './metrics.ts';
import { createRoutes } from './routes/create-routes.ts';
import { reportTaskError, startMediaTasks } from './start-media-tasks.ts';
import { Transcoders } from './transcode/transcoders.ts';
import { commandCamera } from './use-cases/command-camera.ts';
import { drainStreams } from './use-cases/drain-streams.ts';

/** Running media service and the ports it listens on. */
export interface MediaService extends Running {
  readonly httpPort: number;
  readonly adminPort: number;
  readonly livePort: number;
  readonly historyPort: number;
  readonly talkPort: number;
}

/** Starts the service: backends, ports, timers. It stops in reverse order. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<MediaService> {
  const log = overrides.log ?? createLogger('jt1078-media', config.LOG_LEVEL);
  const pod = getPodId(config.POD_ID);
  const lifecycle = new Lifecycle(log);
  log.info({ ...redactConfig(schema, config), podId: pod }, 'starting');
  try {
    const metrics = createMetrics('jt1078-media');
    const health: Health = {};
    const adminPort = await openAdminPort(config, lifecycle, log, metrics, health);
    const transcoders = new Transcoders({
      ffmpegPath: config.FFMPEG_PATH,
      maxProcesses: config.MEDIA_MAX_TRANSCODERS,
      log,
    });
    const [backends] = await Promise.all([openBackends(config, pod, lifecycle, log, health), transcoders.probe()]);
    lifecycle.onStop('transcoders', () => transcoders.stop());
    return await assemble(config, pod, adminPort, { ...backends, transcoders, lifecycle, log, metrics });
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

/** Connections that the health checks test, each missing until it is opened. */
interface Health {
  bus?: Bus;
  redis?: Redis;
}

const openAdminPort = (
  config: Config,
  lifecycle: Lifecycle,
  log: Logger,
  metrics: Registry,
  health: Health,
): Promise<number> =>
  startAdminServer({
    config,
    lifecycle,
    log,
    metrics,
    checks: { message_broker: () => health.bus?.isUp() ?? false },
    backends: { state_store: () => health.redis !== undefined && pingRedis(health.redis) },
  });

async function openBackends(config: Config, pod: string, lifecycle: Lifecycle, log: Logger, health: Health) {
  const bus = await openBus(config.NATS_URL, { name: pod, log });
  health.bus = bus;
  lifecycle.onStop('bus', () => bus.close());
  const redis = await connectRedis(config.REDIS_URL, {
    name: pod,
    onError: (error) => log.debug({ err: error }, 'Redis connection failed'),
  });
  health.redis = redis;
  lifecycle.onStop('redis', () => redis.destroy());
  const commandClient = new DeviceCommandClient(bus);
  lifecycle.onStop('command client', () => commandClient.stop());
  return { bus, redis, commandClient };
}

async function assemble(config: Config, pod: string, adminPort: number, deps: MediaDeps): Promise<MediaService> {
  const { bus, lifecycle, log } = deps;
  const owner = { podId: pod, url: config.MEDIA_HTTP_URL ?? '' };
  const streams = createStreams(config, owner, deps);
  const { registry, hls } = streams;
  const http = await openHttp(config, deps, streams);
  owner.url ||= `http://${config.HOST}:${http.port}`;
  lifecycle.onStop('received bytes', () => streams.usageReporter.stop());
  lifecycle.onStop('streams', () => registry.stop());
  const { live, history, talk } = await openIngestPorts(config, deps, streams);
  startMediaTasks(config, deps, streams, [live, history, talk, registry, hls]);
  serveBus(config, pod, deps, streams);
  lifecycle.onStop('live streams', () => drainStreams({ bus, registry, hls, refuseCameras: () => live.refuse(), log }));
  serveReadiness(deps);
  await bus.flush();
  lifecycle.markStarted();
  const ingestPorts = { livePort: live.port, historyPort: history.port, talkPort: talk.port };
  const ports = { httpPort: http.port, adminPort, ...ingestPorts };
  log.info({ ...ports, url: owner.url }, 'started');
  return { ...ports, stop: () => lifecycle.stop() };
}

/** Reports on the bus that this pod accepts cameras. Start it last and stop it first. */
function serveReadiness({ bus, redis, lifecycle, log }: MediaDeps): void {
  const isWorking = (): boolean => !lifecycle.isStopping && redis.isReady;
  const ping = servePing(bus, 'jt1078-media', { onError: reportTaskError(log), isWorking });
  lifecycle.onStop('ping', () => ping.stop());
}

async function openHttp(config: Config, deps: MediaDeps, streams: Streams): Promise<{ port: number }> {
  const { transcoders, metrics, lifecycle, log } = deps;
  const { registry, counters } = streams;
  registerMediaMetrics(metrics, { registry, transcoders, ingest: counters });
  const app = createApp({ metrics });
  const api = createApi({ log, bodyLimitBytes: 1024, routes: createRoutes(config, { ...streams, log }) });
  app.use(api, ...createErrorHandlers(log));
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
  serveWebsockets(http.server, app);
  lifecycle.onStop('http', () => {
    // Viewers of ended streams have had their time to receive the rest.
    http.server.closeAllConnections();
    return http.close();
  });
  return http;
}

async function openIngestPorts(config: Config, deps: MediaDeps, { registry, counters }: Streams) {
  const { lifecycle, log } = deps;
  const openPort = async (kind: StreamKind, port: number) => {
    const ingest = await openIngestPort({
      kind,
      host: config.HOST,
      port,
      admission: registry,
      counters,
      silenceTimeoutMs: config.MEDIA_SILENCE_TIMEOUT_MS,
      proxyNetworks: parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS),
      onPause: (id, isPaused) => void commandCamera(deps, id, isPaused ? 'pause' : 'play', 'viewers are full'),
      log,
    });
    lifecycle.onStop(`${kind} ingest`, () => ingest.stop());
    return ingest;
  };
  const live = await openPort('live', config.MEDIA_LIVE_PORT);
  const history = await openPort('history', config.MEDIA_HISTORY_PORT);
  return { live, history, talk: await openPort('talk', config.MEDIA_TALK_PORT) };
}
