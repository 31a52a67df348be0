import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { findUpload } from '../use-cases/find-upload.ts';
import { toUploadResponse, uploadedVideo, uploadReadErrors, videoId } from './upload-responses.ts';

export const videosGet = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/videos',
    operationId: 'getUpload',
    summary: 'One upload',
    description: 'Poll while `status` is `uploading` to follow `filesize`, which grows as the file arrives.',
    tags: ['Video upload'],
    query: Type.Object({ video_id: videoId }),
    response: uploadedVideo,
    errors: uploadReadErrors,
    scopes: ['command', 'video'],
    bucket: 'reads',
    handle: async ({ query }) => toUploadResponse(await findUpload(deps, query.video_id.toLowerCase())),
  });
