import type { StreamChanged } from '@fleet/bus';
import type { Vehicle } from '../vehicles/schema.ts';
import { autoStopSeconds, type StreamResponse } from './schema.ts';
import type { StreamUrl } from './stream-urls.ts';

/** Converts the state of a stream to a record without URLs, for several users. */
export function toStreamEvent(
  vehicle: Vehicle,
  { imei, channel, status, streamType, video, audioCodec, viewers, startedAtMs }: StreamChanged,
): Omit<StreamResponse, 'stream_url' | 'ws_flv_url' | 'hls_url' | 'token_expires_at'> {
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

/** Converts the state of a stream to a record with the URL of one user. The video service serves FLV only. */
export const toStreamResponse = (
  vehicle: Vehicle,
  state: StreamChanged,
  { url, expiresAt }: StreamUrl,
): StreamResponse => ({
  ...toStreamEvent(vehicle, state),
  stream_url: url,
  ws_flv_url: null,
  hls_url: null,
  token_expires_at: expiresAt.toISOString(),
});
