import { type Bus, DeviceCommandClient, openBus, servePing, streamChanged, subscribe } from '@fleet/bus';
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
  type Route,
  type Running,
  redactConfig,
  startAdminServer,
} from '@fleet/service-kit';
import { serveWebsockets } from '@fleet/service-kit/websocket';
import { connectRedis, pingRedis, type Redis, type StreamId, type StreamKind } from '@fleet/storage';
import { type Config, schema } from './config.ts';
import type { ViewerLimits } from './domain/flv-viewer.ts';
import { StreamRegistry } from './domain/stream-registry.ts';
import { subscribeMediaControl } from './handlers/media-control.ts';
import { serveStreamQueries, serveStreamSwitches } from './handlers/stream-queries.ts';
import { serveVoiceDecoding } from './handlers/voice-decoding.ts';
import type { IngestCounters } from './ingest/camera-connection.ts';
import { openIngestPort } from './ingest/ingest-port.ts';
import { registerMediaMetrics } from './metrics.ts';
import { startPeriodicTask } from './periodic-task.ts';
import type { StreamAccessDeps } from './routes/stream-access.ts';
import { flvRoutes } from './routes/stream-flv.ts';
import { hlsRoutes } from './routes/stream-hls.ts';
import { mp4Routes } from './routes/stream-mp4.ts';
import { streamsRoute } from './routes/streams.ts';
import { talkRoute } from './routes/talk.ts';
import { StreamClaims } from './store/stream-claims.ts';
import { Transcoders } from './transcode/transcoders.ts';
import { AacFormats, parseAacFormats } from './use-cases/aac-formats.ts';
import { commandCamera } from './use-cases/command-camera.ts';
import { DataUsageReporter } from './use-cases/data-usage-reporter.ts';
import { HlsOutputs } from './use-cases/hls-outputs.ts';
import { endOrphanedStreams, stopTimedOutStreams } from './use-cases/stop-stale-streams.ts';
import { StreamEventPublisher } from './use-cases/stream-event-publisher.ts';
import { StreamSwitch } from './use-cases/stream-switch.ts';
import { TerminalAudioProfiles } from './use-cases/terminal-audio.ts';

/** Running media service and the ports it listens on. */
export interface MediaService extends Running {
  readonly httpPort: number;
  readonly adminPort: number;
  readonly livePort: number;
  readonly historyPort: number;
  readonly talkPort: number;
}

const gopCacheBytes = 4 * 1024 * 1024;
const gopCacheTags = 4096;
/** Larger than the cached group of pictures, which a new viewer gets immediately. */
const liveQueueBytes = 6 * 1024 * 1024;
const historyQueueBytes = 2 * 1024 * 1024;
const historyHardQueueBytes = 16 * 1024 * 1024;

const timerIntervalMs = 250;
const claimRenewalIntervalMs = 3_000;
const streamTypeIntervalMs = 1_000;
const staleStreamIntervalMs = 1_500;

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

interface Deps {
  readonly redis: Redis;
  readonly bus: Bus;
  readonly commandClient: DeviceCommandClient;
  readonly transcoders: Transcoders;
  readonly metrics: Registry;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
}

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

/** The parts that hold the streams of this pod. */
interface Streams {
  readonly registry: StreamRegistry;
  readonly claims: StreamClaims;
  readonly eventPublisher: StreamEventPublisher;
  readonly streamSwitch: StreamSwitch;
  readonly profiles: TerminalAudioProfiles;
  readonly hls: HlsOutputs;
  readonly counters: IngestCounters;
  readonly usageReporter: DataUsageReporter;
}

