import { playbackProgress, subscribe } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { publishPlayback } from '../domains/dashcam/publish-playback.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** Starts to publish the positions of recordings that cameras play to websockets, each second. */
export function startPlaybackConsumer(deps: EventConsumerDeps): Running {
  const onError = (error: unknown): void =>
    deps.log.warn({ err: error }, 'could not publish the position of a recording');
  let lastPublished = Promise.resolve();
  const subscription = subscribe(
    deps.bus,
    playbackProgress,
    onError,
    (progress) => {
      lastPublished = lastPublished.then(() => publishPlayback(deps, progress)).catch(onError);
    },
    undefined,
    'platform-playback',
  );
  return {
    stop: () => {
      subscription.stop();
      return lastPublished;
    },
  };
}
