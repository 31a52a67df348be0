import { type ClipFormat, clipFormats, defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { pipeClip } from '../use-cases/pipe-clip.ts';
import { uploadReadErrors, videoId } from './videos-answers.ts';

export const videosFile = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/videos/file',
    operationId: 'downloadUpload',
    summary: 'The video of a completed upload',
    description:
      'original: the files as the camera sent them, one behind the other in the order of their arrival. mp4: the same pictures in one MP4, with sound that browsers play; made when it is first asked for, then kept. A Range header with one range of bytes gets that part (If-Range with the ETag is understood); several ranges get the whole. HEAD says size and type.',
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
    extraSuccesses: { 206: 'The part that the Range header asks for; Content-Range says which.' },
    errors: {
      ...uploadReadErrors,
      404: 'There is no upload with this video_id, or its files are gone.',
      409: 'The upload is not completed.',
      416: 'Nothing of the range is there; Content-Range says how many bytes there are.',
      422: 'The clip can not be converted to MP4: what the camera sent is damaged, or no format that MP4 players know.',
      502: 'The server that has the video can not be reached, or returned an error.',
      503: 'The MP4 is still being made, or can not be made at the moment: ask again.',
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
