import { defineRoute, type Route } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { listUploads } from '../use-cases/find-upload.ts';
import { channel, imei } from './parameters.ts';
import { toUploadListItem, uploadedVideo, uploadReadErrors } from './upload-responses.ts';

const response = Type.Object(
  {
    total: Type.Integer({ minimum: 0, description: 'Number of uploads in `videos`.', examples: [1] }),
    videos: Type.Array(uploadedVideo, { description: 'In no particular order.' }),
  },
  { title: 'UploadedVideoListResp', additionalProperties: false },
);

const { 404: _absent, ...errors } = uploadReadErrors as Record<number, string>;

export const videosList = (deps: Deps) => {
  const route: Route = defineRoute({
    method: 'get',
    path: '/videos/list',
    operationId: 'listUploads',
    summary: 'List uploads of a device',
    description: 'In any status. Empty for a device without uploads, or of another account.',
    tags: ['Video upload'],
    query: Type.Object({
      imei,
      channel: Type.Optional({ ...channel, description: 'Only this channel; by default all channels.' }),
    }),
    response,
    errors,
    scopes: ['command', 'video'],
    bucket: 'reads',
    handle: async ({ query, context }) => {
      const filter = { imei: canonicalImei(query.imei), channel: query.channel };
      // A device of another account responds like one without uploads.
      const videos = await deps.guard.filterOwnUploads(filter.imei, await listUploads(deps, filter), route, context);
      return { total: videos.length, videos: videos.map(toUploadListItem) };
    },
  });
  return route;
};
