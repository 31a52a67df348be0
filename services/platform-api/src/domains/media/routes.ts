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
import { urlsFor } from './urls.ts';
import { changeProtection, deleteMedia, listMedia } from './use-cases.ts';

const tags = ['Media'];
const one = '/dashcam-media/:id';

export const mediaRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/list-dashcam-media',
    operationId: 'listDashcamMedia',
    summary: 'Pictures, files of alarms and uploaded clips of a vehicle, those taken last first',
    description:
      'Viewers see them with can_view_video, and whom the vehicle is shared with by the permission history_video. A URL opens for 8 hours, for as long as the caller may see the file.',
    tags,
    access: { permission: 'video', scope: 'video' },
    params: vehicleIdParams,
    query: listMediaQuery,
    response: pageSchema(mediaResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      const caller = getCaller(context);
      const { items, total } = await listMedia(deps, caller, params.vehicleId, query, paging);
      const urlOf = urlsFor(deps, caller.userId);
      return pageResponse({ items: items.map((media) => toMediaResponse(media, urlOf)), total }, paging);
    },
  }),
  platformRoute({
    method: 'put',
    path: one,
    operationId: 'updateDashcamMedia',
    summary: 'Keep a file however old it is and however full the storage, or let it go in time',
    tags,
    params: idParams,
    body: mediaBody,
    response: singleSchema(mediaResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) => {
      const caller = getCaller(context);
      const changed = await changeProtection(deps, caller, params.id, body, parseIfMatch(context));
      return { data: toMediaResponse(changed, urlOfKey(deps, caller)) };
    },
  }),
  platformRoute({
    method: 'delete',
    path: one,
    operationId: 'deleteDashcamMedia',
    summary: 'Remove a file for good; the upload of a clip goes with it',
    tags,
    params: idParams,
    response: singleSchema(mediaResponseSchema),
    errors: { 409: 'The file is protected.', ...versionMismatchErrors },
    handle: async ({ params, context }) => {
      const caller = getCaller(context);
      const removed = await deleteMedia(deps, caller, params.id, parseIfMatch(context));
      return { data: toMediaResponse(removed, urlOfKey(deps, caller)) };
    },
  }),
  fileRoute(deps),
];

/** A key that may write, and not see video, gets no URLs. */
const urlOfKey = (deps: Deps, caller: Caller): ((id: number) => string) =>
  caller.scopes.includes('video') ? urlsFor(deps, caller.userId) : () => '';

const fileRoute = (deps: Deps): PlatformRoute =>
  platformRoute({
    method: 'get',
    path: `${one}/file`,
    operationId: 'getDashcamMediaFile',
    summary: 'The file itself, by the URL that its record has',
    description:
      'A Range header with one range of bytes gets that part (If-Range with the ETag is understood); HEAD says size and type. The URL ends with the right of whom it was shown to.',
    tags,
    access: { credentials: 'none', scope: null },
    isStream: true,
    params: idParams,
    query: fileQuery,
    contentType: ['image/*', 'video/*', 'audio/*', 'application/octet-stream'],
    extraSuccesses: { 206: 'The requested part; Content-Range names it.' },
    errors: {
      401: 'The URL is not signed.',
      403: 'The signature is not valid, the URL has expired, or whom it was shown to may not see the file any more.',
      404: 'The file is gone.',
      409: 'The upload of the clip is not completed.',
      416: 'The range is out of bounds; Content-Range has the size.',
      422: 'The clip cannot be converted to MP4.',
      502: 'The server that has the file cannot be reached, or returned an error.',
    },
    handle: async ({ params, query, context }) => {
      await openFile(deps, params.id, query, context);
      return undefined;
    },
  });
