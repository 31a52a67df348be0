import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import {
  recordingListErrors,
  recordingListParameters,
  toRecordingListRequest,
  toRecordingListResponse,
} from '../routes/history-list-videos.ts';
import { bodyErrors, terminalResourceListResponse } from '../routes/responses.ts';
import { listRecordings } from '../use-cases/list-recordings.ts';
import { devicePath } from './parameters.ts';

export const resourceList = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: () => 'history',
    method: 'post',
    path: '/:imei/resource-list',
    operationId: 'listRecordings',
    summary: 'List recordings of a camera',
    description: 'Like /history/list-videos of the Device API, with the parameters in the body.',
    tags: ['Video service'],
    params: devicePath,
    body: Type.Object(recordingListParameters, { title: 'ListRecordings' }),
    response: terminalResourceListResponse,
    errors: { ...bodyErrors, ...recordingListErrors },
    handle: async ({ params, body, context }) => {
      const request = toRecordingListRequest({ ...body, imei: params.imei });
      const { recordings } = await listRecordings(deps, request, createCommandContext(deps, context));
      return toRecordingListResponse(recordings);
    },
  });
