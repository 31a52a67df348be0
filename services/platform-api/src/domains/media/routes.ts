import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { type Caller, getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams, vehicleIdParams } from '../../platform/schemas.ts';
import { openFile } from './open-file.ts';
import { toMediaResponse } from './responses.ts';
import { fileQuery, listMediaQuery, mediaBody, mediaResponseSchema } from './schema.ts';
import { mediaUrlBuilder } from './urls.ts';
import { changeProtection, deleteMedia, listMedia } from './use-cases.ts';

const tags = ['Media'];
const mediaPath = '/dashcam-media/:id';

export const mediaRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/list-dashcam-media',
    operationId: 'listDashcamMedia',
    summary: 'List dashcam media of a vehicle',
    description:
      'Lists pictures, files of alarms and uploaded clips, the newest first. Viewers need `can_view_video`; users with a share need the permission `history_video`. A URL is valid for 8 hours, as long as the caller may see the file.',
    tags,
    // The permissions on the vehicle decide: a share may grant them to any role.
    access: { permission: 'read', scope: 'video' },
    params: vehicleIdParams,
    query: listMediaQuery,
    response: pageSchema(mediaResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      const caller = getCaller(context);
      const { items, total } = await listMedia(deps, caller, params.vehicleId, query, paging);
      const buildUrl = mediaUrlBuilder(deps, caller.userId);
      return pageResponse({ items: items.map((media) => toMediaResponse(media, buildUrl)), total }, paging);
    },
  }),
  platformRoute({
    method: 'put',
    path: mediaPath,
    operationId: 'updateDashcamMedia',
    summary: 'Protect or unprotect a file',
    description: 'A protected file stays, however old it is and however full the storage is.',
    tags,
    params: idParams,
    body: mediaBody,
    response: singleSchema(mediaResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) => {
      const caller = getCaller(context);
      const changed = await changeProtection(deps, caller, params.id, body, parseIfMatch(context));
      return { data: toMediaResponse(changed, urlBuilderFor(deps, caller)) };
    },
  }),
  platformRoute({
    method: 'delete',
    path: mediaPath,
    operationId: 'deleteDashcamMedia',
    summary: 'Delete a file',
    description: 'Deletes the file permanently. The upload of a clip is deleted with it.',
    tags,
    params: idParams,
    response: singleSchema(mediaResponseSchema),
    errors: { 409: 'The file is protected.', ...versionMismatchErrors },
    handle: async ({ params, context }) => {
      const caller = getCaller(context);
      const removed = await deleteMedia(deps, caller, params.id, parseIfMatch(context));
      return { data: toMediaResponse(removed, urlBuilderFor(deps, caller)) };
    },
  }),
  fileRoute(deps),
];

/** Returns empty URLs for an API key that may write but not see video. */
const urlBuilderFor = (deps: Deps, caller: Caller): ((id: number) => string) =>
  caller.scopes.includes('video') ? mediaUrlBuilder(deps, caller.userId) : () => '';

const fileRoute = (deps: Deps): PlatformRoute =>
  platformRoute({
    method: 'get',
    path: `${mediaPath}/file`,
    operationId: 'getDashcamMediaFile',
    summary: 'Download a file',
    description:
      'Serves the file with the URL in its record. Supports a Range header with one range of bytes, If-Range with the ETag, and HEAD for size and type. The URL is rejected once its user may no longer see the file.',
    tags,
    access: { credentials: 'none', scope: null },
    isStream: true,
    params: idParams,
    query: fileQuery,
    contentType: ['image/*', 'video/*', 'audio/*', 'application/octet-stream'],
    extraSuccesses: { 206: 'The requested part; `Content-Range` contains its range.' },
    errors: {
      401: 'The URL is not signed.',
      403: 'The signature is not valid, the URL has expired, or its user may no longer see the file.',
      404: 'The file no longer exists, or has no thumbnail.',
      409: 'The upload of the clip is not completed.',
      416: 'The range is out of bounds; `Content-Range` contains the size.',
      422: 'The clip cannot be converted to MP4.',
      503: 'The MP4 is not finished yet, or it or the thumbnail cannot be created at the moment. Retry.',
      502: 'The server that has the file cannot be reached or returned an error.',
    },
    handle: async ({ params, query, context }) => {
      await openFile(deps, params.id, query, context);
      return undefined;
    },
  });