function createStreams(config: Config, owner: { podId: string; url: string }, deps: Deps): Streams {
  const { redis, bus, commandClient, transcoders, log } = deps;
  const eventPublisher = new StreamEventPublisher(bus);
  const onRestored = (id: StreamId): void => eventPublisher.invalidate(id);
  const acceptUnsolicited = config.MEDIA_ACCEPT_UNSOLICITED;
  const claims = new StreamClaims({ redis, owner, acceptUnsolicited, onRestored, log });
  const usageReporter = new DataUsageReporter(bus, owner.podId, log);
  const profiles = new TerminalAudioProfiles({ redis, commandClient, log });
  const aacFormats = new AacFormats({ profiles, configured: parseAacFormats(config.MEDIA_AAC_FORMATS), log });
  const registry = new StreamRegistry({
    claims,
    limits: toStreamLimits(config),
    transcoders,
    findAacFormat: (imei) => aacFormats.find(imei),
    stopCamera: (id, reason) => commandCamera(deps, id, 'stop', reason),
    onEnd: (stream, reason) => {
      usageReporter.onEnded(stream);
      eventPublisher.publishEnded(stream, reason);
      if (reason !== 'takenOver') void streamSwitch.deleteViewers(stream);
    },
    log,
  });
  const streamSwitch = new StreamSwitch({ ...deps, registry, renewClaim: (id, claim) => claims.renew(id, claim) });
  const counters: IngestCounters = { connections: 0, unsolicited: 0, invalidSims: 0, droppedPending: 0 };
  return {
    registry,
    claims,
    eventPublisher,
    streamSwitch,
    profiles,
    hls: new HlsOutputs(log),
    counters,
    usageReporter,
  };
}

async function assemble(config: Config, pod: string, adminPort: number, deps: Deps): Promise<MediaService> {
  const { bus, lifecycle, log } = deps;
  const owner = { podId: pod, url: config.MEDIA_HTTP_URL ?? '' };
  const streams = createStreams(config, owner, deps);
  const { registry, hls } = streams;
  const http = await openHttp(config, deps, streams);
  owner.url ||= `http://${config.HOST}:${http.port}`;
  lifecycle.onStop('received bytes', () => streams.usageReporter.stop());
  lifecycle.onStop('streams', () => registry.stop());
  const { live, history, talk } = await openIngestPorts(config, deps, streams);
  startPeriodicTasks(config, deps, streams, [live, history, talk, registry, hls]);
  serveBus(config, pod, deps, streams);
  await bus.flush();
  lifecycle.markStarted();
  const ingestPorts = { livePort: live.port, historyPort: history.port, talkPort: talk.port };
  const ports = { httpPort: http.port, adminPort, ...ingestPorts };
  log.info({ ...ports, url: owner.url }, 'started');
  return { ...ports, stop: () => lifecycle.stop() };
}

