import { AppError, defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { controlUpload } from '../use-cases/control-upload.ts';
import { choiceSchema } from './parameters.ts';
import { commandErrors } from './responses.ts';
import { toUploadResponse, uploadedVideo, videoId } from './upload-responses.ts';

const { 503: _late, ...errors } = commandErrors as Record<number, string>;

export const videosControl = (deps: Deps) =>
  defineRoute({
    allowHead: false,
    method: 'get',
    path: '/videos/control',
    operationId: 'controlUpload',
    summary: 'Pause, resume or cancel an upload',
    description:
      'Returns the upload after the action; unchanged if the camera refused. Cancelling deletes received files.',
    tags: ['Video upload'],
    query: Type.Object({
      video_id: videoId,
      action: choiceSchema([0, 1, 2], { description: '0 pause, 1 resume, 2 cancel.' }),
    }),
    response: uploadedVideo,
    errors: {
      ...errors,
      404: 'There is no upload with this video_id, or the device is not connected.',
      409: 'The action does not fit the status, the status changed concurrently, or (on resume) the camera is busy with another upload.',
      504: 'The device did not reply within 15 seconds.',
    },
    scopes: ['command', 'video'],
    bucket: 'command',
    handle: async ({ query, context }) => {
      const commandContext = {
        correlationId: context.requestId,
        log: context.log,
        deadlineAtMs: context.receivedAtMs + deps.config.UPLOAD_CONTROL_TIMEOUT_MS,
      };
      const request = { uploadId: query.video_id.toLowerCase(), action: query.action };
      return toUploadResponse(await controlUpload(deps, request, commandContext).catch(mapUnlistedStatus));
    },
  });

// The interface lists no 503 here.
function mapUnlistedStatus(error: unknown): never {
  if (error instanceof AppError && error.status === 503)
    throw new AppError('internal', error.message, { cause: error.cause ?? error });
  throw error;
}
