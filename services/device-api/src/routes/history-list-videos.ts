import { defineRoute, type Route } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import type { Recording } from '../domain/recordings.ts';
import { type ListRecordingsRequest, listRecordings } from '../use-cases/list-recordings.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import {
  alarm,
  channel,
  endTime,
  historyStreamTypeOrAny,
  imei,
  memoryTypeOrAny,
  parseTimeParameter,
  resourceTypeOrAny,
  startTime,
} from './parameters.ts';
import { commandErrors, terminalResourceListResponse } from './responses.ts';

/** Parameters in addition to the device. */
export const recordingListParameters = {
  channel,
  start_time: startTime,
  end_time: endTime,
  resource_type: Type.Optional(resourceTypeOrAny),
  stream_type: Type.Optional(historyStreamTypeOrAny),
  memory_type: Type.Optional(memoryTypeOrAny),
  alarm: Type.Optional(alarm),
};
const query = Type.Object({ imei, ...recordingListParameters });

export const recordingListErrors: Route['errors'] = {
  502: 'The device refused, or its reply could not be read or is incomplete.',
};

/** Maps the parameters to names in code; throws 400 for an invalid time. */
export const toRecordingListRequest = (input: Static<typeof query>): ListRecordingsRequest => ({
  imei: canonicalImei(input.imei),
  channel: input.channel,
  startMs: parseTimeParameter('start_time', input.start_time),
  endMs: parseTimeParameter('end_time', input.end_time),
  resourceType: input.resource_type ?? 3,
  streamType: input.stream_type ?? 0,
  memoryType: input.memory_type ?? 0,
  alarmFlags: input.alarm ?? 0n,
});

/** Maps names in code to the interface. */
export const toRecordingListResponse = (recordings: readonly Recording[]) => ({
  total_resources: recordings.length,
  resources: recordings.map(toVideoResource),
});

export const historyListVideos = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'get',
    path: '/history/list-videos',
    operationId: 'listRecordings',
    summary: 'List recordings of a camera',
    description:
      "Times are in the camera's UTC offset. No recordings is an empty list; a refused or incomplete list is 502. channel 0 requests all channels.",
    tags: ['History playback'],
    query,
    response: terminalResourceListResponse,
    errors: { ...commandErrors, ...recordingListErrors },
    handle: async ({ query: input, context }) => {
      const request = toRecordingListRequest(input);
      const { recordings } = await listRecordings(deps, request, createCommandContext(deps, context));
      return toRecordingListResponse(recordings);
    },
  });

const toVideoResource = (recording: Recording) => ({
  logical_channel_no: recording.channel,
  playback_start_time: recording.startTime,
  playback_end_time: recording.endTime,
  alarm: recording.alarmFlags,
  resource_type: recording.resourceType,
  stream_type: recording.streamType,
  memory_type: recording.memoryType,
  file_size: recording.fileSizeBytes,
});