async function openHttp(config: Config, deps: Deps, streams: Streams): Promise<{ port: number }> {
  const { transcoders, metrics, lifecycle, log } = deps;
  const { registry, counters } = streams;
  registerMediaMetrics(metrics, { registry, transcoders, ingest: counters });
  const app = createApp();
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

async function openIngestPorts(config: Config, deps: Deps, { registry, counters }: Streams) {
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

const reportTaskError =
  (log: Logger) =>
  (error: unknown): void =>
    log.error({ err: error }, 'periodic task failed');

function startPeriodicTasks(config: Config, deps: Deps, streams: Streams, timed: readonly Timed[]): void {
  const { registry, claims, eventPublisher, streamSwitch, usageReporter } = streams;
  const onError = reportTaskError(deps.log);
  for (const [name, intervalMs, task] of [
    ['timers', timerIntervalMs, () => checkTimers(timed)],
    ['stream events', timerIntervalMs, () => eventPublisher.publishChanges(registry.streams)],
    ['received bytes', config.MEDIA_USAGE_REPORT_MS, () => usageReporter.report(registry.streams)],
    ['stream types', streamTypeIntervalMs, () => streamSwitch.check()],
    ['claims', claimRenewalIntervalMs, () => registry.renewClaims()],
    ['overdue requests', staleStreamIntervalMs, () => stopTimedOutStreams(deps, claims, eventPublisher)],
    ['orphaned streams', staleStreamIntervalMs, () => endOrphanedStreams(claims, eventPublisher)],
  ] as const)
    deps.lifecycle.onStop(name, startPeriodicTask(intervalMs, task, onError));
  // After an outage the claims may expire before the next renewal, and their streams would seem to have ended.
  const renew = (): void => void registry.renewClaims().catch(onError);
  deps.redis.on('ready', renew);
  deps.lifecycle.onStop('claims after an outage', () => void deps.redis.off('ready', renew));
}

function serveBus(config: Config, pod: string, deps: Deps, { registry, eventPublisher, streamSwitch }: Streams): void {
  const { redis, bus, lifecycle, log } = deps;
  const onError = reportTaskError(log);
  const remoteChanges = subscribe(bus, streamChanged, onError, (change) => eventPublisher.onRemoteEnd(change));
  lifecycle.onStop('remote stream events', () => remoteChanges.stop());
  const controlSubscription = subscribeMediaControl(bus, pod, { registry, streamSwitch, log });
  lifecycle.onStop('media control', () => controlSubscription.stop());
  const streamQueries = serveStreamQueries(bus, pod, { registry, onError });
  lifecycle.onStop('stream queries', () => streamQueries.stop());
  const streamSwitches = serveStreamSwitches(bus, pod, { streamSwitch, onError });
  lifecycle.onStop('stream switches', () => streamSwitches.stop());
  const voiceDecoding = serveVoiceDecoding(bus, { redis, ffmpegPath: config.FFMPEG_PATH, onError });
  lifecycle.onStop('voice decoding', () => voiceDecoding.stop());
  const ping = servePing(bus, 'jt1078-media', { onError, isWorking: () => !lifecycle.isStopping && redis.isReady });
  lifecycle.onStop('ping', () => ping.stop());
}

interface Timed {
  check(nowMs: number): void;
}

function checkTimers(parts: readonly Timed[]): void {
  const nowMs = performance.now();
  for (const part of parts) part.check(nowMs);
}

const toStreamLimits = (config: Config) => ({
  idleStopMs: config.MEDIA_IDLE_STOP_MS,
  graceMs: config.MEDIA_GRACE_MS,
  dataTimeoutMs: config.MEDIA_DATA_TIMEOUT_MS,
  firstFrameWaitMs: config.MEDIA_FIRST_FRAME_WAIT_MS,
  maxCacheTags: gopCacheTags,
  maxCacheBytes: gopCacheBytes,
  hardQueueBytes: historyHardQueueBytes,
});

const getViewerLimits = (config: Config, kind: StreamKind): ViewerLimits =>
  kind === 'live'
    ? {
        dropAfterMs: config.MEDIA_LIVE_DROP_AFTER_MS,
        closeAfterMs: config.MEDIA_LIVE_CLOSE_AFTER_MS,
        maxQueueBytes: liveQueueBytes,
      }
    : { dropAfterMs: null, closeAfterMs: config.MEDIA_HISTORY_CLOSE_AFTER_MS, maxQueueBytes: historyQueueBytes };

/** Parts of the service that routes use. */
interface RouteParts {
  readonly registry: StreamRegistry;
  readonly claims: StreamClaims;
  readonly hls: HlsOutputs;
  readonly profiles: TerminalAudioProfiles;
  readonly log: Logger;
}

function createRoutes(config: Config, { registry, claims, hls, profiles, log }: RouteParts): Route[] {
  const access: StreamAccessDeps = {
    registry,
    isExpected: (id) => claims.isExpected(id),
    signingSecret: config.MEDIA_SIGNING_SECRET,
    allowUnsigned: config.MEDIA_ACCEPT_UNSOLICITED,
    corsOrigin: config.MEDIA_CORS_ORIGIN,
  };
  return [
    ...flvRoutes({ ...access, viewerLimits: (kind) => getViewerLimits(config, kind) }),
    ...mp4Routes(access),
    ...hlsRoutes({ ...access, hls }),
    talkRoute({ ...access, findVoiceCodec: async (imei) => (await profiles.find(imei))?.codec ?? null, log }),
    streamsRoute(registry),
  ];
}
