import { type Bus, removeMediaFile, serveUseCase } from '@fleet/bus';
import { every, type Lifecycle, type Logger, type Route } from '@fleet/service-kit';
import { anyPod } from '../clips/clip-keeper.ts';
import type { Config } from '../config.ts';
import { Pictures } from '../handlers/pictures.ts';
import type { MediaMetrics } from '../metrics.ts';
import { fileRoute } from '../routes/files.ts';
import type { DiskCheck } from '../store/disk-check.ts';
import { MediaDirectory } from '../store/media-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { TurnTaker } from '../use-cases/turn-taker.ts';
import { MediaFiles } from './media-files.ts';

export interface MediaParts {
  readonly config: Pick<Config, 'CLIPS_DIR' | 'CLIPS_SIGNING_SECRET' | 'UPLOAD_SWEEP_MS' | 'UPLOAD_ORPHANS_MS'>;
  readonly pod: string;
  readonly objects: ObjectStore | null;
  readonly disk: DiskCheck;
  readonly lifecycle: Lifecycle;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

/** Files that terminals send on their own. */
export interface Media {
  readonly routes: readonly Route[];
  /** Takes pictures from the broker, answers over it, and mends what a crash has left; what it answers keeps files of other ways, too. */
  serve(bus: Bus): MediaFiles;
}

/** Opens the place of the files; nothing is asked of object storage yet. */
export async function openMedia(parts: MediaParts): Promise<Media> {
  const { config, objects, metrics } = parts;
  const directory = new MediaDirectory(config.CLIPS_DIR, parts.pod);
  await directory.prepare();
  metrics.watchUntold(async () => (await directory.untoldPlaces()).length);
  return {
    routes: [fileRoute({ sources: { directory, objects }, signingSecret: config.CLIPS_SIGNING_SECRET })],
    serve: (bus) => serveMedia(parts, bus, directory),
  };
}

function serveMedia(parts: MediaParts, bus: Bus, directory: MediaDirectory): MediaFiles {
  const { config, pod, lifecycle, log, objects } = parts;
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'a task for files of terminals failed and is tried again');
  const media = new MediaFiles({ ...parts, bus, directory });
  lifecycle.onStop('media files', () => media.stop());
  const pods = objects === null ? [pod] : [pod, anyPod];
  const removals = pods.map((each) =>
    serveUseCase(
      bus,
      removeMediaFile(each),
      { queue: `upload-ftp-${each}`, onError },
      async ({ storedBeforeMs, ...place }) => {
        await media.remove(place, storedBeforeMs);
        return {};
      },
    ),
  );
  lifecycle.onStop('removals of media files', async () => {
    await Promise.all(removals.map((server) => server.stop()));
  });
  const sweep = new TurnTaker({ periodMs: config.UPLOAD_SWEEP_MS, takeTurn: (turn) => media.sweep(turn), onError });
  lifecycle.onStop('media sweep', () => sweep.stop());
  // What a crash has left is told at once, and not only after the first wait.
  void sweep.now();
  lifecycle.onStop(
    'media leftovers',
    every(config.UPLOAD_ORPHANS_MS, () => directory.removeLeftovers(), onError),
  );
  const pictures = new Pictures(bus, { ...parts, media });
  lifecycle.onStop('pictures', () => pictures.stop());
  return media;
}
