import { type Bus, DeviceAsker, listenFor, openBus, servePing, streamChanged } from '@fleet/bus';
import {
  adminRoutes,
  apiErrors,
  createApi,
  createApp,
  createLogger,
  Lifecycle,
  type Logger,
  listen,
  podId,
  type Running,
  shownConfig,
} from '@fleet/service-kit';
import { openRedis, type Redis, redisAnswers, type StreamId, type StreamKind } from '@fleet/storage';
import { type Config, schema } from './config.ts';
import { StreamRegistry } from './domain/stream-registry.ts';
import type { ViewerLimits } from './domain/viewer.ts';
import { listenForMediaControl } from './handlers/media-control.ts';
import { serveMediaStream } from './handlers/media-stream.ts';
import type { IngestCounters } from './ingest/camera-connection.ts';
import { openIngest } from './ingest/ingest-port.ts';
import { mediaMetrics } from './metrics.ts';
import { streamRoutes } from './routes/stream-flv.ts';
import { streamsRoute } from './routes/streams.ts';
import { StreamClaims } from './store/stream-claims.ts';
import { every } from './ticker.ts';
import { Transcoders } from './transcode/transcoders.ts';
import { AacFormats, parseAacFormats } from './use-cases/aac-formats.ts';
import { commandCamera } from './use-cases/command-camera.ts';
import { endOverdueStreams, endVoidStreams } from './use-cases/end-overdue-streams.ts';
import { StreamTeller } from './use-cases/tell-streams.ts';

/** A running media service and the ports it listens on. */
export interface MediaService extends Running {
  readonly httpPort: number;
  readonly livePort: number;
  readonly historyPort: number;
}

const CACHE_BYTES = 4 * 1024 * 1024;
const CACHE_TAGS = 4096;
/** Above the cached group of pictures, which a new viewer gets at once. */
const LIVE_QUEUE_BYTES = 6 * 1024 * 1024;
const HISTORY_QUEUE_BYTES = 2 * 1024 * 1024;
const HISTORY_HARD_QUEUE_BYTES = 16 * 1024 * 1024;

const TICK_MS = 250;
const KEEP_CLAIMS_EVERY_MS = 3_000;
const SWEEP_EVERY_MS = 1_500;

