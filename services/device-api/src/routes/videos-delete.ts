import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { deleteUpload } from '../use-cases/delete-upload.ts';
import { toUploadResponse, uploadedVideo, uploadReadErrors, videoId } from './upload-responses.ts';

const operationId = 'deleteUpload';

export const videosDelete = (deps: Deps) =>
  defineRoute({
    method: 'delete',
    path: '/videos',
    operationId,
    summary: 'Delete an upload and its file',
    description: 'For an upload that is completed, failed or cancelled. Irreversible. Returns the deleted upload.',
    tags: ['Video upload'],
    query: Type.Object({ video_id: videoId }),
    response: uploadedVideo,
    errors: {
      ...uploadReadErrors,
      403: 'The upload is still uploading or paused: cancel it first. Also: the key lacks the scope, or is not valid from this address (only if keys are required).',
      502: 'The video file could not be deleted. Nothing was removed; retry.',
    },
    scopes: ['command', 'video'],
    bucket: 'reads',
    handle: async ({ query, context }) => {
      const upload = await deleteUpload(deps, query.video_id.toLowerCase(), {
        correlationId: context.requestId,
        log: context.log,
      });
      deps.guard.auditDeletion(upload.clip.imei, operationId, context);
      return toUploadResponse(upload);
    },
  });
