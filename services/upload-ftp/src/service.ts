import { join } from 'node:path';
import { type Bus, openBus } from '@fleet/bus';
import {
  createApi,
  createApp,
  createErrorHandlers,
  createLogger,
  Lifecycle,
  type Logger,
  listen,
  type Route,
  type Running,
  redactConfig,
  startAdminServer,
} from '@fleet/service-kit';
import {
  createRedisClient,
  type Database,
  Mp4JobRepository,
  openDatabase,
  pingRedis,
  type Redis,
  UploadRepository,
} from '@fleet/storage';
import { assemble } from './assemble.ts';
import { type RunningAttachments, startAttachments } from './attachments/attachments.ts';
import { anyPod } from './clips/clip-archiver.ts';
import { type Clips, openClips } from './clips/clips.ts';
import { type Config, readTls, schema } from './config.ts';
import type { RunningFtp } from './ftp/ftp-server.ts';
import { type Media, openMedia } from './media/media.ts';
import type { MediaFiles } from './media/media-files.ts';
import { createUploadMetrics, type UploadMetrics } from './metrics.ts';
import { Previews } from './previews/previews.ts';
import { servePreviews } from './previews/serve-previews.ts';
import { serveRecordings } from './recordings/serve-recordings.ts';
import { ClipDirectory } from './store/clip-directory.ts';
import { DiskHealth } from './store/disk-health.ts';
import type { ObjectStore } from './store/object-store.ts';
import { openObjectStore } from './store/open-object-store.ts';
import { resolvePodIdentity } from './store/pod-identity.ts';
import type { OpenFile } from './uploads/active-upload.ts';

export interface UploadService extends Running {
  readonly httpPort: number;
  readonly adminPort: number;
  readonly ftpPort: number;
  readonly attachmentPort: number;
}

export interface Overrides {
  readonly log?: Logger;
  readonly openFile?: OpenFile;
}

interface Context {
  readonly config: Config;
  readonly lifecycle: Lifecycle;
  readonly metrics: UploadMetrics;
  readonly log: Logger;
}

/** Opened storage of a pod. */
interface Stores {
  readonly pod: string;
  readonly clips: ClipDirectory;
  readonly disk: DiskHealth;
  readonly database: Database;
  readonly redis: Redis;
  readonly records: UploadRepository;
  readonly completedClips: Clips;
  readonly openedMedia: Media;
  /** Null if files stay in the directory. */
  readonly objects: ObjectStore | null;
}

/** Checks of `/readyz` that depend on parts that start after the admin port. */
interface Readiness {
  readonly stores: () => Stores | undefined;
  readonly isBusUp: () => boolean;
  readonly isListening: () => boolean;
}

/**
 * Starts the service. Health endpoints respond from the beginning; the service is ready once its backends and the FTP
 * port are available.
 */
