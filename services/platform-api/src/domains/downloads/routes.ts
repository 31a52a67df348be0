import { pageResponse, pageSchema, parsePagination } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { mediaUrlBuilder } from '../media/urls.ts';
import { toDownloadResponse } from './responses.ts';
import { downloadResponseSchema, listDownloadsQuery } from './schema.ts';
import { listDownloads } from './use-cases.ts';

const tags = ['Media'];

export const downloadRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/user/downloaded-dashcam-videos',
    operationId: 'listDownloadedDashcamVideos',
    summary: 'List downloaded videos',
    description:
      'Lists the clips that were requested from cameras, the newest request first: uploads in progress, with bytes, speed and time left, and ended ones. Users with a share need the permission `history_video`. A URL is valid for 8 hours, as long as the caller may see the file.',
    tags,
    access: { permission: 'video', scope: 'video' },
    query: listDownloadsQuery,
    response: pageSchema(downloadResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const caller = getCaller(context);
      const { items, total } = await listDownloads(deps, caller, query, paging);
      const urlOf = mediaUrlBuilder(deps, caller.userId);
      return pageResponse({ items: items.map((download) => toDownloadResponse(download, urlOf)), total }, paging);
    },
  }),
];
