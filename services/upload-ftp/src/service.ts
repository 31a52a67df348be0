import { type Bus, DeviceAsker, ensureStreams, openBus, StoredPublisher, servePing } from '@fleet/bus';
import {
  adminRoutes,
  apiErrors,
  createApi,
  createApp,
  createLogger,
  every,
  Lifecycle,
  type Logger,
  listen,
  type Running,
  shownConfig,
  untilDone,
} from '@fleet/service-kit';
import { dialRedis, openDatabase, type Redis, readDevice, redisAnswers, UploadRecords } from '@fleet/storage';
import { type RunningAttachments, startAttachments } from './attachments/attachments.ts';
import { type Clips, openClips } from './clips/clips.ts';
import { type Config, readTls, schema } from './config.ts';
import { FtpError } from './ftp/ftp-error.ts';
import { type RunningFtp, startFtp } from './ftp/server.ts';
import { consumeUploadResults } from './handlers/upload-results.ts';
import { serveUploads } from './handlers/uploads.ts';
import { openMedia } from './media/media.ts';
import type { MediaFiles } from './media/media-files.ts';
import { type UploadMetrics, uploadMetrics } from './metrics.ts';
import type { OpenFile } from './receiving/open-upload.ts';
import { OpenUploads } from './receiving/open-uploads.ts';
import { ClipDirectory, type UploadPlace } from './store/clip-directory.ts';
import { DiskCheck } from './store/disk-check.ts';
import { openObjectStore } from './store/open-object-store.ts';
import { ownPod } from './store/own-pod.ts';
import { SweepLock } from './store/sweep-lock.ts';
import { grant } from './use-cases/grant-upload.ts';
import { logInWith } from './use-cases/log-in.ts';
import { listedBytes } from './use-cases/prove-complete.ts';
import { closeRevoked, removeFiles } from './use-cases/remove-files.ts';
import { removeOrphans } from './use-cases/remove-orphans.ts';
import { Settler } from './use-cases/settler.ts';
import { mendOwnFiles, sweep } from './use-cases/sweep.ts';
import { TurnTaker } from './use-cases/turn-taker.ts';

export interface UploadFtp extends Running {
  readonly httpPort: number;
  readonly ftpPort: number;
  readonly attachmentPort: number;
}

export interface Overrides {
  readonly log?: Logger;
  readonly openFile?: OpenFile;
}

interface Parts {
  readonly config: Config;
  readonly pod: string;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly metrics: UploadMetrics;
  readonly records: UploadRecords;
  readonly redis: Redis;
  readonly bus: Bus;
  readonly clips: ClipDirectory;
  /** What becomes of clips that are completed. */
  readonly stored: Clips;
  /** Pictures and attachments of alarms. */
  readonly media: MediaFiles;
  readonly disk: DiskCheck;
  readonly httpUrl: string;
}

