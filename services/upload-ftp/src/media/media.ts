import { type Bus, removeMediaFile, serveUseCase } from '@fleet/bus';
import { type Lifecycle, type Logger, type Route, runPeriodically } from '@fleet/service-kit';
import { anyPod } from '../clips/clip-archiver.ts';
import type { Config } from '../config.ts';
import { PictureConsumer } from '../handlers/picture-consumer.ts';
import type { MediaMetrics } from '../metrics.ts';
import { fileRoute } from '../routes/files.ts';
import type { DiskHealth } from '../store/disk-health.ts';
import { MediaDirectory } from '../store/media-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { ResumableJob } from '../use-cases/resumable-job.ts';
import { MediaFiles } from './media-files.ts';

interface MediaDeps {
  readonly config: Pick<Config, 'CLIPS_DIR' | 'CLIPS_SIGNING_SECRET' | 'UPLOAD_SWEEP_MS' | 'UPLOAD_ORPHANS_MS'>;
  readonly pod: string;
  readonly objects: ObjectStore | null;
  readonly disk: DiskHealth;
  readonly lifecycle: Lifecycle;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

/** Files that terminals send on their own. */
export interface Media {
  readonly routes: readonly Route[];
  /**
   * Starts reading pictures, serves removals over the bus and repairs what a crash has left. The returned object also
   * stores files from other sources.
   */
  serve(bus: Bus): MediaFiles;
}

/** Opens the directory of the files. Sends no request to object storage yet. */
export async function openMedia(deps: MediaDeps): Promise<Media> {
  const { config, objects, metrics } = deps;
  const directory = new MediaDirectory(config.CLIPS_DIR, deps.pod);
  await directory.prepare();
  metrics.observePendingEvents(async () => (await directory.listPendingEvents()).length);
  return {
    routes: [fileRoute({ sources: { directory, objects }, signingSecret: config.CLIPS_SIGNING_SECRET })],
    serve: (bus) => serveMedia(deps, bus, directory),
  };
}

function serveMedia(deps: MediaDeps, bus: Bus, directory: MediaDirectory): MediaFiles {
  const { config, pod, lifecycle, log, objects } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'media task failed, retrying');
  const media = new MediaFiles({ ...deps, bus, directory });
  lifecycle.onStop('media files', () => media.stop());
  const pods = objects === null ? [pod] : [pod, anyPod];
  const removals = pods.map((each) =>
    serveUseCase(
      bus,
      removeMediaFile(each),
      { queue: `upload-ftp-${each}`, onError },
      async ({ storedBeforeMs, ...ref }) => {
        await media.remove(ref, storedBeforeMs);
        return {};
      },
    ),
  );
  lifecycle.onStop('media file removals', async () => {
    await Promise.all(removals.map((server) => server.stop()));
  });
  const sweepJob = new ResumableJob({
    periodMs: config.UPLOAD_SWEEP_MS,
    runSlice: (slice) => media.sweep(slice),
    onError,
  });
  lifecycle.onStop('media sweep', () => sweepJob.stop());
  // Publishes what a crash has left immediately, and not only after the first interval.
  void sweepJob.runNow();
  lifecycle.onStop(
    'media leftovers',
    runPeriodically(config.UPLOAD_ORPHANS_MS, () => directory.removeLeftovers(), onError),
  );
  const pictures = new PictureConsumer(bus, { ...deps, media });
  lifecycle.onStop('pictures', () => pictures.stop());
  return media;
}
