import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  type Bus,
  locateClip,
  mp4Changed,
  mp4Requested,
  mp4Subject,
  publish,
  removeUploadFiles,
  serveUseCase,
  subscribe,
} from '@fleet/bus';
import {
  type ConfigOf,
  Gauge,
  type Lifecycle,
  type Logger,
  type Registry,
  type Route,
  retryUntilSuccess,
  runPeriodically,
} from '@fleet/service-kit';
import type { Mp4JobRepository, UploadRecord, UploadRepository } from '@fleet/storage';
import { clipRoute } from '../routes/clips.ts';
import type { ClipDirectory, UploadRef } from '../store/clip-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { ResumableJob } from '../use-cases/resumable-job.ts';
import { anyPod, ClipArchiver } from './clip-archiver.ts';
import type { ClipStorage } from './clip-storage.ts';
import { DirectoryStorage } from './directory-storage.ts';
import { Mp4Converter } from './mp4-converter.ts';
import { Mp4Jobs } from './mp4-jobs.ts';
import { S3Storage } from './s3-storage.ts';
import type { clipSettings } from './settings.ts';

type Settings = ConfigOf<typeof clipSettings>;

interface ClipsDeps {
  readonly config: Settings;
  readonly directory: ClipDirectory;
  /** Null if clips stay in the directory. */
  readonly objects: ObjectStore | null;
  readonly records: UploadRepository;
  readonly mp4Jobs: Mp4JobRepository;
  readonly lifecycle: Lifecycle;
  readonly metrics: Registry;
  readonly log: Logger;
}

/** Stores, serves and removes completed clips. */
export interface Clips {
  readonly routes: readonly Route[];
  /** Returns the storage of a completed upload. */
  findStorage(upload: UploadRecord): ClipStorage;
  /** Moves the files of a completed upload to their final storage. */
  archive(ref: UploadRef): Promise<void>;
  /** Removes an upload's files wherever they are stored, all or none. */
  remove(ref: UploadRef): Promise<void>;
  /** Starts to convert clips to MP4; part of `serve`. */
  startJobs(options: Mp4StartOptions): void;
  /** Responds over the bus with the URL of clips, and periodically repairs what a crash has left. */
  serve(bus: Bus, options: { pod: string; httpUrl: string; sweepIntervalMs: number }): void;
}

/** Opens the configured storage. Sends no request yet. */
export function openClips(deps: ClipsDeps): Clips {
  const { config, directory, objects, records, lifecycle, metrics, log } = deps;
  const shared = objects === null ? null : new S3Storage(objects);
  const local = new DirectoryStorage(directory);
  const archiver = new ClipArchiver({ directory, local, shared, records, log });
  lifecycle.onStop('clip archiver', () => archiver.stop());
  const converter = new Mp4Converter({
    ffmpegPath: config.FFMPEG_PATH,
    workDir: join(directory.root, '.mp4'),
    timeoutMs: config.MP4_LIMIT_MS,
    log,
  });
  lifecycle.onStop('MP4 converter', () => converter.stop());
  registerGauge(converter, metrics);
  const findStorage = ({ server }: UploadRecord): ClipStorage => {
    if (server?.podId !== anyPod) return local;
    if (shared === null) throw new Error('the clip is in object storage, but CLIPS_S3_BUCKET is not set');
    return shared;
  };
  const jobs = new Mp4Jobs({
    jobs: deps.mp4Jobs,
    converter,
    findStorage,
    log,
    concurrency: limitConcurrency(config),
  });
  const startJobs = (options: Mp4StartOptions): void => startMp4Jobs(deps, { ...options, converter, jobs });
  const { CLIPS_SIGNING_SECRET: signingSecret, MP4_WAIT_MS: mp4TimeoutMs } = config;
  const onError = (error: unknown): void => log.warn({ err: error }, 'clip task failed, retrying');
  return {
    findStorage,
    routes: [clipRoute({ records, findStorage, jobs, signingSecret, mp4TimeoutMs })],
    archive: (ref) => archiver.archive(ref),
    remove: (ref) => archiver.remove(ref),
    startJobs,
    serve: (bus, { pod, httpUrl, sweepIntervalMs }) => {
      archiver.setHttpUrl(httpUrl);
      // Uploads are accepted without the bucket. They stay in the directory until it is available.
      objects
        ?.check()
        .catch((error: unknown) =>
          log.error({ err: error, bucket: config.CLIPS_S3_BUCKET }, 'could not reach the bucket'),
        );
      const pods = shared === null ? [pod] : [pod, anyPod];
      const sources = pods.map((each) =>
        serveUseCase(bus, locateClip(each), { queue: `upload-ftp-${each}`, onError }, async () => ({ httpUrl })),
      );
      const removals = shared === null ? [] : [serveRemovals(bus, archiver, records, onError)];
      lifecycle.onStop('clip requests', async () => {
        await Promise.all([...sources, ...removals].map((server) => server.stop()));
      });
      lifecycle.onStop(
        'stale MP4 work',
        runPeriodically(sweepIntervalMs, () => converter.removeStaleWork(), onError),
      );
      startJobs({
        podIds: pods,
        onChanged: ({ _id: uploadId, clip: { imei } }) =>
          publish(bus, mp4Changed, { uploadId, imei }, mp4Subject(uploadId)),
        onError,
      });
      const requests = subscribe(bus, mp4Requested, onError, ({ uploadId }) => {
        jobs.onRequest(uploadId).catch(onError);
      });
      lifecycle.onStop('MP4 requests', () => requests.stop());
      const sweepJob = new ResumableJob<UploadRef>({
        periodMs: sweepIntervalMs,
        runSlice: (slice) => archiver.sweep(slice),
        onError,
      });
      lifecycle.onStop('clip sweep', () => sweepJob.stop());
    },
  };
}

// One core stays free for receiving from cameras.
const limitConcurrency = ({ MP4_PARALLEL }: Settings): number =>
  Math.min(MP4_PARALLEL, Math.max(1, availableParallelism() - 1));

type Mp4StartOptions = Parameters<Mp4Jobs['start']>[0] & { readonly onError: (error: unknown) => void };

/** Starts to run requested conversions. Those that a killed process left are started again. */
function startMp4Jobs(
  { mp4Jobs, lifecycle }: ClipsDeps,
  {
    converter,
    jobs,
    onError,
    ...options
  }: Mp4StartOptions & { readonly converter: Mp4Converter; readonly jobs: Mp4Jobs },
): void {
  const startup = retryUntilSuccess(async () => {
    await mp4Jobs.ensureIndexes();
    // The directory belongs to this pod, which has just started: every working directory is of a killed process.
    await converter.removeStaleWork(0);
    jobs.start(options);
  }, onError);
  lifecycle.onStop('MP4 jobs', async () => {
    await startup.stop();
    await jobs.stop();
  });
}

/** Serves removals from shared storage, which any pod can do. */
const serveRemovals = (
  bus: Bus,
  archiver: ClipArchiver,
  records: UploadRepository,
  onError: (error: unknown) => void,
) =>
  serveUseCase(bus, removeUploadFiles(anyPod), { queue: `upload-ftp-${anyPod}`, onError }, async ({ uploadId }) => {
    const record = await records.find(uploadId);
    if (record !== null) await archiver.remove({ imei: record.clip.imei, id: uploadId });
    return {};
  });

function registerGauge(converter: Mp4Converter, metrics: Registry): void {
  const gauge = new Gauge({
    name: 'upload_ftp_mp4_running',
    help: 'MP4 conversions in progress',
    registers: [],
    collect() {
      this.set(converter.runningCount);
    },
  });
  metrics.registerMetric(gauge);
}