/** Starts the service: backends, ports, timers; stops in reverse order. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<MediaService> {
  const log = overrides.log ?? createLogger('jt1078-media', config.LOG_LEVEL);
  const pod = podId(config.POD_ID);
  const lifecycle = new Lifecycle(log);
  log.info({ ...shownConfig(schema, config), podId: pod }, 'starting');
  try {
    const transcoders = new Transcoders({ ffmpegPath: config.FFMPEG_PATH, max: config.MEDIA_MAX_TRANSCODERS, log });
    const [backends] = await Promise.all([openBackends(config, pod, lifecycle, log), transcoders.probe()]);
    lifecycle.onStop('transcoders', () => transcoders.stop());
    return await assemble(config, pod, { ...backends, transcoders, lifecycle, log });
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

interface Parts {
  readonly redis: Redis;
  readonly bus: Bus;
  readonly asker: DeviceAsker;
  readonly transcoders: Transcoders;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
}

async function openBackends(config: Config, pod: string, lifecycle: Lifecycle, log: Logger) {
  const bus = await openBus(config.NATS_URL, { name: pod, log });
  lifecycle.onStop('bus', () => bus.close());
  const redis = await openRedis(config.REDIS_URL, {
    name: pod,
    onError: (error) => log.debug({ err: error }, 'Redis connection failed'),
  });
  lifecycle.onStop('redis', () => redis.destroy());
  const asker = new DeviceAsker(bus);
  lifecycle.onStop('device asker', () => asker.stop());
  return { bus, redis, asker };
}

async function assemble(config: Config, pod: string, parts: Parts): Promise<MediaService> {
  const { redis, bus, asker, transcoders, lifecycle, log } = parts;
  const owner = { podId: pod, url: config.MEDIA_HTTP_URL ?? '' };
  const teller = new StreamTeller(bus);
  const onRestored = (id: StreamId): void => teller.forget(id);
  const acceptUnsolicited = config.MEDIA_ACCEPT_UNSOLICITED;
  const claims = new StreamClaims({ redis, owner, acceptUnsolicited, onRestored, log });
  const aacFormats = new AacFormats({ redis, asker, configured: parseAacFormats(config.MEDIA_AAC_FORMATS), log });
  const registry = new StreamRegistry({
    claims,
    limits: streamLimits(config),
    transcoders,
    findAacFormat: (imei) => aacFormats.find(imei),
    stopCamera: (id, reason) => commandCamera(parts, id, 'stop', reason),
    onEnd: (stream, reason) => teller.ended(stream, reason),
    log,
  });
  const counters: IngestCounters = { connections: 0, unsolicited: 0, badSims: 0, droppedPending: 0 };

  const app = createApp();
  const api = createApi({ log, bodyLimitBytes: 1024, routes: routesOf(config, registry, claims) });
  app.use(
    adminRoutes(
      lifecycle,
      mediaMetrics({ registry, transcoders, ingest: counters }),
      { message_broker: () => bus.isUp() },
      { state_store: () => redisAnswers(redis) },
    ),
  );
  app.use(api, ...apiErrors(log));
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
  lifecycle.onStop('http', () => {
    // Whoever still takes the end of a stream has had its time.
    http.server.closeAllConnections();
    return http.close();
  });
  owner.url ||= `http://${config.HOST}:${http.port}`;
  lifecycle.onStop('streams', () => registry.stop());

  const ingest = (kind: StreamKind, port: number) =>
    openIngest({
      kind,
      host: config.HOST,
      port,
      admission: registry,
      counters,
      silentLimitMs: config.MEDIA_SILENT_LIMIT_MS,
      onHold: (id, isHeld) => void commandCamera(parts, id, isHeld ? 'pause' : 'play', 'viewers take no more'),
      log,
    });
  const live = await ingest('live', config.MEDIA_LIVE_PORT);
  lifecycle.onStop('live ingest', () => live.stop());
  const history = await ingest('history', config.MEDIA_HISTORY_PORT);
  lifecycle.onStop('history ingest', () => history.stop());

  const onError = (error: unknown): void => log.error({ err: error }, 'a regular task failed');
  for (const [name, periodMs, task] of [
    ['timers', TICK_MS, () => tick(registry, [live, history])],
    ['streams told', TICK_MS, () => teller.tell(registry.streams)],
    ['claims', KEEP_CLAIMS_EVERY_MS, () => registry.keepClaims()],
    ['overdue requests', SWEEP_EVERY_MS, () => endOverdueStreams(parts, claims, teller)],
    ['claims of pods that died', SWEEP_EVERY_MS, () => endVoidStreams(claims, teller)],
  ] as const)
    lifecycle.onStop(name, every(periodMs, task, onError));
  const others = listenFor(bus, streamChanged, onError, (change) => teller.heard(change));
  lifecycle.onStop('streams of others', () => others.stop());
  const control = listenForMediaControl(bus, pod, { registry, log });
  lifecycle.onStop('media control', () => control.stop());
  const lookups = serveMediaStream(bus, pod, { registry, onError });
  lifecycle.onStop('stream look-ups', () => lookups.stop());
  const ping = servePing(bus, 'jt1078-media', { onError, isWorking: () => !lifecycle.isStopping && redis.isReady });
  lifecycle.onStop('ping', () => ping.stop());
  log.info({ httpPort: http.port, livePort: live.port, historyPort: history.port, url: owner.url }, 'started');
  return { httpPort: http.port, livePort: live.port, historyPort: history.port, stop: () => lifecycle.stop() };
}

function tick(registry: StreamRegistry, ports: readonly { check(nowMs: number): void }[]): void {
  const nowMs = performance.now();
  for (const port of ports) port.check(nowMs);
  registry.check(nowMs);
}

const streamLimits = (config: Config) => ({
  idleStopMs: config.MEDIA_IDLE_STOP_MS,
  graceMs: config.MEDIA_GRACE_MS,
  dataTimeoutMs: config.MEDIA_DATA_TIMEOUT_MS,
  firstFrameWaitMs: config.MEDIA_FIRST_FRAME_WAIT_MS,
  cacheTags: CACHE_TAGS,
  cacheBytes: CACHE_BYTES,
  hardQueueBytes: HISTORY_HARD_QUEUE_BYTES,
});

const routesOf = (config: Config, registry: StreamRegistry, claims: StreamClaims) => [
  ...streamRoutes({
    registry,
    isExpected: (id) => claims.isExpected(id),
    viewerLimits: (kind): ViewerLimits =>
      kind === 'live'
        ? {
            dropAfterMs: config.MEDIA_LIVE_DROP_AFTER_MS,
            closeAfterMs: config.MEDIA_LIVE_CLOSE_AFTER_MS,
            maxQueueBytes: LIVE_QUEUE_BYTES,
          }
        : { dropAfterMs: null, closeAfterMs: config.MEDIA_HISTORY_CLOSE_AFTER_MS, maxQueueBytes: HISTORY_QUEUE_BYTES },
    signingSecret: config.MEDIA_SIGNING_SECRET,
    allowsUnsigned: config.MEDIA_ACCEPT_UNSOLICITED,
    corsOrigin: config.MEDIA_CORS_ORIGIN,
  }),
  streamsRoute(registry),
];
