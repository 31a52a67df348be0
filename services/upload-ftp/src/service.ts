import { type Bus, DeviceCommandClient, ensureStreams, JetStreamPublisher, openBus, servePing } from '@fleet/bus';
import {
  createAdminRouter,
  createApi,
  createApp,
  createErrorHandlers,
  createLogger,
  Lifecycle,
  type Logger,
  listen,
  type Running,
  redactConfig,
  retryUntilSuccess,
  runPeriodically,
} from '@fleet/service-kit';
import { createRedisClient, openDatabase, pingRedis, type Redis, readDevice, UploadRepository } from '@fleet/storage';
import { type RunningAttachments, startAttachments } from './attachments/attachments.ts';
import { type Clips, openClips } from './clips/clips.ts';
import { type Config, readTls, schema } from './config.ts';
import { FtpError } from './ftp/ftp-error.ts';
import { type RunningFtp, startFtp } from './ftp/ftp-server.ts';
import { consumeUploadResults } from './handlers/upload-results.ts';
import { serveUploads } from './handlers/uploads.ts';
import { openMedia } from './media/media.ts';
import type { MediaFiles } from './media/media-files.ts';
import { createUploadMetrics, type UploadMetrics } from './metrics.ts';
import { ClipDirectory, type UploadRef } from './store/clip-directory.ts';
import { DiskHealth } from './store/disk-health.ts';
import { openObjectStore } from './store/open-object-store.ts';
import { resolvePodIdentity } from './store/pod-identity.ts';
import { SweepLease } from './store/sweep-lease.ts';
import type { OpenFile } from './uploads/active-upload.ts';
import { ActiveUploads } from './uploads/active-uploads.ts';
import { createCameraAuthenticator } from './use-cases/authenticate-camera.ts';
import { grantUpload } from './use-cases/grant-upload.ts';
import { closeRevoked, removeFiles } from './use-cases/remove-files.ts';
import { removeOrphans } from './use-cases/remove-orphans.ts';
import { ResumableJob } from './use-cases/resumable-job.ts';
import { recoverInterruptedFiles, sweep } from './use-cases/sweep.ts';
import { UploadFinalizer } from './use-cases/upload-finalizer.ts';
import { queryListedBytes } from './use-cases/verify-upload.ts';

export interface UploadService extends Running {
  readonly httpPort: number;
  readonly ftpPort: number;
  readonly attachmentPort: number;
}

export interface Overrides {
  readonly log?: Logger;
  readonly openFile?: OpenFile;
}

interface Deps {
  readonly config: Config;
  readonly pod: string;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly metrics: UploadMetrics;
  readonly records: UploadRepository;
  readonly redis: Redis;
  readonly bus: Bus;
  readonly clips: ClipDirectory;
  /** Storage of completed clips. */
  readonly completedClips: Clips;
  /** Pictures and attachments of alarms. */
  readonly media: MediaFiles;
  readonly disk: DiskHealth;
  readonly httpUrl: string;
}

/**
 * Starts the service. Health endpoints respond from the beginning; the service is ready once its backends and the FTP
 * port are available.
 */
