import { type ClipFormat, clipFormats, defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { pipeClip } from '../use-cases/pipe-clip.ts';
import { uploadReadErrors, videoId } from './upload-responses.ts';

export const videosFile = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/videos/file',
    operationId: 'downloadUpload',
    summary: 'Download the video of an upload',
    description:
      'original: the files as the camera sent them, concatenated in the order of arrival. mp4: the same pictures in one MP4 with audio for browsers, created at the first request and then stored. A Range header with one range of bytes returns that part (If-Range with the ETag is supported); several ranges return the whole. HEAD returns size and type.',
    tags: ['Video upload'],
    query: Type.Object({
      video_id: videoId,
      format: Type.Optional(
        Type.String({
          enum: [...clipFormats],
          default: 'original',
          description: 'original: as the camera sent it; mp4: for players and browsers.',
        }),
      ),
    }),
    contentType: ['video/*', 'application/octet-stream'],
    extraSuccesses: { 206: 'The requested part; Content-Range names it.' },
    errors: {
      ...uploadReadErrors,
      404: 'There is no upload with this video_id, or its files were deleted.',
      409: 'The upload is not completed.',
      416: 'The range is out of bounds; Content-Range has the size.',
      422: 'The clip cannot be converted to MP4: it is damaged, or its format is not supported by MP4 players.',
      502: 'The server that stores the video is unavailable, or returned an error.',
      503: 'The MP4 is still being created, or cannot be created at the moment. Retry.',
    },
    scopes: ['video'],
    bucket: 'reads',
    handle: ({ query, context }) =>
      pipeClip(
        deps,
        { uploadId: query.video_id.toLowerCase(), format: (query.format ?? 'original') as ClipFormat },
        context,
      ),
  });
