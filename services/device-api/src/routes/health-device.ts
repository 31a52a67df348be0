import { defineRoute, Reply } from '@fleet/service-kit';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { isDeviceConnected } from '../use-cases/check-health.ts';
import { deviceQuery } from './parameters.ts';
import { healthCheckEntityResponse } from './responses.ts';

export const healthDevice = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/health/device',
    operationId: 'getDeviceHealth',
    summary: 'Check a device connection',
    description: '200 if the device is connected and can take commands, else 503 with the same body. Needs no key.',
    tags: ['Utilities'],
    query: deviceQuery,
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
      const healthy = await isDeviceConnected(deps, canonicalImei(query.imei));
      return new Reply(healthy ? 200 : 503, { healthy });
    },
  });
