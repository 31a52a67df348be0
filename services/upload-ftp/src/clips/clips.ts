import { join } from 'node:path';
import { type Bus, clipSource, removeUploadFiles, serveUseCase } from '@fleet/bus';
import {
  type ConfigOf,
  every,
  Gauge,
  type Lifecycle,
  type Logger,
  type Registry,
  type Route,
} from '@fleet/service-kit';
import type { UploadRecord, UploadRecords } from '@fleet/storage';
import { clipRoute } from '../routes/clips.ts';
import type { ClipDirectory, UploadPlace } from '../store/clip-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { TurnTaker } from '../use-cases/turn-taker.ts';
import { anyPod, ClipKeeper } from './clip-keeper.ts';
import type { ClipStorage } from './clip-storage.ts';
import { DirectoryStorage } from './directory-storage.ts';
import { Mp4Maker } from './mp4-maker.ts';
import { S3Storage } from './s3-storage.ts';
import type { clipSettings } from './settings.ts';

type Settings = ConfigOf<typeof clipSettings>;

export interface ClipsParts {
  readonly config: Settings;
  readonly directory: ClipDirectory;
  /** Null where clips stay in the directory. */
  readonly objects: ObjectStore | null;
  readonly records: UploadRecords;
  readonly lifecycle: Lifecycle;
  readonly metrics: Registry;
  readonly log: Logger;
}

/** Completed clips: where they are stored, how they are handed out, and their removal. */
export interface Clips {
  readonly routes: readonly Route[];
  /** Call it once an upload is completed: its files go where they stay. */
  keep(place: UploadPlace): Promise<void>;
  /** Removes an upload's files wherever they are, all or none. */
  remove(place: UploadPlace): Promise<void>;
  /** Answers over the bus where clips are read, and mends what a crash has left. */
  serve(bus: Bus, options: { pod: string; httpUrl: string; sweepMs: number }): void;
}

/** Opens the storage that the settings name. Nothing is asked of it yet. */
export function openClips({ config, directory, objects, records, lifecycle, metrics, log }: ClipsParts): Clips {
  const shared = objects === null ? null : new S3Storage(objects);
  const local = new DirectoryStorage(directory);
  const keeper = new ClipKeeper({ directory, local, shared, records, log });
  lifecycle.onStop('clip keeper', () => keeper.stop());
  const maker = new Mp4Maker({
    ffmpegPath: config.FFMPEG_PATH,
    workDir: join(directory.root, '.mp4'),
    limitMs: config.MP4_LIMIT_MS,
    parallel: config.MP4_PARALLEL,
    log,
  });
  lifecycle.onStop('MP4 maker', () => maker.stop());
  watch(maker, metrics);
  const storageOf = ({ server }: UploadRecord): ClipStorage => {
    if (server?.podId !== anyPod) return local;
    if (shared === null) throw new Error('the clip is in object storage, and CLIPS_S3_BUCKET is not set here');
    return shared;
  };
  const { CLIPS_SIGNING_SECRET: signingSecret, MP4_WAIT_MS: mp4WaitMs } = config;
  const onError = (error: unknown): void => log.warn({ err: error }, 'a task for clips failed and is tried again');
  return {
    routes: [clipRoute({ records, storageOf, maker, signingSecret, mp4WaitMs })],
    keep: (place) => keeper.keep(place),
    remove: (place) => keeper.remove(place),
    serve: (bus, { pod, httpUrl, sweepMs }) => {
      keeper.serveAt(httpUrl);
      // Uploads are taken all the same: they stay here until it is there.
      objects
        ?.check()
        .catch((error: unknown) =>
          log.error({ err: error, bucket: config.CLIPS_S3_BUCKET }, 'the bucket can not be reached'),
        );
      const pods = shared === null ? [pod] : [pod, anyPod];
      const sources = pods.map((each) =>
        serveUseCase(bus, clipSource(each), { queue: `upload-ftp-${each}`, onError }, async () => ({ httpUrl })),
      );
      const removals = shared === null ? [] : [serveRemovals(bus, keeper, records, onError)];
      lifecycle.onStop('clip requests', async () => {
        await Promise.all([...sources, ...removals].map((server) => server.stop()));
      });
      lifecycle.onStop(
        'stale work',
        every(sweepMs, () => maker.removeStaleWork(), onError),
      );
      const sweep = new TurnTaker<UploadPlace>({ periodMs: sweepMs, takeTurn: (turn) => keeper.sweep(turn), onError });
      lifecycle.onStop('clip sweep', () => sweep.stop());
    },
  };
}

/** Any pod removes what all of them can reach. */
const serveRemovals = (bus: Bus, keeper: ClipKeeper, records: UploadRecords, onError: (error: unknown) => void) =>
  serveUseCase(bus, removeUploadFiles(anyPod), { queue: `upload-ftp-${anyPod}`, onError }, async ({ uploadId }) => {
    const record = await records.find(uploadId);
    if (record !== null) await keeper.remove({ imei: record.clip.imei, id: uploadId });
    return {};
  });

function watch(maker: Mp4Maker, metrics: Registry): void {
  const gauge = new Gauge({
    name: 'upload_ftp_mp4_running',
    help: 'MP4s that are being made',
    registers: [],
    collect() {
      this.set(maker.running);
    },
  });
  metrics.registerMetric(gauge);
}