export async function create(config: Config, overrides: Overrides = {}): Promise<UploadService> {
  const log = overrides.log ?? createLogger('upload-ftp', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  const metrics = createUploadMetrics();
  log.info(redactConfig(schema, config), 'starting');
  try {
    readTls(config);
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
      lifecycle,
      metrics: metrics.registry,
      log,
    });
    const mediaRoutes = await openMedia({ config, pod, objects, disk, lifecycle, metrics: metrics.media, log });

    let bus: Bus | undefined;
    let ftp: RunningFtp | undefined;
    let attachments: RunningAttachments | undefined;
    const isListening = (): boolean => ftp?.isListening() === true && attachments?.isListening() === true;
    const app = createApp();
    app.use(
      createAdminRouter(
        lifecycle,
        metrics.registry,
        {
          message_broker: () => bus?.isUp() ?? false,
          upload_server: async () => isListening() && (await disk.findError()) === null,
        },
        { database: () => database.ping(), state_store: () => pingRedis(redis) },
      ),
    );
    app.use(
      createApi({ log, routes: [...completedClips.routes, ...mediaRoutes.routes], bodyLimitBytes: 1024 }),
      ...createErrorHandlers(log),
    );
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    // An interrupted download can be resumed from another pod.
    lifecycle.onStop('http', () => http.close(config.FTP_STOP_GRACE_MS));
    const httpUrl = config.UPLOAD_HTTP_URL ?? `http://${config.HOST}:${http.port}`;

    const connectedBus = await openBus(config.NATS_URL, { name: pod, log });
    bus = connectedBus;
    lifecycle.onStop('bus', () => connectedBus.close());
    completedClips.serve(connectedBus, { pod, httpUrl, sweepIntervalMs: config.UPLOAD_SWEEP_MS });
    const media = mediaRoutes.serve(connectedBus);
    const backends = { records, redis, bus: connectedBus };
    const deps = { config, pod, lifecycle, log, metrics, ...backends, clips, completedClips, media, disk, httpUrl };
    ftp = await assemble(deps, overrides);
    attachments = await startAttachments({ ...deps, database, metrics: metrics.registry });
    const ports = { httpPort: http.port, ftpPort: ftp.port, attachmentPort: attachments.port };
    await connectedBus.flush();
    log.info({ ...ports, httpUrl }, 'started');
    return { ...ports, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
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
  log.info({ podId: pod.id }, 'this pod');
  return pod.id;
}

async function assemble(deps: Deps, overrides: Overrides): Promise<RunningFtp> {
  const { config, lifecycle, log, metrics, records, clips } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'task failed, retrying');
  const finalizer = createFinalizer(deps);
  const uploads = new ActiveUploads({
    records,
    clips,
    limits: { maxBytes: config.MAX_CLIP_BYTES, maxFiles: config.MAX_CLIP_FILES },
    log,
    ...(overrides.openFile === undefined ? {} : { openFile: overrides.openFile }),
    onSaved: (record) => {
      finalizer.publishProgress(record);
      if (record.result !== null) finalizer.finalize(record).catch(onError);
    },
    onBytes: (count) => metrics.bytes.inc(count),
    onTransferEnd: (error) => metrics.transfers.inc({ end: toTransferEnd(error) }),
    onSaveFailure: () => metrics.saveFailures.inc(),
  });
  metrics.observe('transfers', () => uploads.transferCount());

  startTasks(deps, finalizer, uploads, onError);
  const ftp = await startFtp(toFtpOptions(config), {
    uploads,
    metrics,
    log,
    authenticate: createCameraAuthenticator(records, () => toServer(deps)),
  });
  lifecycle.onStop('ftp', () => ftp.stop());
  lifecycle.onStop('transfers', async () => {
    ftp.stopAccepting();
    await uploads.drain(config.FTP_STOP_GRACE_MS);
  });
  // Registered last and so stopped first: no upload is granted while transfers are drained.
  serve(deps, uploads, ftp, onError);
  return ftp;
}

const toServer = ({ pod, httpUrl }: Deps) => ({ podId: pod, httpUrl });
const toTransferEnd = (error: Error | null): string =>
  error === null ? 'whole' : error instanceof FtpError ? String(error.code) : 'other';

function createFinalizer(deps: Deps): UploadFinalizer {
  const { config, pod, lifecycle, log, metrics, records, redis, bus, clips } = deps;
  const publisher = new JetStreamPublisher(bus, {
    onRejected: (detail) => log.debug({ detail }, 'event not stored yet'),
  });
  lifecycle.onStop('publisher', async () => {
    await publisher.flush(2_000);
    publisher.stop();
  });
  const commandClient = new DeviceCommandClient(bus);
  lifecycle.onStop('command client', () => commandClient.stop());
  return new UploadFinalizer({
    records,
    bus,
    publisher,
    metrics,
    log,
    timeouts: {
      silenceTimeoutMs: config.UPLOAD_SILENCE_MS,
      firstByteTimeoutMs: config.UPLOAD_TIMEOUT_MS,
      pausedTimeoutMs: config.UPLOAD_PAUSED_MS,
      confirmationTimeoutMs: config.UPLOAD_UNCONFIRMED_MS,
    },
    queryListedBytes: (record) =>
      queryListedBytes({ commandClient, redis, replyTimeoutMs: config.DEVICE_REPLY_TIMEOUT_MS }, record),
    removeSuperseded: async (record, paths) => {
      const ref = { imei: record.clip.imei, id: record._id };
      if (record.server?.podId === pod) for (const path of paths) await clips.removeFile(ref, path);
    },
  });
}

