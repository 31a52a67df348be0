import {
  type Bus,
  DeviceCommandClient,
  ensureStreams,
  JetStreamPublisher,
  servePing,
  toStreamOptions,
} from '@fleet/bus';
import {
  type Lifecycle,
  type Logger,
  parseProxyNetworks,
  retryUntilSuccess,
  runPeriodically,
} from '@fleet/service-kit';
import { type Redis, readDevice, type UploadRepository } from '@fleet/storage';
import type { Clips } from './clips/clips.ts';
import { type Config, readTls } from './config.ts';
import { FtpError } from './ftp/ftp-error.ts';
import { type RunningFtp, startFtp } from './ftp/ftp-server.ts';
import { consumeUploadResults } from './handlers/upload-results.ts';
import { serveUploads } from './handlers/uploads.ts';
import type { MediaFiles } from './media/media-files.ts';
import type { UploadMetrics } from './metrics.ts';
import type { ClipDirectory, UploadRef } from './store/clip-directory.ts';
import type { DiskHealth } from './store/disk-health.ts';
import { SweepLease } from './store/sweep-lease.ts';
import type { OpenFile } from './uploads/active-upload.ts';
import { ActiveUploads } from './uploads/active-uploads.ts';
import { createCameraAuthenticator } from './use-cases/authenticate-camera.ts';
import { ExpectedSizes } from './use-cases/expected-sizes.ts';
import { grantUpload } from './use-cases/grant-upload.ts';
import { closeRevoked, removeFiles } from './use-cases/remove-files.ts';
import { removeOrphans } from './use-cases/remove-orphans.ts';
import { ResumableJob } from './use-cases/resumable-job.ts';
import { recoverInterruptedFiles, sweep } from './use-cases/sweep.ts';
import { UploadFinalizer } from './use-cases/upload-finalizer.ts';
import { estimateClipBytes, queryListedBytes, type VerifyUploadDeps } from './use-cases/verify-upload.ts';

/** Settings, backends and stores of a running pod. */
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
 * Starts the parts that receive clips: the finalizer, the periodic tasks, the FTP server and the bus requests. They stop
 * in reverse order: first no upload is granted any more, then transfers are drained.
 */
export async function assemble(deps: Deps, openFile?: OpenFile): Promise<RunningFtp> {
  const { config, lifecycle, log, metrics, records, redis, bus, clips } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'task failed, retrying');
  const commandClient = new DeviceCommandClient(bus);
  const cameras = { commandClient, redis, replyTimeoutMs: config.DEVICE_REPLY_TIMEOUT_MS };
  const finalizer = createFinalizer(deps, cameras);
  lifecycle.onStop('command client', () => commandClient.stop());
  const expectedSizes = new ExpectedSizes({
    records,
    estimateBytes: (record) => estimateClipBytes(cameras, record),
    log,
  });
  const uploads = new ActiveUploads({
    records,
    clips,
    limits: { maxBytes: config.MAX_CLIP_BYTES, maxFiles: config.MAX_CLIP_FILES },
    log,
    ...(openFile === undefined ? {} : { openFile }),
    onSaved: (record) => {
      finalizer.publishProgress(record);
      void expectedSizes.onProgress(record);
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

function createFinalizer(deps: Deps, cameras: VerifyUploadDeps): UploadFinalizer {
  const { config, pod, lifecycle, log, metrics, records, bus, clips } = deps;
  const publisher = new JetStreamPublisher(bus, {
    onRejected: (detail) => log.debug({ detail }, 'event not stored yet'),
  });
  lifecycle.onStop('publisher', async () => {
    await publisher.flush(2_000);
    publisher.stop();
  });
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
    queryListedBytes: (record) => queryListedBytes(cameras, record),
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
      await ensureStreams(await bus.jetstreamManager(), toStreamOptions(config));
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

/** Serves the requests of other services about uploads. */
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
  proxyNetworks: parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS),
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
