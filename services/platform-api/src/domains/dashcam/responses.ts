import type { StreamChanged } from '@fleet/bus';
import type { Vehicle } from '../vehicles/schema.ts';
import type { StreamUrls } from '../video-access/stream-urls.ts';
import { autoStopSeconds, type StreamResponse } from './schema.ts';

/** Converts the state of a stream to a record without URLs, for several users. */
export function toStreamEvent(
  vehicle: Vehicle,
  { imei, channel, status, streamType, video, audioCodec, viewers, startedAtMs }: StreamChanged,
): Omit<StreamResponse, keyof StreamUrls> {
  return {
    vehicle_id: vehicle._id,
    imei: vehicle.recordedImei ?? imei,
    channel_id: channel,
    stream_type: streamType === 0 ? 'HIGH' : 'LOW',
    status,
    video_codec: video?.codec ?? null,
    audio_codec: audioCodec,
    width: video?.width ?? null,
    height: video?.height ?? null,
    viewers,
    started_at: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    auto_stop_seconds: autoStopSeconds,
  };
}

/** Converts the state of a stream to a record with the URLs of one user. */
export const toStreamResponse = (vehicle: Vehicle, state: StreamChanged, urls: StreamUrls): StreamResponse => ({
  ...toStreamEvent(vehicle, state),
  ...urls,
});
