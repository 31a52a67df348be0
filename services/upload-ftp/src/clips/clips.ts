import { join } from 'node:path';
import { type Bus, locateClip, removeUploadFiles, serveUseCase } from '@fleet/bus';
import {
  type ConfigOf,
  Gauge,
  type Lifecycle,
  type Logger,
  type Registry,
  type Route,
  runPeriodically,
} from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';
import { clipRoute } from '../routes/clips.ts';
import type { ClipDirectory, UploadRef } from '../store/clip-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { ResumableJob } from '../use-cases/resumable-job.ts';
import { anyPod, ClipArchiver } from './clip-archiver.ts';
import type { ClipStorage } from './clip-storage.ts';
import { DirectoryStorage } from './directory-storage.ts';
import { Mp4Converter } from './mp4-converter.ts';
import { S3Storage } from './s3-storage.ts';
import type { clipSettings } from './settings.ts';

type Settings = ConfigOf<typeof clipSettings>;

export interface ClipsDeps {
  readonly config: Settings;
  readonly directory: ClipDirectory;
  /** Null where clips stay in the directory. */
  readonly objects: ObjectStore | null;
  readonly records: UploadRepository;
  readonly lifecycle: Lifecycle;
  readonly metrics: Registry;
  readonly log: Logger;
}

/** Completed clips: where they are stored, how they are handed out, and their removal. */
export interface Clips {
  readonly routes: readonly Route[];
  /** Call it once an upload is completed: its files go where they stay. */
  archive(ref: UploadRef): Promise<void>;
  /** Removes an upload's files wherever they are, all or none. */
  remove(ref: UploadRef): Promise<void>;
  /** Answers over the bus where clips are read, and mends what a crash has left. */
  serve(bus: Bus, options: { pod: string; httpUrl: string; sweepIntervalMs: number }): void;
}

/** Opens the storage that the settings name. Nothing is asked of it yet. */
export function openClips({ config, directory, objects, records, lifecycle, metrics, log }: ClipsDeps): Clips {
  const shared = objects === null ? null : new S3Storage(objects);
  const local = new DirectoryStorage(directory);
  const archiver = new ClipArchiver({ directory, local, shared, records, log });
  lifecycle.onStop('clip keeper', () => archiver.stop());
  const converter = new Mp4Converter({
    ffmpegPath: config.FFMPEG_PATH,
    workDir: join(directory.root, '.mp4'),
    timeoutMs: config.MP4_LIMIT_MS,
    concurrency: config.MP4_PARALLEL,
    log,
  });
  lifecycle.onStop('MP4 maker', () => converter.stop());
  registerGauge(converter, metrics);
  const findStorage = ({ server }: UploadRecord): ClipStorage => {
    if (server?.podId !== anyPod) return local;
    if (shared === null) throw new Error('the clip is in object storage, and CLIPS_S3_BUCKET is not set here');
    return shared;
  };
  const { CLIPS_SIGNING_SECRET: signingSecret, MP4_WAIT_MS: mp4TimeoutMs } = config;
  const onError = (error: unknown): void => log.warn({ err: error }, 'a task for clips failed and is tried again');
  return {
    routes: [clipRoute({ records, findStorage, converter, signingSecret, mp4TimeoutMs })],
    archive: (ref) => archiver.archive(ref),
    remove: (ref) => archiver.remove(ref),
    serve: (bus, { pod, httpUrl, sweepIntervalMs }) => {
      archiver.setHttpUrl(httpUrl);
      // Uploads are taken all the same: they stay here until it is there.
      objects
        ?.check()
        .catch((error: unknown) =>
          log.error({ err: error, bucket: config.CLIPS_S3_BUCKET }, 'the bucket cannot be reached'),
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
        'stale work',
        runPeriodically(sweepIntervalMs, () => converter.removeStaleWork(), onError),
      );
      const sweepJob = new ResumableJob<UploadRef>({
        periodMs: sweepIntervalMs,
        runSlice: (slice) => archiver.sweep(slice),
        onError,
      });
      lifecycle.onStop('clip sweep', () => sweepJob.stop());
    },
  };
}

/** Any pod removes what all of them can reach. */
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
    help: 'MP4s that are being made',
    registers: [],
    collect() {
      this.set(converter.runningCount);
    },
  });
  metrics.registerMetric(gauge);
}
