import { type StreamChanged, streamChanged, subscribe } from '@fleet/bus';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { publishLive } from './live.ts';
import type { EventParts } from './parts.ts';

/** A live stream without viewers ends after this time. */
const autoStopSeconds = 60;

/** Publishes changes of live streams to websockets, each once. */
export function followStreams(parts: EventParts): { stop(): Promise<void> } {
  const { bus, log } = parts;
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not publish a stream change');
  const tell = async (change: StreamChanged): Promise<void> => {
    const vehicle = await findVehicleByImei(parts.records, change.imei);
    if (vehicle === null) return;
    const data = toStreamResponse(vehicle, change, parts.config.VIDEO_BASE_URL);
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
  let last = Promise.resolve();
  const listener = subscribe(
    bus,
    streamChanged,
    onError,
    (change) => {
      last = last.then(() => tell(change)).catch(onError);
    },
    undefined,
    'platform-streams',
  );
  return {
    stop: () => {
      listener.stop();
      return last;
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
