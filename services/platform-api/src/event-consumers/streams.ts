import { type StreamChanged, streamChanged, subscribe } from '@fleet/bus';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { publishLive } from './publish-live.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** A live stream without viewers ends after this time. */
const autoStopSeconds = 60;

/** Publishes changes of live streams to websockets, each once. */
export function consumeStreams(deps: EventConsumerDeps): { stop(): Promise<void> } {
  const { bus, log } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not publish a stream change');
  const publishChange = async (change: StreamChanged): Promise<void> => {
    const vehicle = await findVehicleByImei(deps.records, change.imei);
    if (vehicle === null) return;
    const data = toStreamResponse(vehicle, change, deps.config.VIDEO_BASE_URL);
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

/** The `Stream` record; its URL has no token, because viewers use their own credentials. */
function toStreamResponse(vehicle: Vehicle, change: StreamChanged, videoBaseUrl: string) {
  const { imei, channel, status, streamType, video, audioCodec, viewers, startedAtMs } = change;
  return {
    vehicle_id: vehicle._id,
    imei: vehicle.recordedImei ?? imei,
    channel_id: channel,
    stream_type: streamType === 0 ? 'HIGH' : 'LOW',
    status,
    stream_url: `${videoBaseUrl}/${imei}/${channel}/stream.flv`,
    ws_flv_url: null,
    hls_url: null,
    token_expires_at: null,
    video_codec: video?.codec ?? null,
    audio_codec: audioCodec,
    width: video?.width ?? null,
    height: video?.height ?? null,
    viewers,
    started_at: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    auto_stop_seconds: autoStopSeconds,
  };
}
