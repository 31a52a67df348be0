import { callUseCase, deviceApi } from '@fleet/bus';
import { dayMs, validationError } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { nullable, time } from '../../platform/schemas.ts';
import { parseTimestamp, timeParameter } from '../../platform/timestamps.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { callDevice, type RequestTrace } from './call-device.ts';
import { type RecordedSegment, readLists, type StoredDay, storeList } from './recording-lists.ts';
import { requireCamera } from './use-cases.ts';

/** A list covers at most this much: cameras return it in one message. */
const longestMs = 2 * dayMs;
const allChannels = 0;
/** Any kind of media, stream and storage (JT/T 1078-2016 table 26). */
const anyMedia = { resourceType: 0, streamType: 0, memoryType: 0, alarmFlags: '0' } as const;

export const recordingsQuery = Type.Object({
  channel_id: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 255, alias: 'channelId', description: 'Camera channel; all if absent.' }),
  ),
  from: Type.String({ ...timeParameter, description: 'RFC 3339, or milliseconds since 1970.' }),
  to: Type.String({ ...timeParameter, description: 'At most 48 hours after `from`.' }),
  refresh: Type.Optional(
    Type.Boolean({ description: 'True: requests the list from the camera. Default: false, the stored copy.' }),
  ),
});
type RecordingsQuery = Static<typeof recordingsQuery>;

const segmentSchema = Type.Object({
  from: time,
  to: time,
  alarm: Type.Boolean({ description: 'True for a recording of an alarm.' }),
  stream_type: nullable(Type.String({ description: 'HIGH: main stream. LOW: sub stream. Null: unknown.' })),
  memory_type: Type.Integer({ minimum: 0, description: '0 unknown, 1 main storage, 2 backup storage.' }),
  size_bytes: Type.Integer({ minimum: 0 }),
});

export const recordingsSchema = Type.Object(
  {
    channels: Type.Array(
      Type.Object({
        channel_id: Type.Integer({ minimum: 0 }),
        listed_at: nullable(
          Type.String({ format: 'date-time', description: 'Time of the newest list; null without one.' }),
        ),
        segments: Type.Array(segmentSchema),
      }),
    ),
  },
  { title: 'Recordings' },
);
type RecordingsResponse = Static<typeof recordingsSchema>;

type RecordingsDeps = Pick<Deps, 'bus' | 'log' | 'records' | 'redis'>;

/** Returns the recordings of a vehicle's cameras in a time: the stored copy, after a refresh if the caller wants one. */
export async function getRecordings(
  deps: RecordingsDeps,
  caller: Caller,
  vehicleId: number,
  query: RecordingsQuery,
  trace: RequestTrace,
): Promise<RecordingsResponse> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'history_video');
  const span = toSpan(query);
  const channel = query.channel_id ?? allChannels;
  if (query.refresh === true) {
    const { imei } = requireCamera(vehicle, channel);
    const request = { imei, channel, startMs: span.fromMs, endMs: span.toMs, ...anyMedia };
    const { recordings } = await callDevice(
      (options) => callUseCase(deps.bus, deviceApi.listRecordings, request, options),
      trace,
    );
    await storeList(deps.redis, vehicle, { ...span, channel, listedAtMs: Date.now() }, recordings.map(toSegment));
  }
  const days = await readLists(deps.redis, vehicle, span);
  const named = channel === allChannels ? vehicle.channels.map(({ channelId }) => channelId) : [channel];
  return { channels: toChannels(days, span, named) };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

function toSpan({ from, to }: RecordingsQuery): Span {
  const fromMs = Math.floor((parseTimestamp(from, 'from')?.getTime() ?? 0) / 1_000) * 1_000;
  const toMs = Math.floor((parseTimestamp(to, 'to')?.getTime() ?? 0) / 1_000) * 1_000;
  if (toMs <= fromMs) throw validationError([{ path: '/to', message: 'must be after from' }]);
  if (toMs - fromMs > longestMs)
    throw validationError([{ path: '/to', message: 'must be at most 48 hours after from' }]);
  return { fromMs, toMs };
}

const toSegment = (recording: {
  readonly channel: number;
  readonly startTime: string;
  readonly endTime: string;
  readonly alarmFlags: string;
  readonly streamType: number;
  readonly memoryType: number;
  readonly fileSizeBytes: number;
}): RecordedSegment => ({
  channel: recording.channel,
  fromMs: Date.parse(recording.startTime),
  toMs: Date.parse(recording.endTime),
  isAlarm: recording.alarmFlags !== '0',
  streamType: recording.streamType,
  memoryType: recording.memoryType,
  sizeBytes: recording.fileSizeBytes,
});

const streamNames: readonly (string | null)[] = [null, 'HIGH', 'LOW'];

/** Returns the named channels, and those that the lists contain, with their segments in order. */
function toChannels(
  days: readonly StoredDay[],
  { fromMs, toMs }: Span,
  named: readonly number[],
): RecordingsResponse['channels'] {
  const segments = days
    .flatMap((day) => day.segments)
    .filter((segment) => segment.toMs > fromMs && segment.fromMs < toMs)
    .toSorted((a, b) => a.fromMs - b.fromMs);
  const lists = days.flatMap((day) => day.lists).filter((list) => list.toMs > fromMs && list.fromMs < toMs);
  const isSingle = named.length === 1;
  const channels = new Set([...named, ...(isSingle ? [] : segments.map(({ channel }) => channel))]);
  return [...channels]
    .toSorted((a, b) => a - b)
    .map((channel) => {
      const times = lists
        .filter((list) => list.channel === allChannels || list.channel === channel)
        .map(({ listedAtMs }) => listedAtMs);
      return {
        channel_id: channel,
        listed_at: times.length === 0 ? null : new Date(Math.max(...times)).toISOString(),
        segments: segments.filter((segment) => segment.channel === channel).map(toSegmentResponse),
      };
    });
}

const toSegmentResponse = (segment: RecordedSegment): Static<typeof segmentSchema> => ({
  from: new Date(segment.fromMs).toISOString(),
  to: new Date(segment.toMs).toISOString(),
  alarm: segment.isAlarm,
  stream_type: streamNames[segment.streamType] ?? null,
  memory_type: segment.memoryType,
  size_bytes: segment.sizeBytes,
});