/** Starts the periodic tasks: those that one replica runs for all, and those for this pod's own files. */
function startTasks(
  deps: Deps,
  finalizer: UploadFinalizer,
  uploads: ActiveUploads,
  onError: (error: unknown) => void,
): void {
  const { config, pod, lifecycle, log, metrics, records, redis, bus, clips, completedClips } = deps;
  const lease = new SweepLease(redis, pod, Math.max(10_000, config.UPLOAD_SWEEP_MS * 2));
  const sweepDeps = {
    records,
    finalizer,
    lease,
    sweepIntervalMs: config.UPLOAD_SWEEP_MS,
    replyTimeoutMs: config.DEVICE_REPLY_TIMEOUT_MS,
    staleTransferMs: config.FTP_DATA_IDLE_MS * 3,
    isConnected: async (imei: string) => (await readDevice(redis, imei)) !== null,
    isStopping: () => lifecycle.isStopping,
    log,
  };
  const stopSweep = runPeriodically(config.UPLOAD_SWEEP_MS, () => sweep(sweepDeps), onError);
  lifecycle.onStop('sweep', async () => {
    await stopSweep();
    await lease.release().catch(onError);
  });
  const removals = { records, clips, uploads, remove: (ref: UploadRef) => completedClips.remove(ref), onError };
  const orphanJob = new ResumableJob<UploadRef>({
    periodMs: config.UPLOAD_ORPHANS_MS,
    runSlice: (slice) => removeOrphans(removals, slice),
    onError,
  });
  lifecycle.onStop('orphans', () => orphanJob.stop());
  // Runs before the first camera logs in, and is retried until the backends are available.
  lifecycle.onStop(
    'start',
    retryUntilSuccess(async () => {
      await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
      await records.ensureIndexes();
      await recoverInterruptedFiles(
        { records, finalizer, clips, uploads, isStopping: () => lifecycle.isStopping },
        pod,
      );
      void orphanJob.runNow();
    }, onError).stop,
  );
  const results = consumeUploadResults(bus, { records, finalizer, metrics, log });
  lifecycle.onStop('upload results', () => results.stop());
}

function serve(deps: Deps, uploads: ActiveUploads, ftp: RunningFtp, onError: (error: unknown) => void): void {
  const { config, pod, lifecycle, records, bus, completedClips, disk } = deps;
  const onCompleted = (ref: UploadRef): Promise<void> => completedClips.archive(ref);
  const removals = { records, uploads, remove: (ref: UploadRef) => completedClips.remove(ref), onCompleted };
  const handlers = serveUploads(bus, pod, {
    grantUpload: (uploadId) =>
      grantUpload(
        {
          records,
          server: () => toServer(deps),
          address: () => ({ host: config.FTP_PUBLIC_HOST, port: config.FTP_PUBLIC_PORT ?? ftp.port }),
          credentialTtlMs: config.UPLOAD_CREDENTIAL_MS,
          findStorageError: () => disk.findError(),
        },
        uploadId,
      ),
    removeFiles: (uploadId) => removeFiles(removals, uploadId),
    closeRevoked: (uploadId) => closeRevoked(removals, uploadId),
    onError,
  });
  lifecycle.onStop('bus requests', () => handlers.stop());
  const ping = servePing(bus, 'upload-ftp', {
    onError,
    isWorking: async () => !lifecycle.isStopping && ftp.isListening() && (await disk.findError()) === null,
  });
  lifecycle.onStop('ping', () => ping.stop());
}

const toFtpOptions = (config: Config) => ({
  host: config.HOST,
  port: config.FTP_PORT,
  publicHost: config.FTP_PUBLIC_HOST,
  passivePorts: { min: config.FTP_PASV_MIN, max: config.FTP_PASV_MAX },
  maxConnections: config.FTP_MAX_CONNECTIONS,
  tls: readTls(config),
  limits: {
    loginTimeoutMs: config.FTP_LOGIN_TIMEOUT_MS,
    controlIdleTimeoutMs: config.FTP_CONTROL_IDLE_MS,
    dataIdleTimeoutMs: config.FTP_DATA_IDLE_MS,
    dataConnectTimeoutMs: config.FTP_DATA_CONNECT_MS,
    lostControlGraceMs: config.FTP_LOST_CONTROL_GRACE_MS,
    isTlsRequired: config.FTP_TLS_REQUIRED,
  },
});
