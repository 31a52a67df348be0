import { type StreamChanged, streamChanged, subscribe } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { toStreamEvent } from '../domains/dashcam/responses.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import { getSharedAddresses } from '../domains/video-access/stream-urls.ts';
import { publishLive } from './publish-live.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** Starts to publish changes of live streams to websockets, each once. */
export function startStreamConsumer(deps: EventConsumerDeps): Running {
  const { bus, log } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not publish a stream change');
  const publishChange = async (change: StreamChanged): Promise<void> => {
    const vehicle = await findVehicleByImei(deps.records, change.imei);
    if (vehicle === null) return;
    const data = { ...toStreamEvent(vehicle, change), ...getSharedAddresses(deps.config.VIDEO_BASE_URL, change) };
    const { atMs = Date.now(), order, startId } = change;
    const event = {
      ...({ type: 'stream', vehicleId: vehicle._id, data, atMs } as const),
      ...(order === undefined ? {} : { order }),
      ...(startId === undefined ? {} : { startId }),
    };
    publishLive(bus, vehicle.accountId, [event]);
  };
  // One after the other: each looks up its vehicle, and events of a stream keep their order of arrival. Receivers drop
  // outdated events of concurrent replicas.
  let lastPublished = Promise.resolve();
  const subscription = subscribe(
    bus,
    streamChanged,
    onError,
    (change) => {
      lastPublished = lastPublished.then(() => publishChange(change)).catch(onError);
    },
    undefined,
    'platform-streams',
  );
  return {
    stop: () => {
      subscription.stop();
      return lastPublished;
    },
  };
}
