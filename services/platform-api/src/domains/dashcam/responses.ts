import type { StreamChanged } from '@fleet/bus';
import type { Vehicle } from '../vehicles/schema.ts';
import type { StreamUrls } from '../video-access/stream-urls.ts';
import { autoStopSeconds, type StreamPhase, type StreamResponse } from './schema.ts';

const phases: Readonly<Record<StreamChanged['status'], StreamPhase | null>> = {
  starting: 'connecting',
  streaming: 'streaming',
  stopped: null,
};

/** Sentences for the reasons of the media service. */
const endReasons: Readonly<Record<NonNullable<StreamChanged['endReason']>, string>> = {
  idle: 'Nobody watched the stream.',
  noData: 'The camera sent no data.',
  cameraLeft: 'The connection to the camera was lost.',
  stopped: 'The stream was stopped.',
  dataBudgetSpent: 'The data budget of the vehicle is spent.',
  shutdown: 'The media service restarts.',
};

const toReason = (endReason: StreamChanged['endReason']): StreamResponse['reason'] =>
  endReason === undefined ? null : { code: reasonCodes[endReason], text: endReasons[endReason] };

const reasonCodes = {
  idle: 'idle',
  noData: 'no_data',
  cameraLeft: 'camera_left',
  stopped: 'stopped',
  dataBudgetSpent: 'data_budget_spent',
  shutdown: 'restart',
} as const satisfies Readonly<Record<NonNullable<StreamChanged['endReason']>, string>>;

/** Converts the state of a stream to a record without URLs, for several users. */
export function toStreamEvent(
  vehicle: Vehicle,
  { imei, channel, status, streamType, video, audioCodec, viewers, startedAtMs, endReason }: StreamChanged,
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
    phase: phases[status],
    reason: toReason(endReason),
    viewers,
    started_at: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    auto_stop_seconds: autoStopSeconds,
    kind: 'live',
    playback: null,
  };
}

/** Converts the state of a stream to a record with the URLs of one user. */
export const toStreamResponse = (vehicle: Vehicle, state: StreamChanged, urls: StreamUrls): StreamResponse => ({
  ...toStreamEvent(vehicle, state),
  ...urls,
});
