import { defineRoute, Reply } from '@fleet/service-kit';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { isCameraStreaming } from '../use-cases/check-health.ts';
import { cameraQuery } from './parameters.ts';
import { healthCheckEntityResponse } from './responses.ts';

export const healthCamera = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/health/camera',
    operationId: 'getCameraHealth',
    summary: 'Check a camera connection',
    description:
      '200 if the camera is connected, else 503 with the same body. True only while a stream is running. Needs no key.',
    tags: ['Utilities'],
    query: cameraQuery,
    response: healthCheckEntityResponse,
    errors: {
      400: 'A parameter is missing or invalid.',
      429: 'Too many requests.',
      503: {
        description: 'Not connected, or the state cannot be read.',
        schema: healthCheckEntityResponse,
        example: { healthy: false },
      },
    },
    isSecured: false,
    bucket: 'health',
    handle: async ({ query }) => {
      const healthy = await isCameraStreaming(deps, canonicalImei(query.imei), query.channel);
      return new Reply(healthy ? 200 : 503, { healthy });
    },
  });