/** Starts the service: health answers from the first moment; it is ready once its backends and the FTP port are there. */
export async function create(config: Config, overrides: Overrides = {}): Promise<UploadFtp> {
  const log = overrides.log ?? createLogger('upload-ftp', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  const metrics = uploadMetrics();
  log.info(shownConfig(schema, config), 'starting');
  try {
    readTls(config);
    const clips = new ClipDirectory(config.CLIPS_DIR);
    await clips.prepare();
    const pod = await takePod(config, clips, lifecycle, log);
    const disk = new DiskCheck(clips.root, config.CLIPS_MIN_FREE_BYTES);
    metrics.watch('free_bytes', () => disk.freeBytes());
    const database = openDatabase(config.MONGODB_URL, { appName: pod });
    lifecycle.onStop('database', () => database.close());
    const redis = dialRedis(config.REDIS_URL, {
      name: pod,
      onError: (error) => log.debug({ err: error }, 'Redis connection failed'),
    });
    lifecycle.onStop('redis', () => redis.destroy());
    const records = new UploadRecords(database);
    const objects = await openObjectStore(config);
    lifecycle.onStop('object storage', () => objects?.close());
    const stored = openClips({ config, directory: clips, objects, records, lifecycle, metrics: metrics.registry, log });
    const files = await openMedia({ config, pod, objects, disk, lifecycle, metrics: metrics.media, log });

    let bus: Bus | undefined;
    let ftp: RunningFtp | undefined;
    let attachments: RunningAttachments | undefined;
    const isListening = (): boolean => ftp?.isListening() === true && attachments?.isListening() === true;
    const app = createApp();
    app.use(
      adminRoutes(
        lifecycle,
        metrics.registry,
        {
          message_broker: () => bus?.isUp() ?? false,
          upload_server: async () => isListening() && (await disk.obstacle()) === null,
        },
        { database: () => database.ping(), state_store: () => redisAnswers(redis) },
      ),
    );
    app.use(createApi({ log, routes: [...stored.routes, ...files.routes], bodyLimitBytes: 1024 }), ...apiErrors(log));
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    // A download goes on where it was, elsewhere.
    lifecycle.onStop('http', () => http.close(config.FTP_STOP_GRACE_MS));
    const httpUrl = config.UPLOAD_HTTP_URL ?? `http://${config.HOST}:${http.port}`;

    const opened = await openBus(config.NATS_URL, { name: pod, log });
    bus = opened;
    lifecycle.onStop('bus', () => opened.close());
    stored.serve(opened, { pod, httpUrl, sweepMs: config.UPLOAD_SWEEP_MS });
    const media = files.serve(opened);
    const backends = { records, redis, bus: opened };
    const parts = { config, pod, lifecycle, log, metrics, ...backends, clips, stored, media, disk, httpUrl };
    ftp = await assemble(parts, overrides);
    attachments = await startAttachments({ ...parts, database, metrics: metrics.registry });
    const ports = { httpPort: http.port, ftpPort: ftp.port, attachmentPort: attachments.port };
    log.info({ ...ports, httpUrl }, 'started');
    return { ...ports, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function takePod(config: Config, clips: ClipDirectory, lifecycle: Lifecycle, log: Logger): Promise<string> {
  const pod = await ownPod(config.POD_ID, clips.root, {
    onError: (error) => log.warn({ err: error }, 'the lock of CLIPS_DIR could not be renewed'),
    onLost: () => {
      log.fatal('another pod has taken CLIPS_DIR over: this one stops');
      void lifecycle.stop();
    },
  });
  lifecycle.onStop('pod', () => pod.release());
  log.info({ podId: pod.id }, 'this pod');
  return pod.id;
}

async function assemble(parts: Parts, overrides: Overrides): Promise<RunningFtp> {
  const { config, lifecycle, log, metrics, records, clips } = parts;
  const onError = (error: unknown): void => log.warn({ err: error }, 'a task failed and is tried again');
  const settler = makeSettler(parts);
  const uploads = new OpenUploads({
    records,
    clips,
    limits: { maxBytes: config.MAX_CLIP_BYTES, maxFiles: config.MAX_CLIP_FILES },
    log,
    ...(overrides.openFile === undefined ? {} : { openFile: overrides.openFile }),
    onSaved: (record) => {
      settler.announceProgress(record);
      if (record.result !== null) settler.settle(record).catch(onError);
    },
    onBytes: (count) => metrics.bytes.inc(count),
    onTransferEnd: (error) => metrics.transfers.inc({ end: endOf(error) }),
    onSaveFailure: () => metrics.saveFailures.inc(),
  });
  metrics.watch('transfers', () => uploads.transferCount());

  startTasks(parts, settler, uploads, onError);
  const ftp = await startFtp(ftpOptions(config), {
    uploads,
    metrics,
    log,
    logIn: logInWith(records, () => serverOf(parts)),
  });
  lifecycle.onStop('ftp', () => ftp.stop());
  lifecycle.onStop('transfers', async () => {
    ftp.refuse();
    await uploads.drain(config.FTP_STOP_GRACE_MS);
  });
  // Stopped before: no upload is promised while transfers are waited for.
  serve(parts, uploads, ftp, onError);
  return ftp;
}

const serverOf = ({ pod, httpUrl }: Parts) => ({ podId: pod, httpUrl });
const endOf = (error: Error | null): string =>
  error === null ? 'whole' : error instanceof FtpError ? String(error.code) : 'other';

function makeSettler(parts: Parts): Settler {
  const { config, pod, lifecycle, log, metrics, records, redis, bus, clips } = parts;
  const publisher = new StoredPublisher(bus, { onRefused: (detail) => log.debug({ detail }, 'not stored yet') });
  lifecycle.onStop('publisher', async () => {
    await publisher.flush(2_000);
    publisher.stop();
  });
  const asker = new DeviceAsker(bus);
  lifecycle.onStop('device asker', () => asker.stop());
  return new Settler({
    records,
    bus,
    publisher,
    metrics,
    log,
    patience: {
      silenceMs: config.UPLOAD_SILENCE_MS,
      patienceMs: config.UPLOAD_PATIENCE_MS,
      pausedMs: config.UPLOAD_PAUSED_MS,
      unconfirmedMs: config.UPLOAD_UNCONFIRMED_MS,
    },
    listedBytes: (record) => listedBytes({ asker, redis, replyTimeoutMs: config.DEVICE_REPLY_TIMEOUT_MS }, record),
    removeSuperseded: async (record, paths) => {
      const place = { imei: record.clip.imei, id: record._id };
      if (record.server?.podId === pod) for (const path of paths) await clips.removeFile(place, path);
    },
  });
}

/** What is done again and again: by one replica for all, and by each for its own files. */
function startTasks(parts: Parts, settler: Settler, uploads: OpenUploads, onError: (error: unknown) => void): void {
  const { config, pod, lifecycle, log, metrics, records, redis, bus, clips, stored } = parts;
  const lock = new SweepLock(redis, pod, Math.max(10_000, config.UPLOAD_SWEEP_MS * 2));
  const sweepParts = {
    records,
    settler,
    lock,
    sweepMs: config.UPLOAD_SWEEP_MS,
    replyTimeoutMs: config.DEVICE_REPLY_TIMEOUT_MS,
    staleTransferMs: config.FTP_DATA_IDLE_MS * 3,
    isConnected: async (imei: string) => (await readDevice(redis, imei)) !== null,
    isStopping: () => lifecycle.isStopping,
    log,
  };
  const stopSweep = every(config.UPLOAD_SWEEP_MS, () => sweep(sweepParts), onError);
  lifecycle.onStop('sweep', async () => {
    await stopSweep();
    await lock.release().catch(onError);
  });
  const removals = { records, clips, uploads, remove: (place: UploadPlace) => stored.remove(place), onError };
  const orphans = new TurnTaker<UploadPlace>({
    periodMs: config.UPLOAD_ORPHANS_MS,
    takeTurn: (turn) => removeOrphans(removals, turn),
    onError,
  });
  lifecycle.onStop('orphans', () => orphans.stop());
  // Before the first camera logs in, and tried until the backends are there.
  lifecycle.onStop(
    'start',
    untilDone(async () => {
      await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
      await records.ensureIndexes();
      await mendOwnFiles({ records, settler, clips, uploads, isStopping: () => lifecycle.isStopping }, pod);
      void orphans.now();
    }, onError),
  );
  const results = consumeUploadResults(bus, { records, settler, metrics, log });
  lifecycle.onStop('upload results', () => results.stop());
}

function serve(parts: Parts, uploads: OpenUploads, ftp: RunningFtp, onError: (error: unknown) => void): void {
  const { config, pod, lifecycle, records, bus, stored, disk } = parts;
  const onCompleted = (place: UploadPlace): Promise<void> => stored.keep(place);
  const removals = { records, uploads, remove: (place: UploadPlace) => stored.remove(place), onCompleted };
  const handlers = serveUploads(bus, pod, {
    grant: (uploadId) =>
      grant(
        {
          records,
          server: () => serverOf(parts),
          address: () => ({ host: config.FTP_PUBLIC_HOST, port: config.FTP_PUBLIC_PORT ?? ftp.port }),
          credentialMs: config.UPLOAD_CREDENTIAL_MS,
          obstacle: () => disk.obstacle(),
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
    isWorking: async () => !lifecycle.isStopping && ftp.isListening() && (await disk.obstacle()) === null,
  });
  lifecycle.onStop('ping', () => ping.stop());
}

const ftpOptions = (config: Config) => ({
  host: config.HOST,
  port: config.FTP_PORT,
  publicHost: config.FTP_PUBLIC_HOST,
  passivePorts: { min: config.FTP_PASV_MIN, max: config.FTP_PASV_MAX },
  maxConnections: config.FTP_MAX_CONNECTIONS,
  tls: readTls(config),
  limits: {
    loginLimitMs: config.FTP_LOGIN_LIMIT_MS,
    controlIdleMs: config.FTP_CONTROL_IDLE_MS,
    dataIdleMs: config.FTP_DATA_IDLE_MS,
    dataConnectMs: config.FTP_DATA_CONNECT_MS,
    lostControlGraceMs: config.FTP_LOST_CONTROL_GRACE_MS,
    isTlsRequired: config.FTP_TLS_REQUIRED,
  },
});
