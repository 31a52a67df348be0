import { type Bus, mediaControl, mediaControlSubject, subscribe } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { formatStreamName } from '../domain/stream-name.ts';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import type { StreamSwitch } from '../use-cases/stream-switch.ts';

/**
 * Subscribes to `media.<pod>.control`: changes that partners made to cameras over JT/T 808, which affect timers and
 * viewers.
 */
export function subscribeMediaControl(
  bus: Bus,
  podId: string,
  deps: { readonly registry: StreamRegistry; readonly streamSwitch: StreamSwitch; readonly log: Logger },
): { stop(): void } {
  return subscribe(
    bus,
    mediaControl,
    (error) => deps.log.error({ err: error }, 'could not read a media control event'),
    ({ kind, imei, channel, change, pace, streamType = 0 }) => {
      const id = { kind, imei, channel };
      const stream = deps.registry.find(id);
      deps.log.info(
        { stream: formatStreamName(id), change, isHere: stream !== undefined },
        'received a media control event',
      );
      if (stream === undefined) return;
      if (change === 'ended') deps.registry.end(stream, 'stopped');
      else if (change === 'restarting') stream.expectControl(pace);
      else if (change === 'restarted') stream.confirmControl(pace);
      else if (change === 'switched') void deps.streamSwitch.recordSwitch(id, streamType);
      else stream.setPaused(change === 'paused');
    },
    mediaControlSubject(podId),
  );
}