export async function create(config: Config, overrides: Overrides = {}): Promise<UploadService> {
  const log = overrides.log ?? createLogger('upload-ftp', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  const context = { config, lifecycle, metrics: createUploadMetrics(), log };
  log.info(redactConfig(schema, config), 'starting');
  try {
    readTls(config);
    let stores: Stores | undefined;
    let bus: Bus | undefined;
    let ftp: RunningFtp | undefined;
    let attachments: RunningAttachments | undefined;
    const adminPort = await openAdminPort(context, {
      stores: () => stores,
      isBusUp: () => bus?.isUp() ?? false,
      isListening: () => ftp?.isListening() === true && attachments?.isListening() === true,
    });
    stores = await openStores(context);
    const httpPort = await startHttp(context, stores);
    const httpUrl = config.UPLOAD_HTTP_URL ?? `http://${config.HOST}:${httpPort}`;
    const connectedBus = await openBus(config.NATS_URL, { name: stores.pod, log });
    bus = connectedBus;
    lifecycle.onStop('bus', () => connectedBus.close());
    const { pod, completedClips, openedMedia } = stores;
    completedClips.serve(connectedBus, { pod, httpUrl, sweepIntervalMs: config.UPLOAD_SWEEP_MS });
    const media = openedMedia.serve(connectedBus);
    const deps = { ...context, ...stores, bus: connectedBus, media, httpUrl };
    serveFfmpegRequests(deps);
    ftp = await assemble(deps, overrides.openFile);
    attachments = await startAttachments({ ...deps, metrics: context.metrics.registry });
    lifecycle.markStarted();
    const ports = { httpPort, adminPort, ftpPort: ftp.port, attachmentPort: attachments.port };
    await connectedBus.flush();
    log.info({ ...ports, httpUrl }, 'started');
    return { ...ports, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

/** Serves recordings of live video, and thumbnails. */
function serveFfmpegRequests(deps: Context & Stores & { readonly bus: Bus; readonly media: MediaFiles }): void {
  const { bus, clips, completedClips, config, lifecycle, log, media, objects, pod, records } = deps;
  const ffmpegPath = config.FFMPEG_PATH;
  const recordingDeps = { ...deps, ffmpegPath, signingSecret: config.MEDIA_SIGNING_SECRET };
  const recordings = serveRecordings(bus, recordingDeps, config.LIVE_RECORDINGS_PARALLEL);
  lifecycle.onStop('recordings', () => recordings.stop());
  const previews = new Previews({
    media,
    records,
    findStorage: (upload) => completedClips.findStorage(upload),
    // Shared with the conversions to MP4, whose task removes what a crash has left.
    workDir: join(clips.root, '.mp4'),
    ffmpegPath,
    maxParallel: config.THUMBNAILS_PARALLEL,
  });
  const servers = servePreviews(bus, objects === null ? [pod] : [pod, anyPod], previews, log);
  lifecycle.onStop('previews', () => servers.stop());
}

/** Locks the directory of this pod and opens database, Redis and object storage. */
async function openStores({ config, lifecycle, metrics, log }: Context): Promise<Stores> {
  const clips = new ClipDirectory(config.CLIPS_DIR);
  await clips.prepare();
  const pod = await lockPod(config, clips, lifecycle, log);
  const disk = new DiskHealth(clips.root, config.CLIPS_MIN_FREE_BYTES);
  metrics.observe('free_bytes', () => disk.freeBytes());
  const database = openDatabase(config.MONGODB_URL, { appName: pod });
  lifecycle.onStop('database', () => database.close());
  const redis = createRedisClient(config.REDIS_URL, {
    name: pod,
    onError: (error) => log.debug({ err: error }, 'Redis connection failed'),
  });
  lifecycle.onStop('redis', () => redis.destroy());
  const records = new UploadRepository(database);
  const objects = await openObjectStore(config);
  lifecycle.onStop('object storage', () => objects?.close());
  const completedClips = openClips({
    config,
    directory: clips,
    objects,
    records,
    mp4Jobs: new Mp4JobRepository(database),
    lifecycle,
    metrics: metrics.registry,
    log,
  });
  const openedMedia = await openMedia({ config, pod, objects, disk, lifecycle, metrics: metrics.media, log });
  return { pod, clips, disk, database, redis, records, completedClips, openedMedia, objects };
}

const openAdminPort = (
  { config, lifecycle, metrics, log }: Context,
  { stores, isBusUp, isListening }: Readiness,
): Promise<number> =>
  startAdminServer({
    config,
    lifecycle,
    log,
    metrics: metrics.registry,
    checks: {
      message_broker: isBusUp,
      upload_server: async () => isListening() && (await stores()?.disk.findError()) === null,
    },
    backends: {
      database: async () => (await stores()?.database.ping()) ?? false,
      state_store: async () => {
        const redis = stores()?.redis;
        return redis !== undefined && pingRedis(redis);
      },
    },
  });

/** Serves downloads. Returns the port. */
async function startHttp(
  { config, lifecycle, metrics, log }: Context,
  { completedClips, openedMedia }: Stores,
): Promise<number> {
  const routes: readonly Route[] = [...completedClips.routes, ...openedMedia.routes];
  const app = createApp({ metrics: metrics.registry });
  app.use(createApi({ log, routes, bodyLimitBytes: 1024 }), ...createErrorHandlers(log));
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
  // An interrupted download can be resumed from another pod.
  lifecycle.onStop('http', () => http.close(config.FTP_STOP_GRACE_MS));
  return http.port;
}

async function lockPod(config: Config, clips: ClipDirectory, lifecycle: Lifecycle, log: Logger): Promise<string> {
  const pod = await resolvePodIdentity(config.POD_ID, clips.root, {
    onError: (error) => log.warn({ err: error }, 'could not renew the lock of CLIPS_DIR'),
    onLost: () => {
      log.fatal('another pod has taken over CLIPS_DIR, stopping');
      void lifecycle.stop();
    },
  });
  lifecycle.onStop('pod', () => pod.release());
  log.info({ podId: pod.id }, 'locked CLIPS_DIR');
  return pod.id;
}
