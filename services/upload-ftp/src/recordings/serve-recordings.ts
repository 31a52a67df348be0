import { type Bus, recordLive as recordLiveRequest, serveUseCase } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import { type LiveRecordingDeps, recordLive } from './record-live.ts';

/** Serves `upload-ftp.record-live` on any pod. A stop aborts what is being recorded. */
export function serveRecordings(bus: Bus, deps: LiveRecordingDeps, maxParallel: number): Running {
  const stopping = new AbortController();
  let runningCount = 0;
  const onError = (error: unknown): void => deps.log.warn({ err: error }, 'a recording of live video failed');
  const server = serveUseCase(bus, recordLiveRequest, { queue: 'upload-ftp', onError }, async (request) => {
    if (runningCount >= maxParallel)
      throw new AppError('unavailable', 'Too many streams are being recorded. Retry later.');
    runningCount += 1;
    try {
      await recordLive(deps, request, stopping.signal);
      return {};
    } finally {
      runningCount -= 1;
    }
  });
  return {
    stop: async () => {
      stopping.abort();
      await server.stop();
    },
  };
}
