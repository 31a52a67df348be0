import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { bodyErrors } from '../routes/responses.ts';
import { uploadGeneralResponse } from '../routes/upload-responses.ts';
import { toUploadGeneralResponse, toUploadRequest, uploadErrors, uploadParameters } from '../routes/videos-upload.ts';
import { requestUpload } from '../use-cases/request-upload.ts';
import { devicePath } from './parameters.ts';

export const upload = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: () => 'command',
    method: 'post',
    path: '/:imei/upload',
    operationId: 'requestUpload',
    summary: 'Request a clip from a camera',
    description: 'Like /videos/upload of the Device API, with the parameters in the body.',
    tags: ['Video service'],
    params: devicePath,
    body: Type.Object(uploadParameters, { title: 'RequestUpload' }),
    response: uploadGeneralResponse,
    errors: { ...bodyErrors, ...uploadErrors },
    handle: async ({ params, body, context }) => {
      const caller = deps.guard.getCaller(context);
      const request = {
        ...toUploadRequest({ ...body, imei: params.imei }),
        ...(caller.kind === 'user' ? { requestedBy: caller.userId } : {}),
      };
      return toUploadGeneralResponse(await requestUpload(deps, request, createCommandContext(deps, context)));
    },
  });
