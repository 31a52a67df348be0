import { type Bus, createPreview, serveUseCase } from '@fleet/bus';
import { AppError, type Logger, type Running } from '@fleet/service-kit';
import { FfmpegError } from '../clips/ffmpeg.ts';
import type { Previews } from './previews.ts';

/** Serves `upload-ftp.pod.<pod>.create-preview` for this pod and, with object storage, for `any`. */
export function servePreviews(bus: Bus, pods: readonly string[], previews: Previews, log: Logger): Running {
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not create a thumbnail');
  const servers = pods.map((pod) =>
    serveUseCase(bus, createPreview(pod), { queue: `upload-ftp-${pod}`, onError }, async ({ imei, source }) => {
      try {
        return { preview: await previews.create(imei, source) };
      } catch (cause) {
        if (!(cause instanceof FfmpegError)) throw cause;
        throw new AppError('unavailable', 'The thumbnail cannot be created at the moment. Retry later.', { cause });
      }
    }),
  );
  return {
    stop: async () => {
      previews.stop();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
