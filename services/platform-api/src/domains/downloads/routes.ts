import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { controlDownload, requestDownload } from './clips.ts';
import { cancelMp4, requestMp4 } from './mp4.ts';
import { controlDownloadBody, downloadResponseSchema, listDownloadsQuery, requestDownloadBody } from './schema.ts';
import { listDownloads } from './use-cases.ts';
import { toDownloadResponse, toDownloadResponses } from './viewer-responses.ts';

const tags = ['Media'];
/** The permissions on the vehicles decide: a share may grant them to any role. */
const access = { permission: 'read', scope: 'video' } as const;

export const downloadRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/user/downloaded-dashcam-videos',
    operationId: 'listDownloadedDashcamVideos',
    summary: 'List downloaded videos',
    description:
      'Lists the clips that were requested from cameras, the newest request first: uploads in progress, with bytes, speed and time left, and ended ones. Users with a share need the permission `history_video`. A URL is valid for 8 hours, as long as the caller may see the file.',
    tags,
    access,
    query: listDownloadsQuery,
    response: pageSchema(downloadResponseSchema),
    errors: { 403: 'The caller may see the recordings of no vehicle.' },
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const caller = getCaller(context);
      const { items, total } = await listDownloads(deps, caller, query, paging);
      return pageResponse({ items: await toDownloadResponses(deps, caller, items), total }, paging);
    },
  }),
  ...clipRoutes(deps),
  ...mp4Routes(deps),
];

/** Above the 90 seconds that a device has to respond. */
const deviceTimeoutMs = 95_000;

/** Without a pattern: an invalid body is named before an unknown id. */
const controlParams = Type.Object({
  videoId: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The `video_id` of a download.',
    examples: ['65f1c0a2b3d4e5f60718293a'],
  }),
});

const clipErrors = {
  403: 'A permission on the vehicle is missing: `history_video` or `commands`.',
  502: 'The camera refused, or its response could not be read.',
  504: 'The device did not reply in time.',
} as const;

function clipRoutes(deps: Deps): PlatformRoute[] {
  const common = { method: 'post', tags, access, timeoutMs: deviceTimeoutMs } as const;
  return [
    platformRoute({
      ...common,
      path: '/dashcam-downloads',
      operationId: 'requestDownload',
      summary: 'Request a clip from a camera',
      description:
        'Makes the camera upload its recording of a channel and a time. Returns the existing upload of a clip that has one. The websocket event `upload` shows the progress.',
      body: requestDownloadBody,
      response: singleSchema(downloadResponseSchema),
      extraSuccesses: { 202: 'Requested.' },
      returns200: false,
      errors: {
        ...clipErrors,
        404: 'The vehicle is not visible, its device is not connected, or the camera is disabled.',
        409: 'The camera is uploading another clip.',
      },
      handle: async ({ body, context }) => {
        const caller = getCaller(context);
        const download = await requestDownload(deps, caller, body, { correlationId: context.requestId });
        return new Reply(202, { data: await toDownloadResponse(deps, caller, download) });
      },
    }),
    platformRoute({
      ...common,
      path: '/dashcam-downloads/:videoId/control',
      operationId: 'controlDownload',
      summary: 'Pause, resume or cancel an upload',
      description: 'Returns the upload after the action. A canceled upload has no file.',
      params: controlParams,
      body: controlDownloadBody,
      response: singleSchema(downloadResponseSchema),
      errors: {
        ...clipErrors,
        404: 'There is no such download, or its device is not connected.',
        409: 'The action does not fit the status, the status changed concurrently, or the camera is busy with another upload.',
      },
      handle: async ({ params, body, context }) => {
        const caller = getCaller(context);
        const trace = { correlationId: context.requestId };
        const download = await controlDownload(deps, caller, params.videoId, body, trace);
        return { data: await toDownloadResponse(deps, caller, download) };
      },
    }),
  ];
}

const mp4Path = '/dashcam-downloads/:videoId/mp4';
const mp4Params = Type.Object({
  videoId: Type.String({
    pattern: '^[0-9a-f]{24}$',
    description: 'The `video_id` of a download.',
    examples: ['65f1c0a2b3d4e5f60718293a'],
  }),
});
const mp4Errors = {
  403: 'A permission on the vehicle is missing: `history_video` or `commands`.',
  404: 'There is no such download.',
} as const;

function mp4Routes(deps: Deps): PlatformRoute[] {
  const common = { path: mp4Path, tags, access, params: mp4Params };
  return [
    platformRoute({
      ...common,
      method: 'post',
      operationId: 'requestMp4',
      summary: 'Convert a downloaded video to MP4',
      description:
        'Queues the conversion, which continues after a restart of any service. `mp4` in the record, and the websocket event `upload`, show its progress. A failed or canceled conversion can be requested again.',
      response: singleSchema(downloadResponseSchema),
      extraSuccesses: { 202: 'Queued.' },
      returns200: false,
      errors: { ...mp4Errors, 409: 'The clip is not completed, has an MP4, or cannot be converted.' },
      handle: async ({ params, context }) => {
        const caller = getCaller(context);
        const download = await requestMp4(deps, caller, params.videoId);
        return new Reply(202, { data: await toDownloadResponse(deps, caller, download) });
      },
    }),
    platformRoute({
      ...common,
      method: 'delete',
      operationId: 'cancelMp4',
      summary: 'Cancel a conversion to MP4',
      response: singleSchema(downloadResponseSchema),
      errors: {
        ...mp4Errors,
        ...versionMismatchErrors,
        409: 'The clip has no conversion that is queued or running.',
      },
      handle: async ({ params, context }) => {
        const caller = getCaller(context);
        const download = await cancelMp4(deps, caller, params.videoId, parseIfMatch(context));
        return { data: await toDownloadResponse(deps, caller, download) };
      },
    }),
  ];
}
